/**
 * The scripted sampler: says what a script says, at a given speed. Embedders test with it, and benchmark scenarios use
 * it as a model whose every token has a known time.
 *
 *   Z1  Tokens are due by a schedule (`dueMs`) counted from the turn's start, so lateness never adds up. The first
 *       token of a turn and the last of an item are told when they are due; those between are gathered for `tickMs`.
 *   Z2  Where nothing is due later than now, nothing is awaited but the reader: no timer is set.
 *   Z3  An aborted turn ends by throwing the signal's reason, before it tells anything more (C1).
 */
import type { Clock } from '../ports.js';
import { obey } from './choice.js';
import { KeptContexts } from './kept.js';
import { Playback } from './playback.js';
import type { Sampler, SamplerEvent, SamplerOpening, SamplerSession, TurnRequest } from './sampler.js';
import { dueMs, scriptTurn, type Pace, type Script, type ScriptTurn } from './script.js';

export {
  dueMs,
  type Pace,
  type Script,
  type ScriptItem,
  type ScriptPart,
  type ScriptTurn,
} from './script.js';

export interface SessionPolicy {
  /** Whose the model's state is between turns: nobody's, or the conversation's. Default per-turn. */
  readonly policy: 'per-turn' | 'per-conversation';
  /** How long a conversation's state is kept after a suspension or release. Default `Infinity`. */
  readonly ttlMs?: number;
  /** Conversations whose state is kept; the one used longest ago goes first. Default 100,000. */
  readonly conversationsMax?: number;
}

/** What it takes to get a place among the turns that a model is working on, before anything of the turn is read. */
export interface AdmissionPolicy {
  /** A turn that has to get one, in ms. */
  readonly admitMs: number;
  /** A turn that finds its place held since the turn before, in ms. */
  readonly resumeMs: number;
  /**
   * Whose a place is between turns: nobody's; the session's, which lives as long as its Response; or the conversation's, as
   * long as its state is kept.
   */
  readonly held: 'per-turn' | 'per-response' | 'per-conversation';
}

export interface ScriptedOptions extends Pace {
  readonly script: Script;
  readonly clock: Clock;
  /** Tokens due within this time of the last delta are gathered into the next one. Default 4. */
  readonly tickMs?: number;
  /** Tokens in one delta at most, byte pieces apart. Default `Infinity`. */
  readonly deltaTokensMax?: number;
  readonly session?: SessionPolicy;
  /** Default: a place takes no time. */
  readonly admission?: AdmissionPolicy;
  /** Default 400,000. */
  readonly contextTokensMax?: number;
}

/** Counts over the sampler's life. */
export interface ScriptedStats {
  /** Sessions. */
  readonly opened: number;
  readonly released: number;
  /** Turns begun, and those that ended because their signal aborted. */
  readonly turns: number;
  readonly aborted: number;
  readonly suspended: number;
  /** Context tokens of all turns that were held, and that were read. */
  readonly heldTokens: number;
  readonly readTokens: number;
}

export interface ScriptedSampler extends Sampler {
  readonly stats: ScriptedStats;
}

type Tally = { -readonly [Name in keyof ScriptedStats]: ScriptedStats[Name] };

/** What the sessions of one sampler share. */
interface Shared {
  readonly options: ScriptedOptions;
  /** Null where every turn reads its whole context. */
  readonly kept: KeptContexts | null;
  readonly stats: Tally;
}

/** When the tokens of a turn are due, on the clock. */
type DueAt = (k: number) => number;

/** When the next delta is due (Z1). */
function wakeAt(playback: Playback, dueAt: DueAt, toldAt: number, tickMs: number): number {
  const next = Math.max(dueAt(playback.told), toldAt + tickMs);
  return Math.min(next, dueAt(Math.max(playback.nextEnd - 1, 0)));
}

/** How many tokens are due by `now`: at least those told, at most the limit. */
function dueBy(now: number, dueAt: DueAt, { told, limit }: Playback): number {
  if (dueAt(limit - 1) <= now) return limit;
  let due = told;
  let notDue = limit;
  while (notDue - due > 1) {
    const middle = (due + notDue) >> 1;
    if (dueAt(middle - 1) <= now) due = middle;
    else notDue = middle;
  }
  return due;
}

/** Tokens after which the script ends the turn in its own way, if it does. */
function endTokens({ failAfterTokens, stallAfterTokens, filterAfterTokens }: ScriptTurn): number {
  const ends = [failAfterTokens?.tokens, stallAfterTokens, filterAfterTokens];
  return Math.min(...ends.map((tokens) => tokens ?? Infinity));
}

/** How a turn ends when all is told that may be. */
function endOf(
  turn: TurnRequest,
  planned: ScriptTurn,
  { tokens }: Playback,
): 'done' | 'cut' | 'filter' | 'fault' | 'stall' {
  const first = endTokens(planned);
  if (turn.outputTokensMax < Math.min(tokens, first)) return 'cut';
  if (planned.failAfterTokens?.tokens === first) return 'fault';
  if (planned.stallAfterTokens === first) return 'stall';
  return planned.filterAfterTokens === undefined ? 'done' : 'filter';
}

class ScriptedSession implements SamplerSession {
  readonly #shared: Shared;
  readonly #opening: SamplerOpening;
  /** Names what is kept: a model holds nothing of what another has read. */
  readonly #keptAs: string;
  #released = false;
  #turns = 0;

  constructor(shared: Shared, opening: SamplerOpening) {
    this.#shared = shared;
    this.#opening = opening;
    this.#keptAs = `${opening.request.model}/${opening.conversation}`;
    shared.stats.opened++;
  }

  async *sample(turn: TurnRequest, signal: AbortSignal): AsyncGenerator<SamplerEvent, void> {
    if (this.#released) throw new Error('a released session was sampled');
    const { options, kept, stats } = this.#shared;
    const { clock, tickMs = 4 } = options;
    stats.turns++;
    try {
      signal.throwIfAborted();
      const startedAt = clock.now();
      const planned = scriptTurn(options.script, turn, this.#opening);
      const playback = this.#playback(turn, planned);
      const prefill = this.#prefill(turn);
      const readFrom = startedAt + this.#admissionMs(prefill.held);
      const dueAt: DueAt = (k) => readFrom + dueMs(k, options, prefill.read);
      this.#turns++;
      yield prefill;
      signal.throwIfAborted();
      await this.#until(dueAt(0), signal);
      kept?.keep(this.#keptAs, turn.context);
      let toldAt = -Infinity;
      do {
        const wake = wakeAt(playback, dueAt, toldAt, tickMs);
        if (wake > clock.now()) await this.#until(wake, signal);
        toldAt = clock.now();
        for (const event of playback.take(dueBy(toldAt, dueAt, playback))) {
          yield event;
          signal.throwIfAborted();
        }
      } while (!playback.done);
      const end = endOf(turn, planned, playback);
      if (end === 'fault') throw planned.failAfterTokens?.fault;
      if (end === 'stall') await clock.sleep(Infinity, signal);
      if (planned.usage !== undefined) yield { type: 'usage', ...planned.usage };
      signal.throwIfAborted();
      if (end === 'cut') yield { type: 'cut' };
      if (end === 'filter') yield { type: 'cut', reason: 'content_filter' };
    } finally {
      if (signal.aborted) stats.aborted++;
    }
  }

  suspend(): void {
    this.#shared.stats.suspended++;
    this.#shared.kept?.touch(this.#keptAs);
  }

  release(): void {
    if (this.#released) throw new Error('a session was released twice (C4)');
    this.#released = true;
    this.#shared.stats.released++;
    this.#shared.kept?.touch(this.#keptAs);
  }

  #prefill({ context }: TurnRequest): Extract<SamplerEvent, { type: 'prefill' }> {
    const { kept, stats } = this.#shared;
    const held = Math.min(kept?.held(this.#keptAs, context) ?? 0, context.tokens);
    const read = context.tokens - held;
    stats.heldTokens += held;
    stats.readTokens += read;
    return { type: 'prefill', held, read };
  }

  #admissionMs(heldTokens: number): number {
    const { admission } = this.#shared.options;
    if (admission === undefined) return 0;
    const { held, admitMs, resumeMs } = admission;
    const isHeld = held === 'per-response' ? this.#turns > 0 : held === 'per-conversation' && heldTokens > 0;
    return isHeld ? resumeMs : admitMs;
  }

  #playback(turn: TurnRequest, planned: ScriptTurn): Playback {
    return new Playback(obey(planned.items, turn, this.#opening.request.tools ?? []), {
      interleave: planned.interleave ?? false,
      tokensMax: Math.min(turn.outputTokensMax, endTokens(planned)),
      deltaTokensMax: this.#shared.options.deltaTokensMax ?? Infinity,
    });
  }

  /** Sums of fractions of a millisecond may miss by their last bit, so the clock is asked until it is time. */
  async #until(at: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#shared.options;
    for (let left = at - clock.now(); left > 0; left = at - clock.now()) await clock.sleep(left, signal);
  }
}

function check(options: ScriptedOptions): void {
  const positive = [
    'prefillTokensPerSecond',
    'decodeTokensPerSecond',
    'burstTokens',
    'deltaTokensMax',
    'contextTokensMax',
  ] as const;
  for (const name of positive)
    if (!((options[name] ?? 1) > 0)) throw new RangeError(`${name}: expected a number above 0`);
  for (const name of ['firstTokenMs', 'tickMs'] as const)
    if (!((options[name] ?? 0) >= 0)) throw new RangeError(`${name}: expected a number from 0`);
  for (const name of ['admitMs', 'resumeMs'] as const)
    if (!((options.admission?.[name] ?? 0) >= 0))
      throw new RangeError(`admission.${name}: expected a number from 0`);
  if (!Number.isInteger(options.burstTokens ?? 1)) throw new RangeError('burstTokens: expected whole tokens');
  const { deltaTokensMax = Infinity } = options;
  if (deltaTokensMax !== Infinity && !Number.isInteger(deltaTokensMax))
    throw new RangeError('deltaTokensMax: expected whole tokens or Infinity');
}

/**
 * A sampler that plays a script. Throws a `RangeError` for a speed, a time or a size that can't be. A turn throws an
 * `Error` past the end of an array script, and where `tool_choice` demands a call and no tool that it allows is declared.
 */
export function scriptedSampler(options: ScriptedOptions): ScriptedSampler {
  check(options);
  const { clock, session } = options;
  const { policy = 'per-turn', ttlMs = Infinity, conversationsMax = 100_000 } = session ?? {};
  const kept =
    policy === 'per-conversation'
      ? new KeptContexts({ ttlMs, conversationsMax, now: () => clock.now() })
      : null;
  const stats = { opened: 0, released: 0, turns: 0, aborted: 0, suspended: 0, heldTokens: 0, readTokens: 0 };
  const shared: Shared = { options, kept, stats };
  return {
    contextTokensMax: options.contextTokensMax ?? 400_000,
    stats,
    open: (opening) => new ScriptedSession(shared, opening),
  };
}
