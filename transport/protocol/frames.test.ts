import assert from 'node:assert/strict';

import type { ServerEvent } from '../../engine/index.js';
import { call, output, say, turn } from '../../engine/testing/lab.js';
import { anonymous, callIds, checkStream, ofType, ownerOf } from '../testing/events.js';
import type { TPeer } from '../testing/peer.js';
import { overEveryWire, type Serving, type Wire } from '../testing/wire.js';

/** `levels` objects and arrays around a number, the frame's own included. */
function nested(levels: number): string {
  return `{"type":"response.append","response_id":"resp_x","input":${'['.repeat(levels - 1)}7${']'.repeat(levels - 1)}}`;
}

/** Frames that cannot be read, and the code and param of the one error that answers each. */
const unreadable: readonly (readonly [frame: string, code: string, param: string | null])[] = [
  [']', 'invalid_json', null],
  ['{', 'invalid_json', null],
  ['', 'invalid_json', null],
  ['{"type":"response.create",}', 'invalid_json', null],
  ['null', 'invalid_frame', null],
  ['"hi"', 'invalid_frame', null],
  ['7', 'invalid_frame', null],
  ['[]', 'invalid_frame', null],
  ['[{"type":"response.create"}]', 'invalid_frame', null],
  ['{}', 'invalid_frame', 'type'],
  ['{"type":null}', 'invalid_frame', 'type'],
  ['{"type":"__proto__"}', 'unknown_event_type', 'type'],
  ['{"type":"constructor"}', 'unknown_event_type', 'type'],
  ['{"type":"response.create ","model":"m"}', 'unknown_event_type', 'type'],
  ['{"type":"\\ud800"}', 'unknown_event_type', 'type'],
  [nested(65), 'invalid_json', null],
  [nested(200_000), 'invalid_json', null],
  ['['.repeat(200_000), 'invalid_json', null],
];

const pace = { decodeTokensPerSecond: 10, deltaTokensMax: 1 };
const script = [
  turn(say('a text of some length, to be written slowly'), call('ls')),
  turn(say('and this one is no shorter')),
];

/** Plays a rollout of two turns, with something else going on while each is written; gives its events. */
async function play(
  serving: Serving,
  peer: TPeer,
  meanwhile: (peer: TPeer) => Promise<void>,
): Promise<ServerEvent[]> {
  const { clock } = serving.lab;
  const own = (event: ServerEvent) => ownerOf(event) === id;
  const id = await peer.create();
  await clock.advance(500);
  await meanwhile(peer);
  await clock.advance(10_000);
  await peer.until('response.done');
  await meanwhile(peer);
  peer.append(id, output(callIds(peer.received.filter(own))[0], 'bin etc'));
  await peer.until((event) => own(event) && event.type === 'response.append.accepted');
  await meanwhile(peer);
  await clock.advance(10_000);
  await peer.until('response.completed');
  return peer.received.filter(own);
}

async function undisturbed(wire: Wire): Promise<ServerEvent[]> {
  await using serving = await wire.serve(script, pace);
  await using peer = await serving.connect();
  const events = await play(serving, peer, async () => undefined);
  checkStream(events);
  return events;
}

overEveryWire('frames that cannot be read get one error each and disturb nothing (B68, P9)', async (wire) => {
  await using serving = await wire.serve(script, pace);
  await using peer = await serving.connect();
  const events = await play(serving, peer, async () => {
    for (const [frame, code, param] of unreadable) {
      peer.sendText(frame);
      const { status, error } = await peer.until('error');
      assert.deepEqual([status, error.code, error.param], [400, code, param], frame.slice(0, 80));
    }
    peer.sendBinary();
    assert.equal((await peer.until('error')).error.code, 'invalid_frame');
  });
  assert.equal(ofType(peer.received, 'error').length, 3 * (unreadable.length + 1), 'one error each, no more');
  assert.deepEqual(anonymous(events), anonymous(await undisturbed(wire)));
});

overEveryWire('a storm on one socket leaves a rollout on another as it is (B68)', async (wire) => {
  await using serving = await wire.serve(script, pace);
  await using peer = await serving.connect();
  await using storm = await serving.connect();
  const events = await play(serving, peer, async () => {
    for (const [frame] of unreadable) storm.sendText(frame);
    storm.sendBinary(new Uint8Array(70_000));
    await storm.rest();
  });
  assert.deepEqual(anonymous(events), anonymous(await undisturbed(wire)));
});

overEveryWire('a frame of 64 levels is read', async (wire) => {
  await using serving = await wire.serve(script);
  await using peer = await serving.connect();
  peer.sendText(nested(64));
  const { error } = await peer.until('response.append.failed');
  assert.equal(error.code, 'response_not_found');
});

overEveryWire(
  'a frame over the limit closes its socket with 1009, which names the limit (B66, P14)',
  async (wire) => {
    const limit = 65_536;
    await using serving = await wire.serve(script, { limits: { frameBytesMax: limit }, ...pace });
    const { clock } = serving.lab;
    await using other = await serving.connect();
    const otherId = await other.create();
    const peer = await serving.connect();
    const id = await peer.create();
    await clock.advance(10_000);
    const [callId] = callIds(await peer.through('response.done'));
    const sized = (bytes: number): string => {
      const append = { type: 'response.append', response_id: id, input: [output('call_nope', '')] };
      const bare = JSON.stringify(append);
      return bare.replace('"output":""', `"output":"${'x'.repeat(bytes - bare.length)}"`);
    };
    for (const bytes of [limit - 1, limit]) {
      peer.sendText(sized(bytes));
      assert.equal((await peer.until('response.append.failed')).error.code, 'unknown_call_id');
    }
    peer.sendText(sized(limit + 1));
    const { code, reason } = await peer.closed;
    assert.equal(code, 1009);
    assert.match(reason, /65536/);
    assert.equal(serving.response(id).suspended, true);

    await using again = await serving.connect();
    again.attach(id);
    await again.until('response.done');
    again.append(id, output(callId, 'smaller'));
    await again.until('response.append.accepted');
    other.append(otherId, output(callIds(other.received)[0], 'x'));
    await clock.advance(10_000);
    await again.until('response.completed');
    await other.until('response.completed');
    checkStream(other.received);
  },
);

overEveryWire('a text with every kind of character comes through as it was sent (P3)', async (wire) => {
  const text = 'é 🦊 \u2028 \u0000 "quoted" \\ \r\n <|endoftext|> \ud83e';
  await using serving = await wire.serve([turn(say(text))]);
  await using peer = await serving.connect();
  const events = await peer.turn({ input: text, metadata: { text } });
  checkStream(events);
  const [done] = ofType(events, 'response.output_text.done');
  assert.equal(done?.text, text);
  assert.equal(ofType(events, 'response.created')[0]?.response.metadata['text'], text);
});

overEveryWire(
  'a character cut by two deltas comes whole, one that never ends as one mark (B72)',
  async (wire) => {
    const bytes = (...values: number[]) => Uint8Array.from(values);
    const fox = [bytes(0xf0, 0x9f), bytes(0xa6, 0x8a), bytes(0x20, 0x6f, 0x6b)];
    for (const [text, expected] of [
      [fox, '🦊 ok'],
      [fox.slice(0, 1), '\ufffd'],
    ] as const) {
      await using serving = await wire.serve([turn({ type: 'message', text })]);
      await using peer = await serving.connect();
      const events = await peer.turn();
      checkStream(events);
      assert.equal(ofType(events, 'response.output_text.done')[0]?.text, expected);
    }
  },
);
