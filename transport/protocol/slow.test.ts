import assert from 'node:assert/strict';

import type { Script } from '../../engine/samplers/script.js';
import { call, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, checkStream, ofType } from '../testing/events.js';
import { overEveryWire, type Serving } from '../testing/wire.js';

const KiB = 1024;
const pieceBytes = 30 * KiB;

/** Writes `pieces` deltas of 30 KiB, one in 10 ms, then calls a tool; a second turn ends it. */
function floods(pieces: number): Script {
  const piece = Buffer.alloc(pieceBytes, 'x');
  const text = Array.from({ length: pieces }, () => piece);
  const tokens = new Uint32Array(pieces); // One for each piece, so that nothing has to be counted.
  return ({ context }) => {
    const asked = context.transcript.at(0).item;
    if ('content' in asked && asked.content === 'short') return turn(say('short'));
    return context.transcript.turns === 0
      ? turn({ type: 'message', text, tokens }, call('ls'))
      : turn(say('done'));
  };
}
const pace = { decodeTokensPerSecond: 100, deltaTokensMax: 1 };

function bytesSent(serving: Serving): number {
  return serving.server.host.traffic.charactersOut;
}

/** What of a stream a socket may cost: its own bound, what one write adds, and the buffers of the two kernels. */
function bytesMax(wire: string): number {
  return wire === 'loopback' ? 1024 * KiB + 2 * pieceBytes : 8 * 1024 * KiB;
}

overEveryWire(
  'a client that stops reading is sent no more than its buffer takes, then closed with 1013 (B93, P80)',
  async (wire) => {
    await using serving = await wire.serve(floods(400), pace);
    const { clock } = serving.lab;
    const slow = await serving.connect();
    await using other = await serving.connect();
    const id = await slow.create();
    slow.pause();
    await clock.advance(5000);
    other.send({ type: 'response.create', model: 'm', input: 'short' });
    await other.until('response.created');
    await clock.advance(5000);
    await other.until('response.completed');
    assert.equal(serving.response(id).suspended, true, 'a slow client does not slow the model');
    assert.ok(bytesSent(serving) < bytesMax(wire.name), `${bytesSent(serving)} bytes of 12 MB were sent`);
    assert.ok(serving.response(id).logBytes <= 4 * 1024 * KiB);
    assert.equal(serving.server.host.sessions.size, 2);
    await clock.advance(60_000);
    assert.equal(serving.server.host.sessions.size, 1);
    slow.resume();
    const { code, reason } = await slow.closed;
    assert.deepEqual([code, reason], [1013, 'the client reads too slowly']);

    other.attach(id, slow.received.at(-1)?.sequence_number);
    const refused = await other.until('error');
    assert.equal(refused.error.code, 'replay_expired');
    other.attach(id, refused.sequence_number);
    const { required_input } = await other.until('response.attached');
    other.append(id, output(required_input[0]?.call_id, 'x'));
    await other.until('response.append.accepted');
    await clock.advance(1000);
    await other.until('response.completed');
  },
);

overEveryWire('a client that reads again in time has missed nothing (B93)', async (wire) => {
  await using serving = await wire.serve(floods(100), { ...pace, limits: { logBytesMax: 64 * 1024 * KiB } });
  const { clock } = serving.lab;
  await using slow = await serving.connect();
  const id = await slow.create();
  slow.pause();
  await clock.advance(10_000);
  assert.equal(serving.response(id).suspended, true);
  if (wire.name === 'loopback') assert.ok(bytesSent(serving) < bytesMax(wire.name));
  slow.resume();
  const [callId] = callIds(await slow.through('response.done'));
  slow.append(id, output(callId, 'x'));
  await slow.until('response.append.accepted');
  await clock.advance(1000);
  await slow.until('response.completed');
  checkStream(slow.received);
  assert.ok(slow.bytesReceived > 100 * pieceBytes);
});

overEveryWire(
  'a client whose place in the log is gone is closed with 1013 as it reads again (B93)',
  async (wire) => {
    await using serving = await wire.serve(floods(400), pace);
    const { clock } = serving.lab;
    const slow = await serving.connect();
    const id = await slow.create();
    slow.pause();
    await clock.advance(20_000);
    assert.equal(serving.server.host.sessions.size, 1);
    slow.resume();
    assert.equal((await slow.closed).code, 1013);
    assert.equal(serving.response(id).suspended, true);
    const numbers = slow.received.map(({ sequence_number }) => sequence_number);
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index),
      'what came is a start of the log, without a gap',
    );
  },
);

overEveryWire('refusals that nobody reads are bounded too', async (wire) => {
  await using serving = await wire.serve(floods(400), pace);
  const { clock } = serving.lab;
  const slow = await serving.connect();
  await slow.create();
  slow.pause();
  await clock.advance(10_000);
  const sent = bytesSent(serving);
  for (let index = 0; index < 100; index++) slow.append('resp_x', 'y'.repeat(200 * KiB));
  await serving.closings.next();
  assert.ok(bytesSent(serving) - sent < 8 * 1024 * KiB, 'the given-back inputs were not piled up');
  slow.resume();
  assert.equal((await slow.closed).code, 1013);
});

overEveryWire('one write reads no more of many logs than the buffer takes', async (wire) => {
  await using serving = await wire.serve(floods(10), { ...pace, limits: { logBytesMax: 64 * 1024 * KiB } });
  const first = await serving.connect();
  const ids: string[] = [];
  for (let index = 0; index < 20; index++) ids.push(await first.create());
  await serving.lab.clock.advance(1000);
  first.drop();
  await serving.closings.next();
  await using slow = await serving.connect();
  await slow.rest();
  slow.pause();
  const sent = bytesSent(serving);
  for (const id of ids) slow.attach(id);
  await serving.lab.clock.advance(1000);
  if (wire.name === 'loopback') assert.ok(bytesSent(serving) - sent < 2048 * KiB);
  slow.resume();
  for (const _ of ids) await slow.until('response.done');
  assert.equal(ofType(slow.received, 'response.output_item.added').length, 40);
});
