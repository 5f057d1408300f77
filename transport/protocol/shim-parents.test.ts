/** What a create may name as its parent on a shim socket, and what becomes of one whose continuation is refused. */
import assert from 'node:assert/strict';

import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { callIds } from '../testing/events.js';
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
const threeCalls = [turn(call('a'), call('b'), call('c')), turn(say('done')), turn(say('more'))];

function notFound(id: string) {
  return {
    type: 'invalid_request_error',
    code: 'previous_response_not_found',
    message: `Previous response with id "${id}" not found; send the full history without previous_response_id.`,
    param: 'previous_response_id',
  };
}

overEveryWire(
  'an unknown parent is not found, in the same words as on a chain socket (B31, B32, P39)',
  async (wire) => {
    await using serving = await wire.serve(threeCalls);
    await using peer = await serving.connect(shim);
    const fault = await refused(peer, { previous_response_id: 'resp_gone' });
    assert.deepEqual([fault.status, fault.error], [400, notFound('resp_gone')]);
    assert.deepEqual(serving.lab.engine.stageRuns, {});
    await using chain = await serving.connect({ design: 'chain' });
    assert.deepEqual((await refused(chain, { previous_response_id: 'resp_gone' })).error, fault.error);
    assert.equal(ending(await ask(peer)), 'completed');
  },
);

overEveryWire(
  'not every call answered: it is named, nothing is sampled, the rollout ends once and its history goes on (B12)',
  async (wire) => {
    await using serving = await wire.serve(threeCalls);
    const peer = await serving.connect(shim);
    const one = await ask(peer);
    const [a, b, c] = callIds(one);
    const some = [output(a, '1'), output(b, '2')];
    const { error, status } = await refused(peer, { previous_response_id: idOf(one), input: some });
    assert.deepEqual([status, error.code], [400, 'missing_tool_output']);
    assert.match(error.message, new RegExp(`"${c}"`));
    assert.equal(serving.lab.model.stats.turns, 1, 'no model step');
    await serving.lab.settle();
    assert.deepEqual(work(serving), { pre: 1, append: 0, post: 1, bills: 1 });
    const all = [...some, output(c, '3')];
    const gone = await refused(peer, { previous_response_id: idOf(one), input: all });
    assert.deepEqual(gone.error, notFound(idOf(one)));
    const two = await ask(peer, { input: [message('hi'), ...itemsIn(one), ...all] });
    assert.equal(ending(two), 'completed');
    assert.deepEqual(serving.lab.prompt.slice(-3), ['tool: 1', 'tool: 2', 'tool: 3']);
    const again = await ask(peer);
    const ids = callIds(again);
    await goOn(peer, again, { input: [2, 0, 1].map((index) => output(ids[index], `answer ${index}`)) });
    assert.deepEqual(serving.lab.prompt.slice(-3), ['tool: answer 0', 'tool: answer 1', 'tool: answer 2']);
    await drop(serving, peer);
    await checkNothingLeft(serving);
  },
);

overEveryWire(
  'an output for no call fails the continuation and takes its parent along (B1, B3, P40, P41)',
  async (wire) => {
    await using serving = await wire.serve(threeCalls);
    const peer = await serving.connect(shim);
    const orphan = await refused(peer, { input: [output('call_1', 'x')] });
    assert.equal(orphan.error.code, 'unknown_call_id');
    assert.equal(work(serving).pre, 0);
    const one = await ask(peer);
    const wrong = await refused(peer, { previous_response_id: idOf(one), input: [output('call_nope', 'x')] });
    assert.deepEqual([wrong.error.code, wrong.error.param], ['unknown_call_id', 'input[0].call_id']);
    assert.match(wrong.error.message, /"call_nope"/);
    const gone = await refused(peer, { previous_response_id: idOf(one), input: answers(one) });
    assert.equal(gone.error.code, 'previous_response_not_found');
    await serving.lab.settle();
    assert.equal(serving.lab.engine.liveCount, 0);
    await drop(serving, peer);
    await checkNothingLeft(serving);
  },
);

overEveryWire(
  'different answers to one call in one create are refused; the same one twice is one (B5)',
  async (wire) => {
    await using serving = await wire.serve([turn(call('a')), turn(call('b')), turn(say('done'))]);
    await using peer = await serving.connect(shim);
    const one = await ask(peer);
    const [a] = callIds(one);
    const two = await goOn(peer, one, { input: [output(a, 'first'), output(a, 'first')] });
    assert.equal(ending(two), 'completed');
    assert.deepEqual(serving.lab.prompt.slice(-1), ['tool: first']);
    const [b] = callIds(two);
    const fault = await refused(peer, {
      previous_response_id: idOf(two),
      input: [output(b, 'x'), output(b, 'y')],
    });
    assert.equal(fault.error.code, 'call_already_answered');
  },
);

overEveryWire(
  'a parent and a conversation exclude each other, and nothing but that create is lost (P44)',
  async (wire) => {
    await using serving = await wire.serve(threeCalls);
    await using peer = await serving.connect(shim);
    const one = await ask(peer);
    const fault = await refused(peer, {
      previous_response_id: idOf(one),
      conversation: 'conv_1',
      input: answers(one),
    });
    assert.deepEqual([fault.status, fault.error.param], [400, 'conversation']);
    assert.equal(ending(await ask(peer)), 'completed');
  },
);

overEveryWire(
  'store:false belongs to its socket, store:true to its key (P38, P42, P43, B42)',
  async (wire) => {
    await using serving = await wire.serve([turn(call('ls')), turn(say('done'))], { keys: ['alice', 'bob'] });
    const alice = await serving.connect({ ...shim, key: 'alice' });
    const unstored = await ask(alice);
    const stored = await ask(alice, { store: true });
    const again = await serving.connect({ ...shim, key: 'alice' });
    const bob = await serving.connect({ ...shim, key: 'bob' });
    for (const [peer, events] of [
      [again, unstored],
      [bob, unstored],
      [bob, stored],
    ] as const) {
      const fields = { previous_response_id: idOf(events), input: answers(events) };
      assert.deepEqual((await refused(peer, fields)).error, notFound(idOf(events)));
    }
    const two = await goOn(again, stored, { store: true });
    assert.equal(ending(two), 'completed');
    assert.equal(work(serving).pre, 2, 'the rollout goes on over another socket');
    assert.equal(ending(await goOn(alice, unstored)), 'completed');
    for (const peer of [alice, again, bob]) await drop(serving, peer);
    await checkNothingLeft(serving);
  },
);

overEveryWire('a new transcript begins anew, and what was suspended stays as it was (B40)', async (wire) => {
  await using serving = await wire.serve([turn(call('ls')), turn(say('done'))]);
  await using peer = await serving.connect(shim);
  const one = await ask(peer, { prompt_cache_key: 'thread' });
  const compacted = [message('a summary'), message('go on')];
  const fresh = await ask(peer, { input: compacted, prompt_cache_key: 'thread' });
  assert.deepEqual(serving.lab.prompt, ['user: a summary', 'user: go on']);
  assert.equal(ending(fresh), 'completed');
  const two = await goOn(peer, one, { prompt_cache_key: 'thread' });
  assert.equal(ending(two), 'completed');
  assert.deepEqual([work(serving).pre, work(serving).append], [2, 1]);
});

overEveryWire(
  'what a create may name is bounded, and what is pushed out can still be told in full',
  async (wire) => {
    await using serving = await wire.serve([turn(call('ls')), turn(say('done'))], {
      limits: { keptResponsesMax: 1 },
    });
    await using peer = await serving.connect(shim);
    const one = await ask(peer);
    const other = await ask(peer, { input: 'other' });
    assert.equal(
      (await refused(peer, { previous_response_id: idOf(one), input: answers(one) })).error.code,
      'previous_response_not_found',
    );
    const whole = await ask(peer, { input: [message('hi'), ...itemsIn(one), ...answers(one)] });
    assert.equal(ending(whole), 'completed');
    assert.deepEqual([work(serving).pre, work(serving).append], [2, 1], 'as the same rollout');
    assert.equal(idOf(other) === idOf(one), false);
  },
);

overEveryWire(
  'a rollout of a shim socket is no Response of the append design, but what it stored can be gone on from',
  async (wire) => {
    await using serving = await wire.serve([turn(call('ls')), turn(say('done'))]);
    const peer = await serving.connect(shim);
    const one = await ask(peer, { store: true });
    const native = await serving.connect();
    const [inner] = serving.lab.engine.live();
    for (const response_id of [idOf(one), inner?.id ?? '']) {
      for (const type of ['response.attach', 'response.cancel']) {
        native.send({ type, response_id });
        assert.equal((await native.until('error')).error.code, 'response_not_found');
      }
      native.append(response_id, ...answers(one));
      assert.equal((await native.until('response.append.failed')).error.code, 'response_not_found');
    }
    const fork = await goOn(native, one);
    assert.equal(fork.at(-1)?.type, 'response.completed');
    const gone = await refused(native, { previous_response_id: inner?.id, input: answers(one) });
    assert.equal(gone.error.code, 'previous_response_not_found');
    assert.equal(ending(await goOn(peer, one, { store: true })), 'completed');
    assert.equal(work(serving).pre, 2);
    for (const each of [peer, native]) await drop(serving, each);
    await checkNothingLeft(serving);
  },
);
