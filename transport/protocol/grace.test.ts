import assert from 'node:assert/strict';

import { call, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, checkStream, ofType } from '../testing/events.js';
import { overEveryWire } from '../testing/wire.js';

const script = [turn(call('ls')), turn(say('done'))];
const minuteMs = 60_000;

overEveryWire(
  'after the grace time without a socket a Response ends, and can still be continued (B23)',
  async (wire) => {
    await using serving = await wire.serve(script);
    const { clock, engine } = serving.lab;
    const first = await serving.connect();
    const id = await first.create();
    await first.until('response.done');
    first.drop();
    await serving.closings.next();
    const response = serving.response(id);
    await clock.advance(10 * minuteMs - 1);
    assert.equal(response.suspended, true);
    await clock.advance(1);
    assert.deepEqual((await response.settled).outcome, { status: 'cancelled', reason: 'disconnected' });
    assert.equal(engine.stageRuns['post.bill']?.runs, 1);
    assert.equal(engine.liveCount, 0);
    await using second = await serving.connect();
    second.attach(id);
    const { response: ended } = await second.until('response.incomplete');
    assert.deepEqual([ended.status, ended.incomplete_details], ['cancelled', { reason: 'disconnected' }]);
    second.append(id, output('call_1', 'late'));
    assert.equal((await second.until('response.append.failed')).error.code, 'response_already_completed');
    const events = await second.turn({ previous_response_id: id, input: 'hello' });
    assert.equal(events.at(-1)?.type, 'response.completed');
  },
);

overEveryWire('an attach stops the grace time, and the next drop starts it anew', async (wire) => {
  await using serving = await wire.serve(script);
  const { clock } = serving.lab;
  const first = await serving.connect();
  const id = await first.create();
  const [callId] = callIds(await first.through('response.done'));
  let former = first;
  for (let round = 0; round < 4; round++) {
    former.drop();
    await serving.closings.next();
    await clock.advance(9 * minuteMs);
    former = await serving.connect();
    former.attach(id);
    await former.until('response.attached');
    await clock.advance(5 * minuteMs);
  }
  former.append(id, output(callId, 'x'));
  await former.until('response.completed');
  former.close();
});

overEveryWire(
  'without a grace time a Response ends with its socket, in the middle of a word too (P81, B110)',
  async (wire) => {
    await using serving = await wire.serve([turn(say('x'.repeat(4000)))], {
      decodeTokensPerSecond: 10,
      limits: { graceMsMax: 0 },
    });
    const { clock, engine, model } = serving.lab;
    const peer = await serving.connect();
    const id = await peer.create();
    await clock.advance(1000);
    await peer.until('response.output_text.delta');
    peer.drop();
    await serving.closings.next();
    const { outcome } = await serving.response(id).settled;
    assert.deepEqual(outcome, { status: 'cancelled', reason: 'disconnected' });
    assert.deepEqual([model.stats.aborted, model.stats.released, engine.liveCount], [1, 1, 0]);
    assert.equal(engine.stageRuns['post.bill']?.runs, 1);
  },
);

overEveryWire(
  'without a grace time a Response that is read at length before its first token ends too (B110)',
  async (wire) => {
    await using serving = await wire.serve(script, { firstTokenMs: 30_000, limits: { graceMsMax: 0 } });
    const peer = await serving.connect();
    const id = await peer.create();
    peer.drop();
    await serving.closings.next();
    await serving.response(id).settled;
    assert.deepEqual([serving.lab.model.stats.aborted, serving.lab.engine.liveCount], [1, 0]);
  },
);

overEveryWire(
  'a suspension of twenty minutes on an open socket is nothing special (B24, B96)',
  async (wire) => {
    await using serving = await wire.serve(script);
    await using peer = await serving.connect();
    const id = await peer.create();
    const [callId] = callIds(await peer.through('response.done'));
    await serving.lab.clock.advance(20 * minuteMs);
    peer.append(id, output(callId, 'x'));
    await peer.until('response.completed');
    checkStream(peer.received);
  },
);

overEveryWire(
  'a suspension ends after its time, with a reason and one run of the post stages (P82)',
  async (wire) => {
    await using serving = await wire.serve(script, { limits: { socketAgeMsMax: Infinity } });
    await using peer = await serving.connect();
    const id = await peer.create();
    await peer.until('response.done');
    await serving.lab.clock.advance(60 * minuteMs);
    const { response } = await peer.until('response.incomplete');
    assert.deepEqual(
      [response.status, response.incomplete_details],
      ['incomplete', { reason: 'suspension_expired' }],
    );
    await serving.response(id).settled;
    assert.equal(serving.lab.engine.stageRuns['post.store']?.runs, 1);
    assert.deepEqual(ofType(await peer.rest(), 'error'), []);
  },
);
