/** What may happen while a create of the shim is being admitted, or its outputs are being taken in. */
import assert from 'node:assert/strict';

import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, checkStream } from '../testing/events.js';
import { begin, cutAfter, finish, slow } from '../testing/drops.js';
import { Gate } from '../testing/gate.js';
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
  rest,
  work,
} from '../testing/turns.js';
import { overEveryWire } from '../testing/wire.js';

const shim = { design: 'shim' };
const loop = [turn(call('ls')), turn(call('cat')), turn(say('done'))];

overEveryWire(
  'a socket that closes while its outputs are taken in leaves a rollout that its history finds',
  async (wire) => {
    const gate = new Gate('append');
    await using serving = await wire.serve(loop, { engine: { stages: gate.stages } });
    const first = await serving.connect(shim);
    const one = await ask(first);
    gate.shut();
    begin(first, { previous_response_id: idOf(one), input: answers(one) });
    const pass = await gate.waiting.next();
    await drop(serving, first);
    gate.open();
    const second = await serving.connect(shim);
    const input = [message('hi'), ...itemsIn(one), ...answers(one)];
    pass();
    await serving.lab.settle();
    assert.equal(serving.lab.turns.length, 2, 'the rollout has gone on');
    await serving.lab.clock.advance(9 * 60_000);
    const two = await ask(second, { input });
    assert.deepEqual([work(serving).pre, callIds(two)], [1, ['call_2']], 'its turn is shown as it was');
    assert.equal(ending(two), 'completed');
    await drop(serving, second);
    await checkNothingLeft(serving);
  },
);

overEveryWire(
  'a history that comes while the rollout’s own create is being taken in begins another',
  async (wire) => {
    const gate = new Gate('append');
    await using serving = await wire.serve(loop, { engine: { stages: gate.stages } });
    const first = await serving.connect(shim);
    const second = await serving.connect(shim);
    const one = await ask(first);
    gate.shut();
    begin(first, { previous_response_id: idOf(one), input: answers(one) });
    const pass = await gate.waiting.next();
    const other = await ask(second, { input: [message('hi'), ...itemsIn(one), ...answers(one)] });
    pass();
    gate.open();
    const two = await rest(first);
    assert.equal(work(serving).pre, 2);
    assert.notDeepEqual(callIds(two), callIds(other));
    assert.equal(ending(await goOn(first, two)), 'completed');
    assert.equal(ending(await goOn(second, other)), 'completed');
    for (const peer of [first, second]) await drop(serving, peer);
    await checkNothingLeft(serving);
  },
);

overEveryWire('a rollout that ends while outputs are taken in is gone on from in another', async (wire) => {
  for (const how of ['deadline', 'cancel', 'full history'] as const) {
    const gate = new Gate('append');
    const limits = { suspensionMsMax: 1000 };
    await using serving = await wire.serve(loop, { limits, engine: { stages: gate.stages } });
    const peer = await serving.connect(shim);
    const one = await ask(peer);
    const input = answers(one);
    gate.shut();
    if (how === 'full history') begin(peer, { input: [message('hi'), ...itemsIn(one), ...input] });
    else begin(peer, { previous_response_id: idOf(one), input });
    const pass = await gate.waiting.next();
    if (how === 'cancel') for (const response of serving.lab.engine.live()) response.cancel();
    else await serving.lab.clock.advance(1000);
    pass();
    gate.open();
    const two = await rest(peer);
    assert.equal(ending(two), 'completed', how);
    assert.deepEqual(serving.lab.prompt, ['user: hi', 'assistant to=ls: {}', 'tool: ok call_1']);
    assert.equal(work(serving).pre, 2);
    await drop(serving, peer);
    await checkNothingLeft(serving);
  }
});

overEveryWire(
  'the way out while outputs are taken in: the create is refused, nothing new begins',
  async (wire) => {
    const gate = new Gate('append');
    await using serving = await wire.serve(loop, { engine: { stages: gate.stages } });
    const peer = await serving.connect(shim);
    const one = await ask(peer);
    gate.shut();
    begin(peer, { previous_response_id: idOf(one), input: answers(one) });
    const pass = await gate.waiting.next();
    const drained = serving.server.drain();
    pass();
    assert.equal((await peer.until('error')).error.code, 'server_shutting_down');
    await drained;
    assert.equal(work(serving).pre, 1);
    assert.equal((await peer.closed).code, 1012);
    await checkNothingLeft(serving);
  },
);

overEveryWire(
  'a create that is admitted after its socket has closed runs on, and its history finds it',
  async (wire) => {
    const gate = new Gate('pre');
    await using serving = await wire.serve([turn(say('x'.repeat(40)), call('ls')), turn(say('done'))], {
      decodeTokensPerSecond: 10,
      deltaTokensMax: 1,
      engine: { stages: gate.stages },
    });
    const first = await serving.connect(shim);
    gate.shut();
    begin(first, { input: 'hi', prompt_cache_key: 'k' });
    const pass = await gate.waiting.next();
    await drop(serving, first);
    pass();
    gate.open();
    await serving.lab.settle();
    const second = await serving.connect(shim);
    begin(second, { input: [message('hi')], prompt_cache_key: 'k' });
    await second.until('response.in_progress');
    await serving.lab.clock.advance(60_000);
    await second.rest();
    checkStream(second.received.filter(({ type }) => type !== 'error'));
    assert.equal(work(serving).pre, 1);
    await drop(serving, second);
    await checkNothingLeft(serving);
  },
);

overEveryWire(
  'a create that is admitted after its socket has closed and is never come back for ends by itself',
  async (wire) => {
    const gate = new Gate('pre', 'append');
    await using serving = await wire.serve(loop, {
      engine: { stages: gate.stages },
      limits: { graceMsMax: 1000 },
    });
    for (const named of [false, true]) {
      const peer = await serving.connect(shim);
      const one = named ? await ask(peer) : [];
      gate.shut();
      begin(peer, named ? { previous_response_id: idOf(one), input: answers(one) } : { input: 'hi' });
      const pass = await gate.waiting.next();
      await drop(serving, peer);
      gate.open();
      pass();
      await serving.lab.settle();
      assert.equal(serving.lab.engine.liveCount, 1);
      await serving.lab.clock.advance(1000);
      assert.equal(serving.lab.engine.liveCount, 0);
    }
    await checkNothingLeft(serving);
  },
);

overEveryWire('a create that is refused takes no hold of anything', async (wire) => {
  const gate = new Gate('append');
  await using serving = await wire.serve(loop, { engine: { stages: gate.stages } });
  const first = await serving.connect(shim);
  const one = await ask(first, { store: true });
  const second = await serving.connect(shim);
  const wrong = { previous_response_id: idOf(one), input: [output('call_nope', 'x')], store: true };
  assert.equal((await refused(second, wrong)).error.code, 'unknown_call_id');
  await drop(serving, second);
  await serving.lab.clock.advance(30 * 60_000);
  assert.equal(ending(await goOn(first, one, { store: true })), 'completed', 'the first one holds it still');
  assert.equal(work(serving).pre, 1);
  await drop(serving, first);
  await checkNothingLeft(serving);
});

overEveryWire(
  'two creates on one lane from one hand-off, sent together: the second is a fork',
  async (wire) => {
    await using serving = await wire.serve(loop);
    const peer = await serving.connect(shim);
    const one = await ask(peer);
    const create = {
      type: 'response.create',
      model: 'm',
      store: false,
      previous_response_id: idOf(one),
      input: answers(one),
    };
    peer.sendTogether(create, create);
    const two = await rest(peer);
    const fork = await rest(peer);
    assert.deepEqual([ending(two), ending(fork)], ['completed', 'completed']);
    assert.equal(work(serving).pre, 2);
    assert.equal(ending(await goOn(peer, two)), 'completed');
    assert.equal(ending(await goOn(peer, fork)), 'completed');
    assert.equal(work(serving).pre, 2, 'and each goes on as itself');
    await drop(serving, peer);
    await checkNothingLeft(serving);
  },
);

overEveryWire(
  'a rollout that ends just before its adopted hand-off is shown has each answer once',
  async (wire) => {
    const gate = new Gate('append');
    const script = [turn(call('ls'), say('x'.repeat(40)), call('cat')), turn(say('done'))];
    await using serving = await wire.serve(script, { ...slow, engine: { stages: gate.stages } });
    const first = await serving.connect(shim);
    const seen = await cutAfter(serving, first, 1, { input: 'hi' });
    await serving.lab.clock.advance(60_000);
    const second = await serving.connect(shim);
    gate.shut();
    begin(second, { input: [message('hi'), ...itemsIn(seen), output('call_1', 'x')] });
    const pass = await gate.waiting.next();
    gate.open();
    pass();
    for (let microtask = 0; microtask < 100; microtask++) await Promise.resolve();
    for (const response of serving.lab.engine.live()) response.cancel();
    const two = await rest(second);
    assert.deepEqual([ending(two), callIds(two)], ['completed', ['call_2']]);
    begin(second, { previous_response_id: idOf(two), input: [output('call_2', 'y')] });
    await finish(serving, second);
    assert.deepEqual(serving.lab.prompt.slice(-3), ['assistant to=cat: {}', 'tool: x', 'tool: y']);
    await drop(serving, second);
    await checkNothingLeft(serving);
  },
);
