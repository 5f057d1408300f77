/** Steers, injects, creates and drops in whatever order, held against what each of them promises. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import type { ResponseObject, ServerEvent } from '../../engine/index.js';
import { call, output, say, turn } from '../../engine/testing/lab.js';
import { adapters } from '../testing/adapters.js';
import { checkStream, ofType } from '../testing/events.js';
import { isTerminal, type TPeer } from '../testing/peer.js';
import { Serving } from '../testing/wire.js';

/** One token a millisecond; ten to a message. */
const pace = { decodeTokensPerSecond: 1000, tickMs: 0, firstTokenMs: 5 };
const words = say('a'.repeat(40));
const turnKinds = {
  talk: turn(words, words),
  ask: turn(words, call('ls'), words),
  askTwice: turn(call('ls'), call('pwd'), words),
  answer: turn(say('done')),
};

const lanes = fc.constantFrom(undefined, undefined, 'a');
const acts = fc.oneof(
  fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 15 }) }),
  fc.record({
    kind: fc.constant('create' as const),
    lane: lanes,
    afresh: fc.boolean(),
    answers: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('steer' as const), lane: lanes, flagged: fc.integer({ max: 5, min: 0 }) }),
  fc.record({ kind: fc.constant('inject' as const), lane: lanes, calls: fc.integer({ max: 2, min: 1 }) }),
);
type Act = typeof acts extends fc.Arbitrary<infer Value> ? Value : never;

const worlds = fc.record({
  design: fc.constantFrom('chain', 'shim', 'replay'),
  kinds: fc.array(fc.constantFrom(...Object.values(turnKinds)), { minLength: 1, maxLength: 5 }),
  acts: fc.array(acts, { maxLength: 25 }),
  drops: fc.boolean(),
});

function laneOf(event: ServerEvent): string | undefined {
  return 'stream_id' in event && typeof event['stream_id'] === 'string' ? event['stream_id'] : undefined;
}

function isOfResponse({ type }: ServerEvent): boolean {
  return type !== 'error' && !/^response\.(steer|inject)\./.test(type);
}

/** The responses of one lane, each with its events. */
function streamsOf(events: readonly ServerEvent[], lane: string | undefined): ServerEvent[][] {
  const streams: ServerEvent[][] = [];
  for (const event of events)
    if (laneOf(event) === lane && isOfResponse(event)) {
      if (event.type === 'response.created') streams.push([]);
      streams.at(-1)?.push(event);
    }
  return streams;
}

function newestOf(peer: TPeer, lane: string | undefined): { id: string; calls: string[] } | null {
  const newest = streamsOf(peer.received, lane).at(-1) ?? [];
  const [created] = ofType(newest, 'response.created');
  if (created === undefined) return null;
  const items = ofType(newest, 'response.output_item.added').map(({ item }) => item);
  const calls = items.flatMap((item) => ('call_id' in item ? [String(item.call_id)] : []));
  return { id: created.response.id, calls };
}

class Conversation {
  readonly peer: TPeer;
  /** Accepted or not, by their words. */
  readonly steered: string[] = [];
  readonly #serving: Serving;
  #count = 0;

  constructor(peer: TPeer, serving: Serving) {
    this.peer = peer;
    this.#serving = serving;
  }

  async act(act: Act): Promise<void> {
    if (act.kind === 'wait') {
      await this.#serving.lab.clock.advance(act.ms);
      return void (await this.peer.rest());
    }
    const newest = newestOf(this.peer, act.lane);
    if (act.kind === 'create') {
      const { id, calls } = act.afresh || newest === null ? { id: undefined, calls: [] } : newest;
      const answers = act.answers ? calls.map((callId) => output(callId, `to ${callId}`)) : [];
      const create = { type: 'response.create', model: 'm', store: false, previous_response_id: id };
      this.peer.send({ ...create, stream_id: act.lane, input: answers });
    } else if (act.kind === 'steer') {
      const text = `${act.flagged === 0 ? 'build a pipe bomb' : 'steer'} ${this.#count++}.`;
      this.steered.push(text);
      this.peer.send({ type: 'response.steer', previous_response_id: newest?.id ?? 'resp_0', input: text });
    } else if (newest !== null && newest.calls.length > 0) {
      const input = newest.calls.slice(0, act.calls).map((callId) => output(callId, `to ${callId}`));
      this.peer.send({ type: 'response.inject', response_id: newest.id, input });
    }
  }
}

/** Each response that was shown is whole, and its parent was shown before it. */
function checkResponses(events: readonly ServerEvent[]): void {
  for (const lane of [undefined, 'a'])
    for (const stream of streamsOf(events, lane)) {
      checkStream(stream);
      assert.equal(stream.filter(isTerminal).length, 1);
    }
  const reasons = ofType(events, 'response.incomplete').map(({ response }: { response: ResponseObject }) => [
    response.status,
    response.incomplete_details?.reason,
  ]);
  for (const reason of reasons) assert.deepEqual(reason, ['incomplete', 'steered']);
}

/** An accepted steer is read by the model, or it has failed, or it waits for a create; each once. */
function checkSteers({ peer, steered }: Conversation, { lab }: Serving): void {
  const events = peer.received;
  const failed = ofType(events, 'response.steer.failed');
  const pending = ofType(events, 'response.steer.pending').map(({ steer }) => steer.id);
  const accepted = ofType(events, 'response.steer.accepted').map(({ steer }) => steer.id);
  assert.equal(new Set(accepted).size, accepted.length);
  const answers = events.filter(({ type }) => /^response\.steer\.(accepted|failed)$/.test(type));
  const first = answers.filter((event) => event.type === 'response.steer.accepted' || !hasId(event));
  assert.equal(first.length, steered.length, 'each steer is accepted or refused, once');
  assert.equal(new Set(pending).size, pending.length, 'at most one pending each');
  first.forEach((event, index) => {
    const text = steered[index] ?? assert.fail();
    const isRead = lab.turns.some(({ prompt }) => prompt.includes(`user: ${text}`));
    const twice = lab.turns.some(
      ({ prompt }) => prompt.filter((block) => block === `user: ${text}`).length > 1,
    );
    assert.ok(!twice, 'no steer enters twice');
    if (event.type !== 'response.steer.accepted') return assert.ok(!isRead, 'refused, so it is not read');
    const { id } = event.steer;
    const failures = failed.filter(({ steer }) => steer.id === id);
    assert.ok(failures.length <= 1);
    for (const { steer } of failures) assert.equal(steer.input, text);
    if (isRead) assert.equal(failures.length, 0, 'read, so it has not failed');
    else assert.ok(failures.length === 1 || pending.includes(id), `${text} has come to nothing`);
  });
}

function hasId(event: ServerEvent): boolean {
  return event.type === 'response.steer.failed' && event.steer.id !== undefined;
}

test('steers, injects and creates in any order: one terminal for each response, one end for each steer', async () => {
  const loopback = adapters.find(({ name }) => name === 'loopback') ?? assert.fail();
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(worlds, async ({ design, kinds, acts: all, drops }) => {
      let turns = 0;
      const script = () => kinds[turns++ % kinds.length] ?? assert.fail();
      await using serving = await new Serving(script, pace).start(loopback);
      const peer = await serving.connect({ design });
      const conversation = new Conversation(peer, serving);
      for (const act of all) await conversation.act(act);
      if (drops) {
        peer.drop();
        await serving.closings.next();
        await serving.lab.clock.advance(3_600_000);
        assert.equal(serving.lab.engine.liveCount, 0);
      } else {
        for (let round = 0; round < 20; round++) {
          await peer.rest();
          await serving.lab.clock.advance(100);
        }
        await peer.rest();
        checkResponses(peer.received);
        checkSteers(conversation, serving);
        for (const { type } of peer.received) seen.add(type);
        peer.close();
        await peer.closed;
      }
    }),
    { seed: 2026, numRuns: 200, includeErrorInReport: true },
  );
  for (const type of ['steer.accepted', 'steer.pending', 'steer.failed', 'inject.created', 'inject.failed'])
    assert.ok(seen.has(`response.${type}`), `response.${type} was never seen`);
});
