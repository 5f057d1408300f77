import assert from 'node:assert/strict';

import { call, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, checkStream, ofType, ownerOf } from '../testing/events.js';
import { isTerminal } from '../testing/peer.js';
import { overEveryWire } from '../testing/wire.js';

/** Calls a tool where the user says `call`, else writes for four seconds. */
const script = ({ context }: { context: { transcript: { at(index: number): { item: object } } } }) => {
  const { item } = context.transcript.at(0);
  return 'content' in item && item.content === 'call' ? turn(call('ls')) : turn(say('x'.repeat(160)));
};
const pace = { decodeTokensPerSecond: 10, deltaTokensMax: 1 };

overEveryWire(
  'on the way out running Responses end, suspended ones are told, and sockets close with 1012 (B100, P14)',
  async (wire) => {
    await using serving = await wire.serve(script, pace);
    const { clock, engine } = serving.lab;
    const peer = await serving.connect();
    const chain = await serving.connect({ design: 'chain' });
    const suspended = await peer.create({ input: 'call' });
    await clock.advance(1000);
    const { sequence_number } = await peer.until('response.done');
    const running = await peer.create({ input: 'write' });
    const chained = await chain.create({ input: 'write' });
    chain.send({ type: 'response.create', event_id: 'queued', model: 'm', input: 'write' });
    await chain.rest();
    await clock.advance(1000);
    await peer.rest();

    const drained = serving.server.drain();
    const told = await peer.until('error');
    assert.deepEqual(
      [told.error.code, told.status, told.response_id, told.sequence_number],
      ['server_shutting_down', 503, suspended, sequence_number],
    );
    const { response } = await peer.until('response.incomplete');
    assert.deepEqual([response.id, response.status], [suspended, 'cancelled']);
    peer.send({ type: 'response.create', event_id: 'late', model: 'm', input: 'call' });
    const late = await peer.until('error');
    assert.deepEqual([late.event_id, late.error.code], ['late', 'server_shutting_down']);
    assert.deepEqual(late.error.headers, { 'retry-after': '1' });
    const upgrade = await serving.refused();
    assert.equal(upgrade.status, 503);
    assert.equal(JSON.parse(upgrade.body).error.code, 'server_shutting_down');
    assert.equal((await serving.exchange('GET', '/readyz')).status, 503);
    assert.equal((await serving.exchange('GET', '/healthz')).status, 200);

    await clock.advance(3000);
    await drained;
    assert.equal((await peer.closed).code, 1012);
    assert.equal((await chain.closed).code, 1012);
    checkStream(peer.received.filter((event) => ownerOf(event) === running));
    checkStream(chain.received.filter((event) => event.type !== 'error'));
    assert.equal(ofType(peer.received, 'response.completed')[0]?.response.id, running);
    assert.equal(ofType(chain.received, 'response.completed')[0]?.response.id, chained);
    const queued = ofType(chain.received, 'error').find(({ event_id }) => event_id === 'queued');
    assert.equal(queued?.error.code, 'server_shutting_down');
    for (const stage of ['pre.validate', 'post.store', 'post.bill'])
      assert.equal(engine.stageRuns[stage]?.runs, 3, stage);
    assert.equal(engine.liveCount, 0);
  },
);

overEveryWire(
  'what has not ended in time is ended, and told if its rollout could have gone on',
  async (wire) => {
    await using serving = await wire.serve(script, { ...pace, limits: { shutdownMsMax: 2000 } });
    const { clock, engine } = serving.lab;
    const peer = await serving.connect();
    const id = await peer.create({ input: 'write' });
    await clock.advance(500);
    let over = false;
    const drained = serving.server.drain().then(() => {
      over = true;
    });
    await clock.advance(1999);
    assert.equal(over, false);
    await clock.advance(1);
    await drained;
    assert.equal((await peer.closed).code, 1012);
    const told = ofType(peer.received, 'error');
    assert.deepEqual(
      told.map(({ error, response_id }) => [error.code, response_id]),
      [['server_shutting_down', id]],
    );
    const last = peer.received.at(-1);
    assert.deepEqual([last?.type, last && ownerOf(last)], ['response.incomplete', id]);
    assert.deepEqual([engine.liveCount, engine.stageRuns['post.bill']?.runs], [0, 1]);
  },
);

overEveryWire('a second call for the end waits for the same end', async (wire) => {
  await using serving = await wire.serve(script, pace);
  const peer = await serving.connect();
  await peer.create({ input: 'write' });
  let ends = 0;
  const both = [serving.server.drain(), serving.server.drain()].map((drained) => drained.then(() => ends++));
  await serving.lab.clock.advance(3000);
  assert.equal(ends, 0);
  await serving.lab.clock.advance(1000);
  await Promise.all(both);
  assert.equal((await peer.closed).code, 1012);
});

overEveryWire(
  'a rollout that reaches its hand-off on the way out is told there, and its append may still win',
  async (wire) => {
    await using serving = await wire.serve([turn(say('x'.repeat(40)), call('ls')), turn(say('done'))], pace);
    const { clock } = serving.lab;
    const peer = await serving.connect();
    const id = await peer.create();
    await clock.advance(500);
    const drained = serving.server.drain();
    const [item] = ofType(await peer.rest(), 'response.output_item.added');
    assert.equal(item?.item.type, 'message');
    await clock.advance(5000);
    await drained;
    const end = peer.received.findLast(isTerminal);
    assert.deepEqual([end?.type, end && ownerOf(end)], ['response.incomplete', id]);
    const [callId] = callIds(peer.received);
    assert.ok(callId);
    assert.deepEqual(
      ofType(peer.received, 'error').filter(({ response_id }) => response_id === id).length,
      1,
    );
  },
);

overEveryWire('an early answer lets a rollout end well on the way out', async (wire) => {
  await using serving = await wire.serve(
    [turn(call('ls', '"a rather long argument"')), turn(say('done'))],
    pace,
  );
  const { clock } = serving.lab;
  const peer = await serving.connect();
  const id = await peer.create();
  await clock.advance(100);
  const { item } = await peer.until('response.output_item.added');
  const drained = serving.server.drain();
  peer.append(id, output('call_id' in item ? (item['call_id'] as string) : '', 'x'));
  await peer.until('response.append.accepted');
  await clock.advance(5000);
  await drained;
  await peer.closed;
  assert.equal(peer.received.at(-1)?.type, 'response.completed');
});
