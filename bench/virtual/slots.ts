/**
 * A model that works on a finite number of turns at once: a sampler around another, whose turns wait for a slot, first come
 * first served.
 *
 *   M1  A slot is taken before anything of the turn is read, and given back exactly once, on every outcome.
 *   M2  Who holds a place between turns holds the slot: while its client runs tools nobody else is sampled in it. Held
 *       slots come back by themselves, because what resumes needs no slot but its own.
 */
import { onAbort } from '../../engine/abort.js';
import {
  deferred,
  type AdmissionPolicy,
  type Clock,
  type Deferred,
  type Sampler,
  type SamplerEvent,
  type SamplerOpening,
  type SamplerSession,
  type Timer,
  type TurnRequest,
} from '../../engine/index.js';

export interface SlotPolicy {
  readonly clock: Clock;
  /** Turns at once; `Infinity` never makes anybody wait. */
  readonly count: number;
  /** Whose a slot is between turns. */
  readonly held: AdmissionPolicy['held'];
  /** How long a conversation holds its slot between turns, where conversations do. */
  readonly ttlMs: number;
  /** Called with every turn that got a slot, at its end. */
  readonly onTurn?: (turn: SampledTurn) => void;
}

/** A turn at the server: when it asked for a slot, had it and was done, in ms on the clock. */
export interface SampledTurn {
  readonly conversation: string;
  readonly askedAt: number;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Context and output at its end. */
  readonly tokens: number;
}

/** A slot that is held between two turns, and what takes it back. */
interface Hold {
  readonly since: number;
  readonly expiry: Timer | null;
}

export class Slots {
  /** Milliseconds of slots so far: sampled in, and held between turns. */
  sampledMs = 0;
  heldMs = 0;
  readonly policy: SlotPolicy;
  readonly #waiting = new Set<Deferred<void>>();
  readonly #holds = new Map<object | string, Hold>();
  #free: number;

  constructor(policy: SlotPolicy) {
    if (!(policy.count >= 1)) throw new RangeError(`${policy.count} slots: expected at least one`);
    this.policy = policy;
    this.#free = policy.count;
  }

  get free(): number {
    return this.#free;
  }

  /** The one that `holder` holds, or the next that is free. Rejects with the signal's reason where it aborts before. */
  async take(holder: object | string, signal: AbortSignal): Promise<void> {
    if (this.#unhold(holder)) return;
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    const turn = deferred<void>();
    this.#waiting.add(turn);
    using _abort = onAbort(signal, () => {
      if (this.#waiting.delete(turn)) turn.reject(signal.reason);
    });
    await turn.promise;
  }

  give(): void {
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      next.resolve();
      return;
    }
    this.#free++;
  }

  hold(holder: object | string, ttlMs: number): void {
    const { clock } = this.policy;
    const expiry = ttlMs < Infinity ? clock.after(ttlMs, () => this.letGo(holder)) : null;
    this.#holds.set(holder, { since: clock.now(), expiry });
  }

  /** Gives back what `holder` holds, if it does. */
  letGo(holder: object | string): void {
    if (this.#unhold(holder)) this.give();
  }

  #unhold(holder: object | string): boolean {
    const hold = this.#holds.get(holder);
    if (hold === undefined) return false;
    hold.expiry?.[Symbol.dispose]();
    this.heldMs += this.policy.clock.now() - hold.since;
    return this.#holds.delete(holder);
  }
}

class SlottedSession implements SamplerSession {
  readonly #inner: SamplerSession;
  readonly #slots: Slots;
  readonly #conversation: string;
  #released = false;

  constructor(inner: SamplerSession, slots: Slots, conversation: string) {
    this.#inner = inner;
    this.#slots = slots;
    this.#conversation = conversation;
  }

  async *sample(turn: TurnRequest, signal: AbortSignal): AsyncGenerator<SamplerEvent, void> {
    const slots = this.#slots;
    const { clock, onTurn } = slots.policy;
    const askedAt = clock.now();
    await slots.take(this.#holder, signal);
    const startedAt = clock.now();
    let { tokens } = turn.context;
    try {
      for await (const event of this.#inner.sample(turn, signal)) {
        if (event.type === 'delta') tokens += event.tokens;
        yield event;
      }
    } finally {
      const endedAt = clock.now();
      slots.sampledMs += endedAt - startedAt;
      onTurn?.({ conversation: this.#conversation, askedAt, startedAt, endedAt, tokens });
      this.#afterTurn();
    }
  }

  suspend(): void {
    this.#inner.suspend();
  }

  release(): void {
    this.#inner.release();
    this.#released = true;
    this.#slots.letGo(this);
  }

  get #holder(): object | string {
    return this.#slots.policy.held === 'per-conversation' ? this.#conversation : this;
  }

  /** What a Response holds is let go at its release, which may come before a turn that was cut off has ended. */
  #afterTurn(): void {
    const { held, ttlMs } = this.#slots.policy;
    if (held === 'per-turn' || (held === 'per-response' && this.#released)) this.#slots.give();
    else this.#slots.hold(this.#holder, held === 'per-response' ? Infinity : ttlMs);
  }
}

/** The same sampler, in slots. */
export function slottedSampler(inner: Sampler, slots: Slots): Sampler {
  return {
    contextTokensMax: inner.contextTokensMax,
    open: (opening: SamplerOpening) => new SlottedSession(inner.open(opening), slots, opening.conversation),
  };
}
