/**
 * The simulated work around a model, as stages beside the real ones: one before inference and at an append, one after it,
 * and one after the terminal event. Which pieces run over what stands in the rollout's obligations; what they cost, in the
 * profile.
 *
 *   W1  Nothing of the design is asked here, only the obligations: two designs with the same ones pay the same.
 *   W2  A drawn cost is named by scenario, rollout, turn and piece of work, so that every design draws the same.
 *   W3  Time waited and CPU burnt are counted apart, and both apart from the real stages beside them.
 */
import { Bounded } from '../../engine/bounded.js';
import { isSampled, type Item } from '../../engine/protocol/items.js';
import type { Clock, Obligation, Obligations, Passage, Stage } from '../../engine/index.js';
import { draw, generatorFor } from '../../scenarios/random.js';
import type { Backend } from './backend.js';
import { obligationKey } from './obligations.js';
import {
  isBare,
  moduleNames,
  type Cost,
  type ModuleCosts,
  type ModuleName,
  type Profile,
} from './profile.js';

export interface ServiceParts {
  readonly profile: Profile;
  readonly clock: Clock;
  /** Where CPU is burnt. */
  readonly backend: Backend;
  readonly seed: number;
  /** Called with every piece of work that ran. */
  readonly onWork?: (work: Work) => void;
}

/** One piece of work that ran. */
export interface Work {
  readonly responseId: string;
  readonly phase: Passage['phase'];
  readonly module: ModuleName;
  readonly obligation: Obligation;
  readonly tokens: number;
  readonly waited_ms: number;
  readonly cpu_ms: number;
}

/** Hand-offs that are remembered for work that is done ahead; the oldest goes first. */
const handOffsMax = 10_000;

/** What a passage works on, in tokens. */
interface Reading {
  /** What no earlier turn of the conversation has read. */
  readonly fresh: number;
  readonly history: number;
  /** Turns sampled before, those that the client brought back included. */
  readonly turns: number;
}

function sampledRuns(items: readonly Item[]): number {
  return items.filter((item, at) => {
    const before = items[at - 1];
    return isSampled(item) && (before === undefined || !isSampled(before));
  }).length;
}

const total = (rendered: readonly Uint32Array[]): number =>
  rendered.reduce((sum, tokens) => sum + tokens.length, 0);

/** A client that brings its whole history brings, as new, what follows the last item that a model wrote. */
function readingOf(passage: Passage): Reading {
  const { phase, newItems, rendered, transcript, kept, preamble, usage } = passage;
  const before = transcript.tokens + preamble.tokens.length;
  if (phase === 'post') return { fresh: usage?.output ?? 0, history: before, turns: transcript.turns };
  const all = total(rendered);
  if (phase === 'append' || kept !== null) return { fresh: all, history: before, turns: transcript.turns };
  const lastSampled = newItems.findLastIndex((item) => isSampled(item));
  const fresh = total(rendered.slice(lastSampled + 1)) + (lastSampled < 0 ? preamble.tokens.length : 0);
  return { fresh, history: all + preamble.tokens.length - fresh, turns: sampledRuns(newItems) };
}

function tokensOf(obligation: Obligation, phase: Passage['phase'], reading: Reading, share: number): number {
  if (obligation === 'cached') return 0;
  if (obligation === 'full') return reading.fresh + reading.history;
  return reading.fresh + (phase === 'pre' ? share * reading.history : 0);
}

/** A piece of work that the profile knows, and its name among the obligations of a phase. */
interface Piece {
  readonly module: ModuleName;
  readonly key: string;
  readonly costs: ModuleCosts;
}

function piecesOf({ modules }: Profile, phase: Passage['phase']): Piece[] {
  return moduleNames.flatMap((module) => {
    const costs = modules[module];
    return costs === undefined ? [] : { module, key: obligationKey(phase, module), costs };
  });
}

const nothing: Cost = { wait_ms: 0, cpu_ms: 0, us_per_token: 0 };

function costOf({ full, cached = nothing }: ModuleCosts, obligation: Obligation): Cost {
  return obligation === 'cached' ? cached : full;
}

/** A piece of work that a rollout is bound to. */
interface BoundPiece {
  readonly module: ModuleName;
  readonly obligation: Obligation;
  readonly cost: Cost;
}

function bind(pieces: readonly Piece[], obligations: Obligations): BoundPiece[] {
  return pieces.flatMap(({ module, key, costs }) => {
    const obligation = obligations[key] ?? 'absent';
    return obligation === 'absent' ? [] : { module, obligation, cost: costOf(costs, obligation) };
  });
}

export class Service {
  readonly #parts: ServiceParts;
  readonly #pieces: Readonly<Record<Passage['phase'], readonly Piece[]>>;
  /** What each set of obligations comes to, worked out once for it. */
  readonly #bound = new WeakMap<Obligations, Record<Passage['phase'], readonly BoundPiece[]>>();
  /** When a Response handed off, for what may be done ahead of the next. */
  readonly #handOffs = new Bounded<number>(handOffsMax);

  constructor(parts: ServiceParts) {
    this.#parts = parts;
    const { profile } = parts;
    this.#pieces = {
      pre: piecesOf(profile, 'pre'),
      append: piecesOf(profile, 'append'),
      post: piecesOf(profile, 'post'),
    };
  }

  /** For `EngineOptions.stages`. */
  readonly stages = (standard: readonly Stage[]): Stage[] => {
    const { profile } = this.#parts;
    if (isBare(profile)) return [...standard];
    const stage = { reads: 'new', refuses: false } as const;
    const before = (passage: Passage) => this.#run(passage, (obligation) => obligation !== 'overlapped');
    return [
      ...standard,
      { ...stage, name: 'service', phases: ['pre', 'append'], critical: true, run: before },
      { ...stage, name: 'service', phases: ['post'], critical: true, run: (passage) => this.#end(passage) },
      {
        ...stage,
        name: 'service_overlapped',
        phases: ['post'],
        critical: false,
        run: (passage) => this.#run(passage, (obligation) => obligation === 'overlapped'),
      },
    ];
  };

  #end(passage: Passage): void | Promise<void> {
    const { clock } = this.#parts;
    this.#handOffs.set(passage.responseId, clock.now());
    return this.#run(passage, (obligation) => obligation !== 'overlapped');
  }

  /** Runs what the rollout is bound to: all CPU first, then one wait for all that is waited for, one after the other. */
  #run(passage: Passage, chosen: (obligation: Obligation) => boolean): void | Promise<void> {
    const works = this.#worksOf(passage, chosen);
    const cpuMs = works.reduce((sum, work) => sum + work.cpu_ms, 0);
    const waitMs = works.reduce((sum, work) => sum + work.waited_ms, 0);
    for (const work of works) this.#parts.onWork?.(work);
    if (cpuMs === 0 && waitMs === 0) return;
    return this.#spend(cpuMs, waitMs, passage.signal);
  }

  async #spend(cpuMs: number, waitMs: number, signal: AbortSignal): Promise<void> {
    if (cpuMs > 0) await this.#parts.backend.burn(cpuMs, signal);
    if (waitMs > 0) await this.#parts.clock.sleep(waitMs, signal);
  }

  #worksOf(passage: Passage, chosen: (obligation: Obligation) => boolean): Work[] {
    const { profile } = this.#parts;
    const { phase, obligations, responseId } = passage;
    const reading = readingOf(passage);
    let aheadMs = this.#aheadMs(passage);
    const works: Work[] = [];
    for (const { module, obligation, cost } of this.#boundBy(obligations)[phase]) {
      if (!chosen(obligation)) continue;
      const tokens = tokensOf(obligation, phase, reading, profile.history_share);
      const waitMs = this.#drawn(cost, passage, module, reading.turns) + (tokens * cost.us_per_token) / 1000;
      // What could be begun while the client ran its tools is waited for only as far as it is not over.
      const hiddenMs = obligation === 'ahead' ? Math.min(waitMs, aheadMs) : 0;
      aheadMs -= hiddenMs;
      works.push({
        responseId,
        phase,
        module,
        obligation,
        tokens,
        waited_ms: waitMs - hiddenMs,
        cpu_ms: cost.cpu_ms,
      });
    }
    return works;
  }

  #boundBy(obligations: Obligations): Record<Passage['phase'], readonly BoundPiece[]> {
    const known = this.#bound.get(obligations);
    if (known !== undefined) return known;
    const { pre, append, post } = this.#pieces;
    const bound = {
      pre: bind(pre, obligations),
      append: bind(append, obligations),
      post: bind(post, obligations),
    };
    this.#bound.set(obligations, bound);
    return bound;
  }

  /** Milliseconds since the Response that this one continues handed off. */
  #aheadMs({ kept, phase }: Passage): number {
    const handedOffAt = phase === 'pre' && kept !== null ? this.#handOffs.get(kept.responseId) : undefined;
    return handedOffAt === undefined ? 0 : this.#parts.clock.now() - handedOffAt;
  }

  #drawn({ wait_ms }: Cost, { request }: Passage, module: ModuleName, turns: number): number {
    if (typeof wait_ms === 'number') return wait_ms;
    const { scenario = '', rollout = '' } = request.metadata ?? {};
    return draw(wait_ms, generatorFor('service', this.#parts.seed, scenario, rollout, turns, module)); // W2
  }
}
