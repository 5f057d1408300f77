import assert from 'node:assert/strict';

import { call, customCall, customOutput, message, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, ofType } from '../testing/events.js';
import type { TPeer } from '../testing/peer.js';
import { idOf } from '../testing/turns.js';
import { overEveryWire } from '../testing/wire.js';

const chain = { design: 'chain' };
const threeCalls = [turn(call('a'), call('b'), call('c')), turn(say('done'))];

/** The error that answers a continuation; there is nothing else. */
async function refused(peer: TPeer, previous_response_id: string, input: unknown = 'x', fields: object = {}) {
  const events = await peer.turn({ store: false, ...fields, previous_response_id, input });
  assert.deepEqual(
    events.map(({ type }) => type),
    ['error'],
  );
  const [error] = ofType(events, 'error');
  assert.ok(error);
  return { status: error.status, ...error.error };
}

const notFound = (id: string) => ({
  status: 400,
  type: 'invalid_request_error',
  code: 'previous_response_not_found',
  message: `Previous response with id "${id}" not found; send the full history without previous_response_id.`,
  param: 'previous_response_id',
});

overEveryWire(
  'an unknown parent is not found, nothing runs, and the socket serves the next create (B31, P39)',
  async (wire) => {
    await using serving = await wire.serve([turn(say('done'))]);
    await using peer = await serving.connect(chain);
    assert.deepEqual(await refused(peer, 'resp_gone'), notFound('resp_gone'));
    assert.deepEqual(serving.lab.engine.stageRuns, {});
    assert.equal((await peer.turn()).at(-1)?.type, 'response.completed');
  },
);

overEveryWire('whatever hides a parent, the sentence is one (P38, P43, B42)', async (wire) => {
  await using serving = await wire.serve([turn(say('one')), turn(say('two')), turn(say('three'))], {
    keys: ['alice', 'bob'],
    limits: { keptResponsesMax: 1 },
    firstTokenMs: 1000,
  });
  const { clock } = serving.lab;
  await using alice = await serving.connect({ ...chain, key: 'alice' });
  const ended = async (fields: object): Promise<string> => {
    const id = await alice.create(fields);
    await clock.advance(1000);
    await alice.until('response.completed');
    return id;
  };
  const stored = await ended({});
  const evicted = await ended({ store: false });
  const unstored = await ended({ store: false });
  await using bob = await serving.connect({ ...chain, key: 'bob' });
  const running = await bob.create();
  await using aliceAgain = await serving.connect({ ...chain, key: 'alice' });
  await using bobAgain = await serving.connect({ ...chain, key: 'bob' });
  for (const [peer, id] of [
    [bobAgain, stored],
    [bobAgain, unstored],
    [bobAgain, running],
    [aliceAgain, unstored],
    [aliceAgain, running],
    [alice, evicted],
    [alice, 'resp_gone'],
  ] as const)
    assert.deepEqual(await refused(peer, id), notFound(id));
  for (const [peer, id] of [
    [alice, unstored],
    [aliceAgain, stored],
  ] as const) {
    peer.send({ type: 'response.create', model: 'm', previous_response_id: id, input: 'go on' });
    await peer.until('response.created');
    await clock.advance(1000);
    await peer.until('response.completed');
  }
  assert.deepEqual(
    serving.lab.prompt.slice(-1),
    ['user: go on'],
    'store:true is found from another socket (P42)',
  );
});

overEveryWire('nothing of store:false is in the store after its socket is gone (B42)', async (wire) => {
  await using serving = await wire.serve([turn(say('secret marker'))]);
  const peer = await serving.connect(chain);
  const id = idOf(await peer.turn({ store: false, input: 'secret marker' }));
  peer.close();
  await serving.closings.next();
  assert.equal(serving.lab.store.size, 0);
  await using other = await serving.connect(chain);
  assert.deepEqual(await refused(other, id), notFound(id));
});

overEveryWire('a continuation that fails takes its parent with it (B1, P40, P41)', async (wire) => {
  await using serving = await wire.serve(threeCalls);
  await using peer = await serving.connect(chain);
  const parent = idOf(await peer.turn({ store: false }));
  const { code, param, message: sentence } = await refused(peer, parent, [output('call_nope', 'x')]);
  assert.deepEqual([code, param], ['unknown_call_id', 'input[0].call_id']);
  assert.match(sentence, /"call_nope"/);
  assert.deepEqual(await refused(peer, parent), notFound(parent));
  assert.equal(serving.lab.model.stats.turns, 1);
});

overEveryWire(
  'every call of the parent is answered at once, in any order, or the continuation fails (B12)',
  async (wire) => {
    await using serving = await wire.serve(threeCalls);
    await using peer = await serving.connect(chain);
    const first = await peer.turn({ store: false });
    const [a, b, c] = callIds(first);
    const answers = [output(a, '1'), output(b, '2')];
    const { code, message: sentence } = await refused(peer, idOf(first), answers);
    assert.equal(code, 'missing_tool_output');
    assert.match(sentence, new RegExp(`"${c}"`));
    assert.deepEqual(await refused(peer, idOf(first), [...answers, output(c, '3')]), notFound(idOf(first)));
    assert.equal(serving.lab.model.stats.turns, 1, 'no model step for either');
    const history = [message('hi'), ...(ofType(first, 'response.completed')[0]?.response.output ?? [])];
    const whole = await peer.turn({ store: false, input: [...history, ...answers, output(c, '3')] });
    assert.equal(whole.at(-1)?.type, 'response.completed');
    assert.deepEqual(serving.lab.prompt.slice(-3), ['tool: 1', 'tool: 2', 'tool: 3']);

    const again = await peer.turn({ store: false });
    const ids = callIds(again);
    const order = [2, 0, 1].map((index) => output(ids[index], `answer ${index}`));
    const next = await peer.turn({ store: false, previous_response_id: idOf(again), input: order });
    assert.equal(next.at(-1)?.type, 'response.completed');
    assert.deepEqual(serving.lab.prompt.slice(-3), ['tool: answer 0', 'tool: answer 1', 'tool: answer 2']);
    assert.equal(serving.lab.engine.stageRuns['post.bill']?.runs, 4, 'a refused create runs no post stage');
  },
);

overEveryWire('the wrong kind of output fails the continuation (B4)', async (wire) => {
  await using serving = await wire.serve([turn(customCall('apply_patch', 'x')), turn(say('done'))]);
  await using peer = await serving.connect(chain);
  for (const [answer, ends] of [
    [customOutput, true],
    [output, false],
  ] as const) {
    const first = await peer.turn({ store: false });
    const input = [answer(callIds(first)[0], 'applied')];
    if (ends) {
      const second = await peer.turn({ store: false, previous_response_id: idOf(first), input });
      assert.equal(second.at(-1)?.type, 'response.completed');
    } else {
      assert.equal((await refused(peer, idOf(first), input)).code, 'wrong_output_type');
      assert.deepEqual(await refused(peer, idOf(first)), notFound(idOf(first)));
    }
  }
});

overEveryWire('an output without its call is refused before anything runs (B3)', async (wire) => {
  await using serving = await wire.serve(threeCalls);
  await using peer = await serving.connect(chain);
  const [refusal] = ofType(await peer.turn({ input: [output('call_1', 'x')] }), 'error');
  assert.equal(refusal?.error.code, 'unknown_call_id');
  assert.equal(serving.lab.engine.stageRuns['pre.render'], undefined);
});

overEveryWire(
  'a sampler that fails takes the parent along, one that is cut short leaves it (P40)',
  async (wire) => {
    const fault = new Error('broken');
    await using serving = await wire.serve(({ context }) => {
      const { item } = context.transcript.at(context.transcript.length - 1);
      return 'content' in item && item.content === 'break'
        ? { items: [say('x')], failAfterTokens: { tokens: 0, fault } }
        : turn(say('a text of some length'));
    });
    await using peer = await serving.connect(chain);
    const parent = idOf(await peer.turn({ store: false }));
    const cut = await peer.turn({ store: false, previous_response_id: parent, max_output_tokens: 2 });
    const { response } = ofType(cut, 'response.incomplete')[0] ?? {};
    assert.deepEqual(response?.incomplete_details, { reason: 'max_output_tokens' });
    assert.equal(response?.output.at(-1)?.['status'], 'incomplete', 'P58');
    const broken = await peer.turn({ store: false, previous_response_id: parent, input: 'break' });
    assert.equal(broken.at(-1)?.type, 'response.failed');
    assert.deepEqual(await refused(peer, parent), notFound(parent));
    const fromCut = await peer.turn({ store: false, previous_response_id: idOf(cut) });
    assert.equal(fromCut.at(-1)?.type, 'response.completed');
  },
);

overEveryWire(
  'two continuations of one parent are forks that know nothing of each other (B40)',
  async (wire) => {
    await using serving = await wire.serve([turn(say('root')), turn(say('leaf')), turn(say('leaf'))]);
    await using peer = await serving.connect(chain);
    const parent = idOf(await peer.turn({ store: false }));
    for (const input of ['left', 'right']) {
      await peer.turn({ store: false, previous_response_id: parent, input });
      assert.deepEqual(serving.lab.prompt, ['user: hi', 'assistant: root', `user: ${input}`]);
    }
    await peer.turn({ store: false, input: 'new' });
    assert.deepEqual(serving.lab.prompt, ['user: new'], 'and what names no parent starts afresh');
  },
);
