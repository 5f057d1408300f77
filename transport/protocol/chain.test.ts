import assert from 'node:assert/strict';

import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, checkStream, ofType } from '../testing/events.js';
import { isTerminal } from '../testing/peer.js';
import { idOf } from '../testing/turns.js';
import { overEveryWire } from '../testing/wire.js';

const chain = { design: 'chain' };
const script = [turn(say('let me look'), call('ls')), turn(say('done')), turn(say('gone on'))];

overEveryWire(
  'a turn is a Response, and the next one goes on from it in order (P36, P37, P45, P55)',
  async (wire) => {
    await using serving = await wire.serve(script);
    await using peer = await serving.connect(chain);
    const first = await peer.turn({ store: false, instructions: 'be brief' });
    checkStream(first);
    assert.equal(first.at(-1)?.type, 'response.completed');
    const [callId] = callIds(first);
    const second = await peer.turn({
      store: false,
      instructions: 'be brief',
      previous_response_id: idOf(first),
      input: [output(callId, 'bin etc')],
    });
    checkStream(second);
    assert.equal(ofType(second, 'response.completed')[0]?.response.previous_response_id, idOf(first));
    await peer.turn({
      store: false,
      previous_response_id: idOf(second),
      instructions: 'be BLUE',
      input: 'go on',
    });
    assert.deepEqual(
      serving.lab.prompt,
      [
        'system: be BLUE',
        'user: hi',
        'assistant: let me look',
        'assistant to=ls: {}',
        'tool: bin etc',
        'assistant: done',
        'user: go on',
      ],
      'new instructions take the place of the old (B39)',
    );
    assert.equal(serving.lab.store.size, 0, 'store:false writes nothing (P37)');
    for (const event of peer.received) {
      assert.ok(!('stream_id' in event), 'the default lane has no name (P27)');
      assert.ok(!('response_id' in event));
    }
  },
);

overEveryWire(
  'a create that comes while one runs waits its turn, in order (P20, P21, P22, B101)',
  async (wire) => {
    await using serving = await wire.serve([turn(say('x'.repeat(100)))], {
      decodeTokensPerSecond: 10,
      deltaTokensMax: 1,
    });
    await using peer = await serving.connect(chain);
    const events = ['a', 'b', 'c'].map((input) => ({
      type: 'response.create',
      model: 'm',
      input,
      metadata: { input },
    }));
    peer.sendTogether(...events);
    await serving.lab.clock.advance(60_000);
    for (const input of ['a', 'b', 'c']) {
      const stream = await peer.through(isTerminal);
      checkStream(stream);
      assert.equal(ofType(stream, 'response.created')[0]?.response.metadata['input'], input);
    }
    assert.deepEqual(
      serving.lab.turns.map(({ prompt }) => prompt),
      [['user: a'], ['user: b'], ['user: c']],
      'each without a parent starts afresh (P31)',
    );
  },
);

overEveryWire(
  'the parent is looked up when its continuation starts, not when it arrives (P33)',
  async (wire) => {
    await using serving = await wire.serve(script, { firstTokenMs: 1000 });
    await using peer = await serving.connect(chain);
    const parent = await peer.create({ store: false, tool_choice: 'none' });
    peer.send({
      type: 'response.create',
      model: 'm',
      input: 'next',
      previous_response_id: parent,
      store: false,
    });
    await peer.rest();
    await serving.lab.clock.advance(3000);
    await peer.until('response.completed');
    const { response } = await peer.until('response.completed');
    assert.equal(response.previous_response_id, parent);
  },
);

overEveryWire('more creates than may wait are refused, and the ones that wait still run', async (wire) => {
  await using serving = await wire.serve(script, { firstTokenMs: 1000, limits: { socketQueueMax: 2 } });
  await using peer = await serving.connect(chain);
  for (const event_id of ['runs', 'waits', 'waits too', 'refused'])
    peer.send({ type: 'response.create', event_id, model: 'm', input: event_id });
  const refused = await peer.until('error');
  assert.deepEqual(
    [refused.event_id, refused.status, refused.error.code],
    ['refused', 429, 'rate_limit_exceeded'],
  );
  await serving.lab.clock.advance(10_000);
  for (let count = 0; count < 3; count++) await peer.until('response.completed');
  assert.deepEqual(ofType(await peer.rest(), 'error'), []);
});

overEveryWire(
  'a warm-up is created and completed without a sample, and is a parent (P24, P25)',
  async (wire) => {
    await using serving = await wire.serve(script);
    await using peer = await serving.connect(chain);
    const warm = await peer.turn({ generate: false, store: false, instructions: 'be brief', input: [] });
    assert.deepEqual(
      warm.map(({ type }) => type),
      ['response.created', 'response.in_progress', 'response.completed'],
    );
    const { output: items, usage } = ofType(warm, 'response.completed')[0]?.response ?? {};
    assert.deepEqual([items, usage?.output_tokens ?? 0], [[], 0]);
    assert.equal(serving.lab.model.stats.turns, 0);
    await peer.turn({ previous_response_id: idOf(warm), store: false, instructions: 'be brief' });
    assert.deepEqual(serving.lab.prompt.slice(0, 2), ['system: be brief', 'user: hi']);
  },
);

overEveryWire(
  'a socket that closes ends the Response that runs, once, and forgets the rest (P48)',
  async (wire) => {
    await using serving = await wire.serve(script, { firstTokenMs: 1000 });
    const { engine, model } = serving.lab;
    const peer = await serving.connect(chain);
    const id = await peer.create();
    peer.send({ type: 'response.create', model: 'm', input: 'queued' });
    await peer.rest();
    peer.drop();
    await serving.closings.next();
    const { outcome } = await serving.response(id).settled;
    assert.deepEqual(outcome, { status: 'cancelled', reason: 'disconnected' });
    await serving.lab.clock.advance(10_000);
    assert.deepEqual([model.stats.opened, model.stats.aborted, engine.liveCount], [1, 1, 0]);
    for (const stage of ['pre.validate', 'post.store', 'post.bill'])
      assert.equal(engine.stageRuns[stage]?.runs, 1);
  },
);

overEveryWire('events of the append design are refused on a chain socket', async (wire) => {
  await using serving = await wire.serve(script);
  await using peer = await serving.connect(chain);
  for (const event of [
    { type: 'response.append', response_id: 'resp_1', input: [] },
    { type: 'response.cancel', response_id: 'resp_1' },
    { type: 'response.attach', response_id: 'resp_1' },
  ]) {
    peer.send({ ...event, event_id: event.type });
    const { error, event_id } = await peer.until('error');
    assert.deepEqual([error.code, error.param, event_id], ['unknown_event_type', 'type', event.type]);
  }
});

overEveryWire(
  'a Response of a chain socket belongs to it: no other can attach to it or end it',
  async (wire) => {
    await using serving = await wire.serve(script, { firstTokenMs: 1000 });
    await using peer = await serving.connect(chain);
    await using native = await serving.connect();
    const id = await peer.create({ store: false });
    for (const type of ['response.attach', 'response.cancel']) {
      native.send({ type, response_id: id });
      assert.equal((await native.until('error')).error.code, 'response_not_found');
    }
    native.append(id, message('x'));
    assert.equal((await native.until('response.append.failed')).error.code, 'response_not_found');
    await serving.lab.clock.advance(1000);
    const events = await peer.through('response.completed');
    assert.equal(events.length > 0, true);
    native.send({
      type: 'response.create',
      model: 'm',
      previous_response_id: id,
      input: [output(callIds(events)[0], 'x')],
    });
    assert.equal(
      (await native.until('error')).error.code,
      'previous_response_not_found',
      'store:false is the socket’s own',
    );
  },
);

overEveryWire('ids are the same in added, done, the deltas and the final output (B43)', async (wire) => {
  await using serving = await wire.serve([turn(say('text'), call('ls', '{"a":1}')), turn(say('done'))]);
  await using peer = await serving.connect(chain);
  const events = await peer.turn();
  checkStream(events);
  const added = ofType(events, 'response.output_item.added').map(({ item }) => [item.id, item['call_id']]);
  const done = ofType(events, 'response.output_item.done').map(({ item }) => [item.id, item['call_id']]);
  const final = ofType(events, 'response.completed')[0]?.response.output.map((item) => [
    item.id,
    item['call_id'],
  ]);
  assert.deepEqual(done, added);
  assert.deepEqual(final, added);
  const [delta] = ofType(events, 'response.function_call_arguments.delta');
  assert.equal(delta?.item_id, added[1]?.[0]);
});
