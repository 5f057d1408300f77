/** Whose a rollout is: which history goes on with it, over which socket, and when another one begins. */
import assert from 'node:assert/strict';

import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { begin, checkOne, finish, slow, slowLoop } from '../testing/drops.js';
import { callIds, responseIn } from '../testing/events.js';
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
import { overEveryWire } from '../testing/wire.js';

const shim = { design: 'shim' };
const key = { prompt_cache_key: 'thread' };
const loop = [turn(say('looking'), call('ls')), turn(call('cat')), turn(say('all done'))];

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

overEveryWire(
  'a warm-up whose socket is gone serves the history that begins with its words',
  async (wire) => {
    await using serving = await wire.serve(loop);
    const first = await serving.connect(shim);
    await ask(first, { generate: false, input: [message('base')], ...key });
    await drop(serving, first);
    const second = await serving.connect(shim);
    const one = await ask(second, { input: [message('base'), message('hi')], ...key });
    assert.equal(ending(one), 'completed');
    assert.deepEqual(serving.lab.prompt, ['user: base', 'user: hi']);
    await drop(serving, second);
    await checkOne(serving);
  },
);

overEveryWire(
  'an old socket that breaks while it lags does not leave what another has taken over',
  async (wire) => {
    const words = [turn(say('x'.repeat(4000)), call('ls')), turn(say('y'.repeat(40)))];
    await using serving = await wire.serve(words, {
      ...slow,
      deltaTokensMax: 1000,
      limits: { sendBufferBytesMax: 1000, drainMsMax: Infinity },
    });
    const { lab } = serving;
    const old = await serving.connect(shim);
    old.pause();
    begin(old, { input: 'hi', ...key });
    while (lab.engine.liveCount === 0) await lab.settle();
    await lab.clock.advance(600_000);
    const [rollout] = lab.engine.live();
    assert.ok(rollout?.suspended);
    const history = [
      ...rollout.kept.transcript.items(),
      ...rollout.requiredInput.map(({ call_id }) => output(call_id, 'x')),
    ];
    const second = await serving.connect(shim);
    begin(second, { input: history, ...key });
    await second.rest();
    assert.equal(work(serving).pre, 1, 'taken over');
    old.resume();
    await drop(serving, old);
    const third = await serving.connect(shim);
    begin(third, { input: history, ...key });
    await third.rest();
    await lab.clock.advance(60_000);
    for (const peer of [second, third]) assert.equal(ending(await finish(serving, peer)), 'completed');
    assert.equal(work(serving).pre, 2);
    for (const peer of [second, third]) await drop(serving, peer);
    await checkNothingLeft(serving);
  },
);
