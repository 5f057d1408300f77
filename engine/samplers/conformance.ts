/**
 * The conformance kit for samplers: proves that a sampler keeps C1 to C5. Call it inside a test of your own; it throws
 * an `AssertionError` that says what was broken, and needs no test runner.
 *
 * What it asks of one turn's events: `prefill` first and once, and held and read add up to the context (C3); each item
 * announced once, under a key of its own, before its content, and ended after it, unless the turn was cut (C2). Parts
 * and annotations stand in items that have such, and only reasoning ends with `encrypted_content` (C5). An opaque item
 * comes whole with its announcement. `usage` counts no less reasoning than none and no more than output. `cut` is the
 * last event.
 */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';

import type { Item } from '../protocol/items.js';
import { createRequestSchema } from '../protocol/requests.js';
import { Transcript, type Entry } from '../transcript.js';
import type {
  PartKind,
  SampledStart,
  Sampler,
  SamplerEvent,
  SamplerOpening,
  SamplerSession,
  TurnRequest,
} from './sampler.js';

/** What the sampler is tried on. */
export interface SamplerTrial {
  /** Default: a request of one user message and no tools. */
  readonly opening?: SamplerOpening;
  /** Default: one user message, nothing demanded, nothing bounded. */
  readonly turn?: TurnRequest;
  /** Awaits one step; on the virtual clock, `(step) => clock.runUntil(step)`. Default: just awaits it. */
  readonly drive?: <T>(step: Promise<T>) => Promise<T>;
}

const userMessage: Item = { type: 'message', role: 'user', content: 'Say something, then stop.' };
const preamble = Uint32Array.from({ length: 16 }, (_, index) => index);

function turnRequest(turn: number, transcript: Transcript): TurnRequest {
  return {
    turn,
    context: { preamble, transcript, tokens: preamble.length + transcript.tokens },
    toolChoice: 'auto',
    parallelToolCalls: true,
    outputTokensMax: Infinity,
  };
}

const defaultTrial: Required<SamplerTrial> = {
  opening: {
    conversation: 'conformance',
    request: createRequestSchema.parse({ model: 'conformance', input: [userMessage] }),
  },
  turn: turnRequest(1, Transcript.empty.extend([{ item: userMessage, tokens: new Uint32Array(8) }])),
  drive: (step) => step,
};

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0;
}

/** Kinds of part of an item; deltas without a part begin the first. */
function partKinds(type: SampledStart['type']): readonly PartKind[] {
  if (type === 'message') return ['text', 'refusal'];
  return type === 'reasoning' ? ['summary', 'reasoning_text'] : [];
}

interface OpenItem {
  readonly type: SampledStart['type'];
  part: PartKind | undefined;
}

/** The items of a turn, by key. */
class TurnCheck {
  readonly #open = new Map<number, OpenItem>();
  readonly #seen = new Set<number>();
  tokens = 0;

  accept(event: SamplerEvent): void {
    switch (event.type) {
      case 'prefill':
        return assert.fail('C3: prefill comes once');
      case 'item':
        assert.ok(!this.#seen.has(event.key), `C2: key ${event.key} was used before`);
        this.#seen.add(event.key);
        if (event.start.type !== 'opaque')
          this.#open.set(event.key, { type: event.start.type, part: partKinds(event.start.type)[0] });
        if ('name' in event.start) assert.notEqual(event.start.name, '', 'a call has a name');
        return;
      case 'delta':
        this.#item(event.key, 'a delta');
        assert.ok(isCount(event.tokens), `a delta of ${event.tokens} tokens`);
        this.tokens += event.tokens;
        return;
      case 'part': {
        const item = this.#item(event.key, 'a part');
        assert.ok(partKinds(item.type).includes(event.part), `C5: a ${event.part} part of a ${item.type}`);
        item.part = event.part;
        return;
      }
      case 'annotation':
        assert.equal(this.#item(event.key, 'an annotation').part, 'text', 'C5: a text part is annotated');
        return;
      case 'item_end':
        if (this.#item(event.key, 'the end').type !== 'reasoning')
          assert.equal(event.encrypted_content, undefined, 'C5: only reasoning has encrypted content');
        this.#open.delete(event.key);
        return;
      case 'usage':
        assert.ok([event.held, event.output, event.reasoning].every(isCount), 'usage is in whole tokens');
        assert.ok(event.reasoning <= event.output, 'reasoning is part of the output');
        this.tokens = event.output;
        return;
      case 'cut':
        this.#open.clear();
    }
  }

  #item(key: number, what: string): OpenItem {
    return this.#open.get(key) ?? assert.fail(`C2: ${what} of item ${key}, which is not open`);
  }

  finish(): void {
    assert.deepEqual([...this.#open.keys()], [], 'C2: every item ends, unless the turn is cut');
  }
}

/** Checks all events of one turn that was sampled to its end. */
export function checkTurnEvents(events: readonly SamplerEvent[], turn: TurnRequest): void {
  const [prefill, ...rest] = events;
  assert.ok(prefill?.type === 'prefill', 'C3: prefill comes first');
  assert.ok(isCount(prefill.held) && isCount(prefill.read), 'C3: held and read are whole tokens');
  assert.equal(prefill.held + prefill.read, turn.context.tokens, 'C3: held and read are the whole context');
  const check = new TurnCheck();
  for (const [index, event] of rest.entries()) {
    check.accept(event);
    if (event.type === 'cut') assert.equal(index, rest.length - 1, 'cut is the last event');
  }
  check.finish();
  assert.ok(check.tokens <= turn.outputTokensMax, `${check.tokens} tokens of ${turn.outputTokensMax}`);
}

/** The turn after: what was sampled, as any items, and a new message of the client. */
function turnAfter(turn: TurnRequest, events: readonly SamplerEvent[]): TurnRequest {
  const entries: Entry[] = [{ item: userMessage, tokens: new Uint32Array(8) }];
  const tokens = events.reduce((sum, event) => sum + (event.type === 'delta' ? event.tokens : 0), 0);
  const said: Item = { type: 'message', role: 'assistant', content: '' };
  if (events.some(({ type }) => type === 'item'))
    entries.unshift({ item: said, tokens: new Uint32Array(tokens) });
  const transcript = turn.context.transcript.extend(entries);
  return {
    ...turn,
    turn: turn.turn + 1,
    context: {
      ...turn.context,
      transcript,
      tokens: turn.context.preamble.length + transcript.tokens,
    },
  };
}

function assertNothingLeft(signal: AbortSignal): void {
  assert.equal(getEventListeners(signal, 'abort').length, 0, 'a listener was left on the signal');
}

type Drive = Required<SamplerTrial>['drive'];

async function sampleAll(session: SamplerSession, turn: TurnRequest, drive: Drive): Promise<SamplerEvent[]> {
  const { signal } = new AbortController();
  const steps = session.sample(turn, signal)[Symbol.asyncIterator]();
  const events: SamplerEvent[] = [];
  for (let step = await drive(steps.next()); !step.done; step = await drive(steps.next()))
    events.push(step.value);
  assertNothingLeft(signal);
  return events;
}

/** C1: after an abort one more event may come; then the turn returns, or throws the signal's reason and nothing else. */
async function checkAbort(
  session: SamplerSession,
  turn: TurnRequest,
  drive: Drive,
  after: number,
): Promise<void> {
  const controller = new AbortController();
  const { signal } = controller;
  const reason = new Error('the conformance kit aborts');
  const steps = session.sample(turn, signal)[Symbol.asyncIterator]();
  for (let count = 0; count < after; count++) await drive(steps.next());
  // Asked for before the abort, so a step that waits has to end its wait.
  const pending = steps.next();
  controller.abort(reason);
  try {
    const step = await drive(pending);
    const ended = step.done ?? false;
    assert.ok(ended || (await drive(steps.next())).done, `C1: still sampling, aborted after event ${after}`);
  } catch (fault) {
    if (fault instanceof assert.AssertionError) throw fault;
    assert.equal(fault, reason, 'C1: an aborted turn throws the reason of its signal');
  }
  assertNothingLeft(signal);
}

/** A reader may leave early. */
async function checkLeaving(session: SamplerSession, turn: TurnRequest, drive: Drive): Promise<void> {
  const { signal } = new AbortController();
  const steps = session.sample(turn, signal)[Symbol.asyncIterator]();
  await drive(steps.next());
  if (steps.return !== undefined) await drive(steps.return());
  assertNothingLeft(signal);
}

/**
 * Proves a sampler. `makeSampler` is called for each part of the proof and must give a sampler that says the same each
 * time. Samples about as many turns as a turn has events (32 at most are aborted). A sampler that never ends a step
 * makes it wait for ever, which the test's own timeout shows.
 */
export async function checkSampler(makeSampler: () => Sampler, trial: SamplerTrial = {}): Promise<void> {
  const { opening, turn, drive } = { ...defaultTrial, ...trial };
  const inSession = async (act: (session: SamplerSession) => Promise<void>) => {
    const session = makeSampler().open(opening);
    try {
      await act(session);
    } finally {
      session.release();
    }
  };
  const { contextTokensMax } = makeSampler();
  assert.ok(contextTokensMax > 0, 'contextTokensMax is a number of tokens');
  let events: SamplerEvent[] = [];
  await inSession(async (session) => {
    events = await sampleAll(session, turn, drive);
    checkTurnEvents(events, turn);
    session.suspend();
    const next = turnAfter(turn, events);
    checkTurnEvents(await sampleAll(session, next, drive), next);
  });
  await inSession(async (session) => {
    const short = { ...turn, outputTokensMax: 1 };
    checkTurnEvents(await sampleAll(session, short, drive), short);
  });
  for (let after = 0; after < Math.min(events.length, 32); after++)
    await inSession((session) => checkAbort(session, turn, drive, after));
  await inSession((session) => checkLeaving(session, turn, drive));
}
