import assert from 'node:assert/strict';

import { call, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, checkStream, ofType, ownerOf } from '../testing/events.js';
import { isPause, isTerminal } from '../testing/peer.js';
import { overEveryWire } from '../testing/wire.js';

const script = [turn(call('ls')), turn(say('done'))];
const minuteMs = 60_000;

overEveryWire('a suspended Response says in_progress after each 30 s of silence (P15, B96)', async (wire) => {
  await using serving = await wire.serve(script);
  const { clock } = serving.lab;
  await using peer = await serving.connect();
  const id = await peer.create();
  const [callId] = callIds(await peer.through('response.done'));
  await clock.advance(29_999);
  assert.deepEqual(await peer.rest(), []);
  await clock.advance(1);
  const { response } = await peer.until('response.in_progress');
  assert.equal(response.id, id);
  await clock.advance(5 * minuteMs - 30_000);
  assert.equal(ofType(await peer.rest(), 'response.in_progress').length, 9);
  peer.append(id, output(callId, 'x'));
  await peer.until('response.completed');
  checkStream(peer.received.filter((event) => event.type !== 'error'));
});

for (const design of ['append', 'chain', 'replay'])
  overEveryWire(
    `a first token after 330 s is waited for with an event every 30 s, in ${design} (B95)`,
    async (wire) => {
      await using serving = await wire.serve([turn(say('done'))], { firstTokenMs: 330_000 });
      const { clock } = serving.lab;
      await using peer = await serving.connect({ design });
      await peer.create();
      await peer.until('response.in_progress');
      for (let round = 1; round <= 10; round++) {
        await clock.advance(30_000);
        assert.equal((await peer.next()).type, 'response.in_progress');
      }
      await clock.advance(30_000);
      await peer.until('response.completed');
      checkStream(peer.received);
    },
  );

overEveryWire('a Response that speaks needs no keepalive', async (wire) => {
  await using serving = await wire.serve([turn(say('x'.repeat(400)))], {
    decodeTokensPerSecond: 1,
    deltaTokensMax: 1,
  });
  await using peer = await serving.connect();
  await peer.create();
  await serving.lab.clock.advance(100_000);
  await peer.until('response.completed');
  assert.equal(ofType(peer.received, 'response.in_progress').length, 1);
});

overEveryWire('a Response that nobody reads logs no keepalive', async (wire) => {
  await using serving = await wire.serve(script);
  const peer = await serving.connect();
  const id = await peer.create();
  const { sequence_number } = await peer.until('response.done');
  peer.drop();
  await serving.closings.next();
  await serving.lab.clock.advance(5 * minuteMs);
  assert.equal(serving.response(id).lastNumber, sequence_number);
});

overEveryWire(
  'at its age limit a socket gets one error and is closed; its Responses live on (P12, P13)',
  async (wire) => {
    await using serving = await wire.serve(script, {
      firstTokenMs: 1000,
      limits: { suspensionMsMax: Infinity },
    });
    const { clock } = serving.lab;
    const old = await serving.connect();
    const suspended = await old.create();
    await clock.advance(60 * minuteMs - 500);
    await old.through('response.done');
    const sampling = await old.create();
    await old.rest();
    await clock.advance(500);
    const { code } = await old.closed;
    assert.equal(code, 1001);
    const last = old.received.at(-1);
    assert.deepEqual(last, {
      type: 'error',
      status: 400,
      sequence_number: 0,
      error: {
        type: 'invalid_request_error',
        code: 'websocket_connection_limit_reached',
        message: 'This socket has reached its age limit of 60 minutes; open a new one.',
        param: null,
      },
    });
    await using fresh = await serving.connect();
    for (const id of [suspended, sampling]) fresh.attach(id);
    await clock.advance(1000);
    await fresh.until((event) => event.type === 'response.done' && ownerOf(event) === sampling);
    for (const id of [suspended, sampling]) {
      const [callId] = callIds(fresh.received.filter((event) => ownerOf(event) === id));
      fresh.append(id, output(callId, 'x'));
      await fresh.until('response.append.accepted');
      await clock.advance(1000);
      const end = await fresh.until(isTerminal);
      assert.deepEqual([end.type, ownerOf(end)], ['response.completed', id]);
    }
  },
);

overEveryWire(
  'at its age limit a chain socket starts nothing more; what runs ends with it (P13)',
  async (wire) => {
    await using serving = await wire.serve([turn(say('done'))], {
      firstTokenMs: 100 * minuteMs,
      limits: { samplerStepMsMax: Infinity },
    });
    const { clock, engine } = serving.lab;
    const old = await serving.connect({ design: 'chain' });
    const id = await old.create();
    old.send({ type: 'response.create', model: 'm', input: 'queued' });
    await old.rest();
    await clock.advance(60 * minuteMs);
    assert.equal((await old.closed).code, 1001);
    assert.equal(old.received.at(-1)?.type, 'error');
    assert.deepEqual(
      old.received.filter(isPause).length - ofType(old.received, 'error').length,
      0,
      'no terminal',
    );
    assert.deepEqual((await serving.response(id).settled).outcome, {
      status: 'cancelled',
      reason: 'disconnected',
    });
    assert.deepEqual([engine.liveCount, engine.stageRuns['pre.validate']?.runs], [0, 1]);
  },
);

overEveryWire(
  'a silent rollout of a sampler that hangs ends as failed after its time (B60)',
  async (wire) => {
    await using serving = await wire.serve([turn(call('ls')), { items: [], stallAfterTokens: 0 }]);
    await using peer = await serving.connect();
    const id = await peer.create();
    peer.append(id, output(callIds(await peer.through('response.done'))[0], 'x'));
    await peer.until('response.append.accepted');
    await serving.lab.clock.advance(10 * minuteMs);
    const { response } = await peer.until('response.failed');
    assert.equal(response.error?.code, 'server_error');
    await serving.response(id).settled;
    assert.equal(serving.lab.engine.stageRuns['post.bill']?.runs, 1);
  },
);
