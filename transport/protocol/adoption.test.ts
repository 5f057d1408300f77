/** A history sent in full goes on with the rollout that it is the history of: what clients do after any drop. */
import assert from 'node:assert/strict';

import type { ServerEvent } from '../../engine/index.js';
import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { begin, checkOne, cutAfter, finish, slow, slowLoop } from '../testing/drops.js';
import { callIds, responseIn } from '../testing/events.js';
import {
  answers,
  ask,
  checkNothingLeft,
  drop,
  ending,
  goOn,
  itemsIn,
  refused,
  work,
} from '../testing/turns.js';
import { overEveryWire } from '../testing/wire.js';

const shim = { design: 'shim' };
const key = { prompt_cache_key: 'thread' };
const loop = [turn(say('looking'), call('ls')), turn(call('cat')), turn(say('all done'))];

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
  'an answer that ended while its client was away is kept for it as long as a rollout would be',
  async (wire) => {
    for (const [awayMs, rollouts] of [
      [599_999, 1],
      [600_000, 2],
    ] as const) {
      await using serving = await wire.serve([turn(say('x'.repeat(40)))], slow);
      const first = await serving.connect(shim);
      begin(first, { input: 'hi', ...key });
      await first.until('response.in_progress');
      await drop(serving, first);
      await serving.lab.clock.advance(awayMs);
      const second = await serving.connect(shim);
      begin(second, { input: 'hi', ...key });
      assert.equal(ending(await finish(serving, second)), 'completed');
      assert.equal(work(serving).pre, rollouts);
      await drop(serving, second);
      await checkNothingLeft(serving);
    }
  },
);

overEveryWire(
  'a history that lacks the last words of another’s own input is not that history',
  async (wire) => {
    for (const waitMs of [0, 60_000]) {
      await using serving = await wire.serve(slowLoop, slow);
      const first = await serving.connect(shim);
      begin(first, { input: [message('hi'), { role: 'assistant', content: 'so' }], ...key });
      await first.until('response.in_progress');
      await drop(serving, first);
      await serving.lab.clock.advance(waitMs);
      const second = await serving.connect(shim);
      begin(second, { input: [message('hi')], ...key });
      assert.equal(ending(await finish(serving, second)), 'completed');
      assert.equal(work(serving).pre, 2);
      await drop(serving, second);
      await checkNothingLeft(serving);
    }
  },
);
