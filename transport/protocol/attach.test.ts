import assert from 'node:assert/strict';

import type { ServerEvent } from '../../engine/index.js';
import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { anonymous, callIds, checkStream, numbersOf, ofType, ownerOf } from '../testing/events.js';
import type { TPeer } from '../testing/peer.js';
import { overEveryWire, type Serving, type Wire } from '../testing/wire.js';

const pace = { decodeTokensPerSecond: 10, deltaTokensMax: 1 };
const script = [turn(say('some words before the call'), call('ls')), turn(say('and some words after it'))];

async function finish(serving: Serving, peer: TPeer, id: string, callId: string | undefined): Promise<void> {
  peer.append(id, output(callId, 'bin etc'));
  await peer.until('response.append.accepted');
  await serving.lab.clock.advance(10_000);
  await peer.until('response.completed');
}

async function undisturbed(wire: Wire): Promise<unknown[]> {
  await using serving = await wire.serve(script, pace);
  await using peer = await serving.connect();
  const id = await peer.create();
  await serving.lab.clock.advance(10_000);
  await finish(serving, peer, id, callIds(await peer.through('response.done'))[0]);
  return anonymous(peer.received);
}

/** What a client that came back has of the Response: what it got before, then what the attach brought. */
function joined(id: string, ...peers: readonly TPeer[]): ServerEvent[] {
  return peers
    .flatMap((peer) => peer.received)
    .filter((event) => ownerOf(event) === id && event.type !== 'response.attached' && event.type !== 'error');
}

overEveryWire(
  'a suspended Response outlives its socket: what follows comes on the next one, no more (B23, P81)',
  async (wire) => {
    await using serving = await wire.serve(script, pace);
    const first = await serving.connect();
    const id = await first.create();
    await serving.lab.clock.advance(10_000);
    const before = await first.through('response.done');
    first.drop();
    await serving.closings.next();
    assert.equal(serving.response(id).suspended, true);
    assert.equal(serving.lab.engine.stageRuns['post.bill'], undefined);

    await using second = await serving.connect();
    second.attach(id, before.at(-1)?.sequence_number);
    const attached = await second.until('response.attached');
    assert.equal(attached.sequence_number, before.at(-1)?.sequence_number);
    assert.deepEqual(attached.required_input, ofType(before, 'response.done')[0]?.required_input);
    assert.deepEqual(
      attached.response.output,
      ofType(before, 'response.output_item.done').map(({ item }) => item),
    );
    assert.deepEqual(await second.rest(), []);
    await finish(serving, second, id, callIds(before)[0]);
    const events = joined(id, first, second);
    checkStream(events);
    assert.deepEqual(anonymous(events), await undisturbed(wire));
  },
);

overEveryWire(
  'a turn that is being sampled runs on without a socket, and can be joined in the middle (B55)',
  async (wire) => {
    await using serving = await wire.serve(script, pace);
    const { clock } = serving.lab;
    const first = await serving.connect();
    const id = await first.create();
    await clock.advance(300);
    const { sequence_number: seen } = await first.until('response.output_text.delta');
    first.drop();
    await serving.closings.next();
    await clock.advance(200);
    const known = serving.response(id).lastNumber;
    assert.ok(known > seen, 'it ran on');
    await using second = await serving.connect();
    const got = first.received.filter((event) => ownerOf(event) === id);
    second.attach(id, got.at(-1)?.sequence_number);
    assert.equal((await second.until('response.attached')).sequence_number, known);
    await clock.advance(10_000);
    await second.through('response.done');
    await finish(serving, second, id, callIds(joined(id, second))[0]);
    assert.deepEqual(anonymous(joined(id, first, second)), await undisturbed(wire));
  },
);

overEveryWire(
  'the newest attach owns the Response: the former socket gets one error and no more events (B27)',
  async (wire) => {
    await using serving = await wire.serve(script, pace);
    const { clock } = serving.lab;
    await using first = await serving.connect();
    const id = await first.create();
    await clock.advance(300);
    await using second = await serving.connect();
    second.attach(id);
    await second.until('response.attached');
    const [superseded] = ofType(await first.through('error'), 'error');
    assert.deepEqual(
      [superseded?.error.code, superseded?.response_id, superseded?.sequence_number],
      ['superseded', id, serving.response(id).lastNumber],
    );
    await clock.advance(10_000);
    const [callId] = callIds(await second.through('response.done'));
    first.append(id, output(callId, 'from the wrong socket'));
    first.cancel(id);
    assert.equal((await first.until('response.append.failed')).error.code, 'superseded');
    assert.equal((await first.until('error')).error.code, 'superseded');
    first.drop();
    await serving.closings.next();
    await clock.advance(3_600_000 - 30_000);
    assert.equal(serving.response(id).suspended, true, 'the end of the former socket starts no grace time');
    await finish(serving, second, id, callId);
    const events = joined(id, second).filter(({ type }) => type !== 'response.in_progress');
    assert.deepEqual(
      anonymous(events.map((event) => ({ ...event, sequence_number: 0 }))),
      withoutBeats(await undisturbed(wire)),
    );
    assert.equal(serving.lab.prompt.at(-1), 'tool: bin etc');
  },
);

/** Events without keepalives, and so without numbers. */
function withoutBeats(events: readonly unknown[]): unknown[] {
  return anonymous(
    events.flatMap((event) => {
      const { type } = event as ServerEvent;
      return type === 'response.in_progress' ? [] : [{ ...(event as ServerEvent), sequence_number: 0 }];
    }),
  );
}

overEveryWire(
  'an attach without a cursor begins with created, one with a cursor repeats nothing (B29)',
  async (wire) => {
    await using serving = await wire.serve([turn(say('one')), turn(say('two'))]);
    await using peer = await serving.connect();
    const events = await peer.turn();
    checkStream(events);
    const id = ofType(events, 'response.created')[0]?.response.id ?? '';
    for (const [startingAfter, expected] of [
      [undefined, events],
      [-1, events],
      [0, events.slice(1)],
      [4, events.slice(5)],
      [events.length - 1, []],
    ] as const) {
      peer.attach(id, startingAfter);
      const attached = await peer.until('response.attached');
      assert.deepEqual(attached.response, ofType(events, 'response.completed')[0]?.response);
      assert.deepEqual(await peer.rest(), expected);
    }
  },
);

overEveryWire('what is already answered is not asked for again after a drop (B16)', async (wire) => {
  await using serving = await wire.serve([turn(call('a'), call('b')), turn(say('done'))]);
  const first = await serving.connect();
  const id = await first.create();
  const [a, b] = callIds(await first.through('response.done'));
  first.append(id, output(a, '1'));
  const { sequence_number } = await first.until('response.append.accepted');
  first.drop();
  await using second = await serving.connect();
  second.send({
    type: 'response.attach',
    event_id: 'back',
    response_id: id,
    starting_after: sequence_number,
  });
  const attached = await second.until('response.attached');
  assert.equal(attached.event_id, 'back');
  assert.deepEqual(
    attached.required_input.map(({ call_id }) => call_id),
    [b],
  );
  second.append(id, output(a, '1'));
  assert.deepEqual(
    await second.until('response.append.accepted'),
    first.received.at(-1),
    'a resend after a drop (B5)',
  );
  second.append(id, output(b, '2'));
  await second.until('response.completed');
  assert.deepEqual(serving.lab.prompt.slice(-2), ['tool: 1', 'tool: 2']);
});

overEveryWire(
  'events that are no longer kept are replay_expired, and the state can still be had (B30)',
  async (wire) => {
    await using serving = await wire.serve([turn(say('x'.repeat(800)), call('ls')), turn(say('done'))], {
      decodeTokensPerSecond: 10,
      deltaTokensMax: 1,
      limits: { logBytesMax: 20_000 },
    });
    const first = await serving.connect();
    const id = await first.create();
    await serving.lab.clock.advance(30_000);
    await first.until('response.done');
    first.drop();
    await using second = await serving.connect();
    second.attach(id);
    const refused = await second.until('error');
    assert.deepEqual([refused.status, refused.error.code, refused.response_id], [410, 'replay_expired', id]);
    assert.equal(refused.sequence_number, serving.response(id).lastNumber);
    second.attach(id, refused.sequence_number);
    const { response, required_input } = await second.until('response.attached');
    assert.equal(response.output.length, 2);
    second.append(id, output(required_input[0]?.call_id, 'x'));
    await second.until('response.append.accepted');
    await serving.lab.clock.advance(30_000);
    await second.until('response.completed');
    const events = second.received.slice(2);
    assert.deepEqual(
      numbersOf(events),
      events.map((_, index) => refused.sequence_number + 1 + index),
    );
  },
);

overEveryWire('the limit of Responses on a socket holds for those it attaches to', async (wire) => {
  await using serving = await wire.serve(script, { limits: { socketResponsesMax: 1 } });
  await using first = await serving.connect();
  await using second = await serving.connect();
  const id = await first.create();
  const other = await second.create();
  second.attach(id);
  const refused = await second.until('error');
  assert.deepEqual([refused.error.code, refused.response_id], ['rate_limit_exceeded', id]);
  second.attach(other);
  await second.until('response.attached');
  assert.deepEqual(ofType(await first.rest(), 'error'), []);
});

overEveryWire('a message of the user can follow on a socket that attached after a warm-up', async (wire) => {
  await using serving = await wire.serve([turn(say('hello'))]);
  const first = await serving.connect();
  const id = await first.create({ generate: false });
  await first.until('response.done');
  first.drop();
  await using second = await serving.connect();
  second.attach(id);
  await second.until('response.done');
  second.append(id, message('go'));
  await second.until('response.completed');
});
