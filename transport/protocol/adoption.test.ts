/** A history sent in full goes on with the rollout that it is the history of: what clients do after any drop. */
import assert from 'node:assert/strict';

import type { ServerEvent } from '../../engine/index.js';
import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, checkStream, ofType, responseIn } from '../testing/events.js';
import type { TPeer } from '../testing/peer.js';
import {
  answers,
  ask,
  checkNothingLeft,
  drop,
  ending,
  goOn,
  idOf,
  itemsIn,
  refused,
  work,
} from '../testing/turns.js';
import { overEveryWire, type Serving } from '../testing/wire.js';

const shim = { design: 'shim' };
const key = { prompt_cache_key: 'thread' };
const loop = [turn(say('looking'), call('ls')), turn(call('cat')), turn(say('all done'))];
/** Ten tokens a second, four characters each: every item below takes at least a second. */
const slow = { decodeTokensPerSecond: 10, deltaTokensMax: 1 };
const long = '{"path":"a rather long path for a call"}';
const slowLoop = [
  turn(say('x'.repeat(40)), call('first', long), call('second', long), call('third', long)),
  turn(say('y'.repeat(40)), call('fourth', long)),
  turn(say('z'.repeat(40)), say('and that is the end of it, of all of it')),
];

function begin(peer: TPeer, fields: object): void {
  peer.send({ type: 'response.create', model: 'm', store: false, ...fields });
}

/** Lets time pass until that many items of the response that a create begins are finished, then breaks the connection. */
async function cutAfter(
  serving: Serving,
  peer: TPeer,
  items: number,
  fields: object,
): Promise<ServerEvent[]> {
  begin(peer, fields);
  let left = items;
  const seen: ServerEvent[] = [await peer.until('response.in_progress')];
  while (left > 0) {
    await serving.lab.clock.advance(100);
    seen.push(...(await peer.rest()));
    left = items - itemsIn(seen).length;
  }
  await drop(serving, peer);
  return seen;
}

/** Lets the response that a peer has asked for run to its end, and gives its stream, held against the grammar. */
async function finish(serving: Serving, peer: TPeer): Promise<ServerEvent[]> {
  await peer.rest();
  await serving.lab.clock.advance(60_000);
  await peer.rest();
  const shown = peer.received.filter(({ type }) => type !== 'error');
  const events = shown.slice(shown.findLastIndex(({ type }) => type === 'response.created'));
  checkStream(events);
  return events;
}

/** One rollout, and nothing left of it. */
async function checkOne(serving: Serving): Promise<void> {
  await serving.lab.settle();
  assert.equal(work(serving).pre, 1, 'one rollout');
  const { prompt } = serving.lab;
  assert.equal(new Set(prompt).size, prompt.length, 'the model reads every item once');
  await checkNothingLeft(serving);
}

overEveryWire(
  'a drop during a tool run: the history with its outputs goes on with the rollout',
  async (wire) => {
    await using serving = await wire.serve(loop);
    let history: unknown[] = [message('hi')];
    let events: ServerEvent[] = [];
    for (let socket = 0; socket < 3; socket++) {
      const peer = await serving.connect(shim);
      events = await ask(peer, { input: history });
      assert.equal(responseIn(events[0] ?? assert.fail())?.previous_response_id, null);
      history = [...history, ...itemsIn(events), ...answers(events)];
      await drop(serving, peer);
      await serving.lab.clock.advance(9 * 60_000);
    }
    assert.equal(ending(events), 'completed');
    assert.deepEqual(work(serving), { pre: 1, append: 2, post: 1, bills: 1 });
    await checkOne(serving);
  },
);

overEveryWire(
  'a client that tells everything each time, on one socket, has one rollout too',
  async (wire) => {
    await using serving = await wire.serve(loop);
    const peer = await serving.connect(shim);
    let history: unknown[] = [message('hi')];
    for (let create = 0; create < 3; create++) {
      const events = await ask(peer, { input: history });
      history = [...history, ...itemsIn(events), ...answers(events)];
    }
    await drop(serving, peer);
    await checkOne(serving);
  },
);

overEveryWire('a drop in mid-turn, nothing seen: the same words get the same turn, whole', async (wire) => {
  for (const waitMs of [0, 2000, 60_000]) {
    await using serving = await wire.serve(slowLoop, slow);
    const first = await serving.connect(shim);
    begin(first, { input: 'hi', ...key });
    await first.until('response.in_progress');
    await drop(serving, first);
    await serving.lab.clock.advance(waitMs);
    const second = await serving.connect(shim);
    begin(second, { input: [{ role: 'user', content: [{ type: 'input_text', text: 'hi' }] }], ...key });
    const events = await finish(serving, second);
    assert.deepEqual(callIds(events), ['call_1', 'call_2', 'call_3']);
    assert.equal(serving.lab.turns.length, 1);
    await drop(serving, second);
    await checkOne(serving);
  }
});

overEveryWire(
  'a drop in mid-turn after a call that the client has run: the turn’s rest is shown, and each call is answered once',
  async (wire) => {
    for (const [waitMs, limits] of [
      [0, {}],
      [60_000, {}],
      [0, { keptResponsesMax: 0 }],
      [60_000, { keptResponsesMax: 0 }],
    ] as const) {
      await using serving = await wire.serve(slowLoop, { ...slow, limits });
      const { clock } = serving.lab;
      const first = await serving.connect(shim);
      const seen = await cutAfter(serving, first, 2, { input: 'hi' });
      assert.deepEqual(callIds(itemEvents(seen)), ['call_1']);
      await clock.advance(waitMs);
      const history = [message('hi'), ...itemsIn(seen), output('call_1', '1')];
      const second = await serving.connect(shim);
      begin(second, { input: history });
      const two = await finish(serving, second);
      assert.deepEqual(callIds(two), ['call_2', 'call_3']);
      assert.equal(ending(two), 'completed');
      await drop(serving, second);
      const third = await serving.connect(shim);
      const whole = [...history, ...itemsIn(two), output('call_3', '3'), output('call_2', '2')];
      begin(third, { input: whole });
      const three = await finish(serving, third);
      assert.deepEqual(callIds(three), ['call_4']);
      assert.deepEqual(serving.lab.prompt.slice(-6), [
        `assistant to=first: ${long}`,
        `assistant to=second: ${long}`,
        `assistant to=third: ${long}`,
        'tool: 1',
        'tool: 2',
        'tool: 3',
      ]);
      await drop(serving, third);
      await checkOne(serving);
    }
  },
);

/** Those of items that were finished. */
function itemEvents(events: readonly ServerEvent[]): ServerEvent[] {
  const done = new Set(ofType(events, 'response.output_item.done').map((event) => event.output_index));
  return events.filter((event) => 'output_index' in event && done.has(Number(event.output_index)));
}

overEveryWire(
  'after such a drop the rest of the calls can be answered by id, with other settings too',
  async (wire) => {
    for (const change of [{}, { temperature: 0.5 }]) {
      await using serving = await wire.serve(slowLoop, slow);
      const first = await serving.connect(shim);
      const seen = await cutAfter(serving, first, 3, { input: 'hi' });
      const second = await serving.connect(shim);
      begin(second, {
        input: [message('hi'), ...itemsIn(seen), output('call_1', '1'), output('call_2', '2')],
      });
      const two = await finish(serving, second);
      begin(second, { previous_response_id: idOf(two), input: [output('call_3', '3')], ...change });
      await finish(serving, second);
      assert.deepEqual(serving.lab.prompt.slice(-3), ['tool: 1', 'tool: 2', 'tool: 3']);
      assert.equal(work(serving).pre, 'temperature' in change ? 2 : 1);
      await drop(serving, second);
      await checkNothingLeft(serving);
    }
  },
);

overEveryWire(
  'a turn whose every call was answered before it ended goes on within the one response',
  async (wire) => {
    const script = [turn(call('only', long), say('w'.repeat(40))), turn(say('done'))];
    await using serving = await wire.serve(script, slow);
    const first = await serving.connect(shim);
    const seen = await cutAfter(serving, first, 1, { input: 'hi' });
    const second = await serving.connect(shim);
    begin(second, { input: [message('hi'), ...itemsIn(seen), output('call_1', '1')] });
    const two = await finish(serving, second);
    assert.deepEqual(
      itemsIn(two).map((item) => 'content' in item && JSON.stringify(item.content).includes('done')),
      [false, true],
    );
    await drop(serving, second);
    await checkOne(serving);
  },
);

overEveryWire(
  'a drop during the final answer: its rest is shown, also when it has ended meanwhile',
  async (wire) => {
    for (const waitMs of [0, 60_000]) {
      await using serving = await wire.serve([turn(call('ls', long)), ...slowLoop.slice(2, 3)], slow);
      const { clock } = serving.lab;
      const first = await serving.connect(shim);
      begin(first, { input: 'hi' });
      const one = await finish(serving, first);
      const more = { previous_response_id: idOf(one), input: answers(one) };
      const seen = await cutAfter(serving, first, 1, more);
      await clock.advance(waitMs);
      assert.equal(serving.lab.engine.liveCount, waitMs === 0 ? 1 : 0);
      const second = await serving.connect(shim);
      const history = [message('hi'), ...itemsIn(one), ...answers(one), ...itemsIn(seen)];
      begin(second, { input: history });
      const two = await finish(serving, second);
      assert.equal(itemsIn(two).length, 1);
      assert.equal(ending(two), 'completed');
      begin(second, { previous_response_id: idOf(two), input: 'thanks' });
      await second.rest();
      await clock.advance(60_000);
      assert.equal(serving.lab.prompt.length, 6);
      assert.equal(work(serving).pre, 2);
      await drop(serving, second);
      await checkNothingLeft(serving);
    }
  },
);

overEveryWire(
  'a deliberate second sample of what the client has seen the end of is another rollout',
  async (wire) => {
    await using serving = await wire.serve([turn(call('ls')), turn(say('done'))]);
    const peer = await serving.connect(shim);
    const one = await ask(peer, key);
    const other = await ask(peer, key);
    assert.notDeepEqual(callIds(other), callIds(one), 'a hand-off');
    assert.equal(work(serving).pre, 2);
    const history = [message('hi'), ...itemsIn(one), ...answers(one)];
    const two = await ask(peer, { input: history, ...key });
    assert.equal(work(serving).pre, 2, 'goes on');
    const three = await ask(peer, { input: history, ...key });
    assert.equal(work(serving).pre, 3, 'a final answer');
    assert.deepEqual([ending(two), ending(three)], ['completed', 'completed']);
    await drop(serving, peer);
    await checkNothingLeft(serving);
  },
);

overEveryWire('after the grace time a history begins a rollout of its own', async (wire) => {
  await using serving = await wire.serve(loop);
  const first = await serving.connect(shim);
  const one = await ask(first);
  await drop(serving, first);
  await serving.lab.clock.advance(10 * 60_000);
  const second = await serving.connect(shim);
  const two = await ask(second, { input: [message('hi'), ...itemsIn(one), ...answers(one)] });
  assert.deepEqual(callIds(two).length, 1);
  assert.equal(work(serving).pre, 2);
  await drop(serving, second);
  await checkNothingLeft(serving);
});

overEveryWire(
  'what differs in one item, one setting or the key is another rollout, and rightly told',
  async (wire) => {
    const f = { type: 'function', name: 'f' };
    const same = (items: object[]): unknown[] => [message('hi'), ...items];
    const histories: ((items: object[]) => unknown[])[] = [
      (items) => [message('hi!'), ...items],
      (items) => [{ role: 'developer', content: 'hi' }, ...items],
      (items) => same(items.slice(1)),
      (items) => [message('before'), ...same(items)],
      (items) =>
        same([{ ...items[0], content: [{ type: 'output_text', text: 'looked' }] }, ...items.slice(1)]),
      (items) => same(items.map((item) => ('arguments' in item ? { ...item, arguments: '{"a":1}' } : item))),
      (items) => same([...items, { role: 'assistant', content: 'I think' }]),
    ];
    const settings = [
      { model: 'other' },
      { tools: [f] },
      { instructions: 'be brief' },
      { temperature: 1 },
      { reasoning: { effort: 'low' } },
      { prompt_cache_key: 'k' },
      { store: true },
      { parallel_tool_calls: false },
      { generate: false },
    ];
    const variants = [
      ...histories.map((history) => ({ history, fields: {}, by: 'alice' })),
      ...settings.map((fields) => ({ history: same, fields, by: 'alice' })),
      { history: same, fields: {}, by: 'bob' },
    ];
    for (const { history, fields, by } of variants) {
      await using serving = await wire.serve(loop, { keys: ['alice', 'bob'] });
      const first = await serving.connect({ ...shim, key: 'alice' });
      const one = await ask(first);
      await drop(serving, first);
      const second = await serving.connect({ ...shim, key: by });
      const two = await ask(second, { input: [...history(itemsIn(one)), ...answers(one)], ...fields });
      assert.equal(ending(two), 'completed');
      assert.equal(work(serving).pre, 2, JSON.stringify([history.toString(), fields, by]));
      await drop(serving, second);
      await checkNothingLeft(serving);
    }
  },
);

overEveryWire(
  'how a history is written does not matter: order of outputs, ids, status, parts, extra fields',
  async (wire) => {
    await using serving = await wire.serve([turn(say('looking'), call('a'), call('b')), ...loop.slice(1)]);
    const first = await serving.connect(shim);
    const one = await ask(first, {
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
    });
    const [a, b] = callIds(one);
    const bare = itemsIn(one).map((item) =>
      Object.fromEntries(Object.entries(item).filter(([name]) => name !== 'id' && name !== 'status')),
    );
    const [said, ...calls] = bare;
    assert.equal(said?.['type'], 'message');
    const history = [
      message('hi'),
      { role: 'assistant', content: 'looking' },
      output(b, [{ type: 'input_text', text: '2' }]),
      calls[0],
      { ...output(a, '1'), id: 'fco_1', status: 'completed', extra: true },
      calls[1],
      message('and?'),
    ];
    await drop(serving, first);
    const second = await serving.connect(shim);
    const two = await ask(second, { input: history });
    assert.deepEqual(serving.lab.prompt.slice(-3), ['tool: 1', 'tool: 2', 'user: and?']);
    const whole = [...history, ...itemsIn(two), ...answers(two)];
    assert.equal(ending(await ask(second, { input: whole })), 'completed');
    await drop(serving, second);
    await checkOne(serving);
  },
);

overEveryWire('an answer that is missing, double or changed is no history of a rollout', async (wire) => {
  await using serving = await wire.serve(loop);
  const peer = await serving.connect(shim);
  const one = await ask(peer);
  const two = await goOn(peer, one);
  const before = [message('hi'), ...itemsIn(one)];
  const [c] = callIds(two);
  const missing = await refused(peer, { input: [...before, ...answers(one), ...itemsIn(two)] });
  assert.equal(missing.error.code, 'missing_tool_output');
  const twice = [output(c, 'x'), output(c, 'x')];
  const double = await refused(peer, { input: [...before, ...answers(one), ...itemsIn(two), ...twice] });
  assert.equal(double.error.code, 'call_already_answered');
  const changed = [...before, ...answers(one, 'changed'), ...itemsIn(two), output(c, 'x')];
  assert.equal(ending(await ask(peer, { input: changed })), 'completed');
  assert.equal(work(serving).pre, 2);
  assert.equal(serving.lab.prompt.filter((block) => block.startsWith('tool: changed')).length, 1);
  assert.equal(ending(await goOn(peer, two)), 'completed');
  assert.equal(work(serving).pre, 2, 'which goes on untouched');
  await drop(serving, peer);
  await checkNothingLeft(serving);
});

overEveryWire(
  'two sockets tell one history at the same moment: one goes on, the other begins, both are right',
  async (wire) => {
    await using serving = await wire.serve(loop);
    const first = await serving.connect(shim);
    const one = await ask(first);
    await drop(serving, first);
    const input = [message('hi'), ...itemsIn(one), ...answers(one)];
    const peers = [await serving.connect(shim), await serving.connect(shim)];
    const streams = await Promise.all(peers.map((peer) => ask(peer, { input })));
    const prompts = serving.lab.turns.slice(1).map(({ prompt }) => prompt.join());
    assert.equal(prompts.length, 2);
    assert.equal(prompts[0], prompts[1]);
    assert.equal(work(serving).pre, 2);
    for (const [index, peer] of peers.entries())
      assert.equal(ending(await goOn(peer, streams[index] ?? [])), 'completed');
    for (const peer of peers) await drop(serving, peer);
    await checkNothingLeft(serving);
  },
);

overEveryWire(
  'what a later turn of the user began, on a parent, is found by a history without one',
  async (wire) => {
    const script = [turn(say('hello')), turn(call('ls')), turn(say('done'))];
    await using serving = await wire.serve(script);
    const first = await serving.connect(shim);
    const one = await ask(first);
    const two = await ask(first, { previous_response_id: idOf(one), input: 'list' });
    await drop(serving, first);
    const second = await serving.connect(shim);
    const input = [message('hi'), ...itemsIn(one), message('list'), ...itemsIn(two), ...answers(two)];
    assert.equal(ending(await ask(second, { input })), 'completed');
    assert.deepEqual(work(serving), { pre: 2, append: 1, post: 2, bills: 2 });
    await drop(serving, second);
    await checkNothingLeft(serving);
  },
);

overEveryWire(
  'one parent and a list that grows at each step, as the AI SDK sends it, is one rollout',
  async (wire) => {
    const script = [turn(say('hello')), turn(call('ls')), turn(call('cat')), turn(say('done'))];
    await using serving = await wire.serve(script);
    const peer = await serving.connect(shim);
    const parent = idOf(await ask(peer));
    let input: unknown[] = [message('list')];
    for (let step = 0; step < 3; step++) {
      const events = await ask(peer, { previous_response_id: parent, input });
      assert.equal(responseIn(events[0] ?? assert.fail())?.previous_response_id, parent, 'P45');
      const calls = itemsIn(events).map((item) => ({ ...item, id: undefined, status: undefined }));
      input = [...input, ...calls, ...answers(events)];
    }
    await serving.lab.settle();
    assert.deepEqual(work(serving), { pre: 2, append: 2, post: 2, bills: 2 });
    await drop(serving, peer);
    await checkNothingLeft(serving);
  },
);

overEveryWire(
  'a create that is sent again by its stored parent after a drop is shown what it missed',
  async (wire) => {
    await using serving = await wire.serve(slowLoop, slow);
    const first = await serving.connect(shim);
    begin(first, { input: 'hi', store: true });
    const one = await finish(serving, first);
    const again = { previous_response_id: idOf(one), input: answers(one), store: true };
    begin(first, again);
    await first.until((event) => event.type === 'response.created' && event.response.id !== idOf(one));
    await drop(serving, first);
    const second = await serving.connect(shim);
    begin(second, again);
    const two = await finish(serving, second);
    assert.equal(responseIn(two[0] ?? assert.fail())?.previous_response_id, idOf(one));
    assert.deepEqual(callIds(two), ['call_4']);
    await drop(serving, second);
    await checkOne(serving);
  },
);

overEveryWire('an unknown parent stays unknown, whatever else the create says (P38)', async (wire) => {
  await using serving = await wire.serve([turn(say('hello')), ...slowLoop], slow);
  const first = await serving.connect(shim);
  begin(first, { input: 'hi' });
  const parent = idOf(await finish(serving, first));
  const again = { previous_response_id: parent, input: 'go on', ...key };
  begin(first, again);
  await first.until((event) => event.type === 'response.created' && event.response.id !== parent);
  await drop(serving, first);
  await using second = await serving.connect(shim);
  const fault = await refused(second, again);
  assert.equal(fault.error.code, 'previous_response_not_found');
});

overEveryWire('what is no longer in the log cannot be shown again, so it is sampled anew', async (wire) => {
  await using serving = await wire.serve(slowLoop, { ...slow, limits: { logBytesMax: 1500 } });
  const first = await serving.connect(shim);
  const seen = await cutAfter(serving, first, 2, { input: 'hi' });
  await serving.lab.clock.advance(60_000);
  const second = await serving.connect(shim);
  const history = [message('hi'), ...itemsIn(seen), output('call_1', '1')];
  begin(second, { input: history });
  await finish(serving, second);
  assert.equal(work(serving).pre, 2);
  await drop(serving, second);
  await checkNothingLeft(serving);
});

overEveryWire(
  'a socket that lags behind its adopted rollout is shown its own response to the end, and holds nothing',
  async (wire) => {
    await using serving = await wire.serve(loop);
    const old = await serving.connect(shim);
    const one = await ask(old);
    const second = await serving.connect(shim);
    const two = await ask(second, { input: [message('hi'), ...itemsIn(one), ...answers(one)] });
    await drop(serving, old);
    await serving.lab.clock.advance(30 * 60_000);
    assert.equal(ending(await goOn(second, two)), 'completed', 'the old socket’s end starts no grace time');
    await drop(serving, second);
    await checkOne(serving);
  },
);

overEveryWire('a client that has come back is not left by its old socket', async (wire) => {
  await using serving = await wire.serve(slowLoop, slow);
  const first = await serving.connect(shim);
  begin(first, { input: 'hi', ...key });
  await first.until('response.in_progress');
  await drop(serving, first);
  const second = await serving.connect(shim);
  begin(second, { input: 'hi', ...key });
  await second.until('response.in_progress');
  const third = await serving.connect(shim);
  begin(third, { input: 'hi', ...key });
  await third.until('response.in_progress');
  assert.equal(work(serving).pre, 2, 'a third is not shown what the second is being shown');
  for (const peer of [second, third]) assert.equal(ending(await finish(serving, peer)), 'completed');
  for (const peer of [second, third]) await drop(serving, peer);
  await checkNothingLeft(serving);
});

overEveryWire('a drop in a later turn shows that turn’s rest and nothing of those before', async (wire) => {
  for (const [waitMs, keptResponsesMax] of [
    [0, 64],
    [0, 1],
    [60_000, 64],
    [60_000, 1],
  ] as const) {
    await using serving = await wire.serve(slowLoop, { ...slow, limits: { keptResponsesMax } });
    const first = await serving.connect(shim);
    begin(first, { input: 'hi' });
    const one = await finish(serving, first);
    const seen = await cutAfter(serving, first, 1, { previous_response_id: idOf(one), input: answers(one) });
    await serving.lab.clock.advance(waitMs);
    const second = await serving.connect(shim);
    begin(second, { input: [message('hi'), ...itemsIn(one), ...answers(one), ...itemsIn(seen)] });
    const two = await finish(serving, second);
    assert.deepEqual([callIds(two), itemsIn(two).length], [['call_4'], 1]);
    await drop(serving, second);
    await checkOne(serving);
  }
});
