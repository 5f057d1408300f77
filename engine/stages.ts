/**
 * Stages: the pieces of work before and after inference, and at an append.
 *
 *   G1  A stage runs once per passage: `pre` once per Response, `append` once per append, `post` once per Response,
 *       on every outcome (S5).
 *   G2  Stages run in order; the first refusal ends a `pre` or `append` passage and nothing of it is applied. A `post`
 *       passage runs to its end, whatever one of its stages does.
 *   G3  Each run leaves one receipt, refusals and faults included.
 *   G4  What a rollout is bound to (its obligations) is set with its create and by no stage: `absent` runs nothing and
 *       leaves no receipt, `full` reads everything, `new-only` what is new, `overlapped` runs a post stage after the
 *       terminal event. `cached` and `ahead` are for the stage itself to heed.
 */
import { failedBy, type Outcome } from './outcome.js';
import type { Clock } from './ports.js';
import { ProtocolError } from './protocol/errors.js';
import type { Item } from './protocol/items.js';
import type { CreateRequest, Tool } from './protocol/requests.js';
import type { TurnUsage } from './log-entry.js';
import type { Sampler } from './samplers/sampler.js';
import { keyOf, type Phase, type Receipt, type Receipts } from './receipts.js';
import type { Transcript } from './transcript.js';
import { orAbort } from './watch.js';

/**
 * How a rollout is bound to one stage in one phase (G4). `cached`: an answer from an earlier passage will do. `ahead`: the
 * work may have been begun before the passage, while the client ran its tools.
 */
export type Obligation = 'full' | 'new-only' | 'cached' | 'ahead' | 'overlapped' | 'absent';

/** By `phase.stage`. A stage that is not named runs as it says of itself. */
export type Obligations = Readonly<Record<string, Obligation>>;

/** Every stage as it says of itself. */
export const noObligations: Obligations = {};

/** Instructions and tools, and what they are rendered to. */
export interface Preamble {
  readonly instructions: string | null;
  readonly tools: Tool[];
  readonly tokens: Uint32Array;
}

/** Neither instructions nor tools: one for all, since many rollouts have none. */
export const noPreamble: Preamble = { instructions: null, tools: [], tokens: new Uint32Array(0) };

/** What a Response leaves for a later one to continue: everything before the new input. */
export interface Kept {
  readonly responseId: string;
  readonly conversation: string;
  /** The name of the model that counted the tokens: another holds none of them. */
  readonly model: string;
  readonly transcript: Transcript;
  readonly preamble: Preamble;
  /** How many tokens of preamble and transcript, from the first on, a turn has counted as its input or made. */
  readonly countedTokens: number;
  /** Calls the continuation has to answer, in call order. */
  readonly owed: readonly string[];
}

/**
 * What one passage through the stages works on, and what it has found out so far. `validate` fills `request` and
 * `newItems`, `resolve` the sampler, `render` the tokens; a stage sees what the stages before it have filled.
 */
export interface Passage {
  readonly phase: Phase;
  readonly responseId: string;
  readonly credential: string;
  /** The turn that follows the passage (`pre`: 1), or the last one (`post`). */
  readonly turn: number;
  /** What the engine already kept when the passage began. */
  readonly transcript: Transcript;
  /** Tokens that earlier appends brought and that enter the transcript with this one. 0 at `pre` and `post`. */
  readonly pendingTokens: number;
  /** What an earlier Response left for this one to continue. Not at `append`. */
  readonly kept: Kept | null;
  /** Holds the items against the calls they answer; gives those that enter the context, or throws. */
  readonly accept: (items: readonly Item[]) => readonly Item[];
  /** Aborts with the rollout at `pre` and `append`; at `post` it is bounded, and no cancel reaches it. */
  readonly signal: AbortSignal;
  /** What the rollout is bound to (G4). */
  readonly obligations: Obligations;
  /** Only at `post`. A stage that refuses or fails replaces it, so that those after it see how the Response ends. */
  outcome: Outcome | null;
  /** The whole rollout's tokens. Only at `post`. */
  readonly usage: TurnUsage | null;
  /** The client's own words, before `validate`. */
  readonly raw: unknown;
  request: CreateRequest;
  /** What entered since the last passage: input at `pre` and `append`, everything since the kept transcript at `post`. */
  newItems: readonly Item[];
  sampler: Sampler | null;
  preamble: Preamble;
  /** Tokens of each new item. */
  rendered: readonly Uint32Array[];
}

export interface StageRun {
  /** Tokens this run worked on, for its receipt. */
  readonly tokens?: number;
}

type Ran = StageRun | undefined | void;

export interface Stage {
  /** Unique within its phases; receipts are keyed `phase.name`. */
  readonly name: string;
  readonly phases: readonly Phase[];
  /** `new`: the items of the passage. `all`: the kept transcript's before them too. */
  readonly reads: 'new' | 'all';
  /**
   * Whether it may refuse the passage by throwing a `ProtocolError`. At `post` a refusal turns the outcome into
   * incomplete, reason `content_filter`. Any other throw is a fault: it fails the Response.
   */
  readonly refuses: boolean;
  /** Whether the client waits for it. At `post`, a stage off the critical path runs after the terminal event. */
  readonly critical: boolean;
  /** The stages after it need what it fills in, so no rollout can do without it. Default false. */
  readonly essential?: boolean;
  run(passage: Passage, items: readonly Item[]): Ran | Promise<Ran>;
}

/** A stage as a set of obligations binds a rollout to it (G4). */
interface BoundStage {
  readonly stage: Stage;
  readonly readsAll: boolean;
  /** The client waits for it. */
  readonly critical: boolean;
}

type Plan = Readonly<Record<Phase, readonly BoundStage[]>>;

function bindTo(stage: Stage, phase: Phase, obligation: Obligation | undefined): BoundStage | null {
  const { name, essential, refuses, reads, critical } = stage;
  if (obligation === 'absent' && essential === true)
    throw new RangeError(`${phase}.${name} cannot be absent: the stages after it need it`);
  if (obligation === 'overlapped' && (refuses || phase !== 'post'))
    throw new RangeError(`${phase}.${name} cannot be overlapped: it has to be waited for`);
  if (obligation === 'absent') return null;
  return {
    stage,
    readsAll: obligation === 'full' || (obligation !== 'new-only' && reads === 'all'),
    critical: critical && obligation !== 'overlapped',
  };
}

/** A stage's own refusal, and not the end of its time. */
function isRefusal(stage: Stage, fault: unknown, signal: AbortSignal): boolean {
  return stage.refuses && fault instanceof ProtocolError && fault !== signal.reason;
}

/** A refusal at `post` filters what was sampled, a fault fails the Response; one that has failed stays as it is. */
function outcomeAfter(outcome: Outcome, fault: unknown, refused: boolean): Outcome {
  if (outcome.status === 'failed') return outcome;
  return refused ? { status: 'incomplete', reason: 'content_filter' } : failedBy(fault);
}

/** Runs the stages of a list, leaving receipts. */
export class Stages {
  readonly #byPhase: Readonly<Record<Phase, readonly Stage[]>>;
  readonly #clock: Clock;
  readonly #plans = new WeakMap<Obligations, Plan>();

  /** @throws RangeError where two stages of one phase share a name, or one refuses off the critical path. */
  constructor(stages: readonly Stage[], clock: Clock) {
    const keys = stages.flatMap((stage) => stage.phases.map((phase) => `${phase}.${stage.name}`));
    const twin = keys.find((key, index) => keys.indexOf(key) !== index);
    if (twin !== undefined) throw new RangeError(`two stages are called ${twin}`);
    const late = stages.find((stage) => stage.refuses && !stage.critical);
    if (late !== undefined)
      throw new RangeError(`stage ${late.name} refuses, so it has to be on the critical path`);
    const of = (phase: Phase): Stage[] => stages.filter((stage) => stage.phases.includes(phase));
    this.#byPhase = { pre: of('pre'), append: of('append'), post: of('post') };
    this.#clock = clock;
  }

  /** @throws RangeError where a rollout would be let off what it cannot do without, or a refusal would come too late. */
  check(obligations: Obligations): void {
    this.#plan(obligations);
  }

  /**
   * A `pre` or `append` passage: the first refusal or fault ends it (G2), and so does the signal, whether the stage
   * heeds it or not. An append that turns out to add nothing goes no further.
   */
  async admit(passage: Passage, receipts: Receipts): Promise<void> {
    for (const bound of this.#plan(passage.obligations)[passage.phase]) {
      const run = this.#run(bound, passage, receipts);
      // Awaiting what is already there would cost every append a round of microtasks per stage.
      if (run instanceof Promise) await run;
      if (passage.phase === 'append' && passage.newItems.length === 0) return;
    }
  }

  /** The `post` stages, on or off the critical path, to the end. The faults come back in order. */
  async finish(passage: Passage, receipts: Receipts, critical: boolean): Promise<unknown[]> {
    const faults: unknown[] = [];
    for (const bound of this.#plan(passage.obligations).post)
      if (bound.critical === critical)
        try {
          await this.#run(bound, passage, receipts);
        } catch (fault) {
          faults.push(fault);
          const refused = isRefusal(bound.stage, fault, passage.signal);
          if (passage.outcome !== null) passage.outcome = outcomeAfter(passage.outcome, fault, refused);
        }
    return faults;
  }

  /** What a set of obligations comes to, worked out once for it. @throws RangeError as `check` does. */
  #plan(obligations: Obligations): Plan {
    const known = this.#plans.get(obligations);
    if (known !== undefined) return known;
    const of = (phase: Phase): BoundStage[] =>
      this.#byPhase[phase].flatMap(
        (stage) => bindTo(stage, phase, obligations[keyOf(phase, stage.name)]) ?? [],
      );
    const plan = { pre: of('pre'), append: of('append'), post: of('post') };
    this.#plans.set(obligations, plan);
    return plan;
  }

  /** Runs one stage; synchronous where the stage is. One that is deaf to the signal is left behind, as failed (G3). */
  #run({ stage, readsAll }: BoundStage, passage: Passage, receipts: Receipts): void | Promise<void> {
    const startedAt = this.#clock.now();
    const items = readsAll ? [...passage.transcript.items(), ...passage.newItems] : passage.newItems;
    const leave = (result: Receipt['result'], run?: Ran): void =>
      receipts.add({
        stage: stage.name,
        phase: passage.phase,
        turn: passage.turn,
        // `validate` finds out what the items are, so its receipt is written after it has run.
        items: readsAll ? items.length : passage.newItems.length,
        tokens: run?.tokens ?? 0,
        ms: this.#clock.now() - startedAt,
        result,
      });
    const fail = (fault: unknown): never => {
      leave(isRefusal(stage, fault, passage.signal) ? 'refused' : 'failed');
      throw fault;
    };
    try {
      const run = stage.run(passage, items);
      if (run instanceof Promise)
        return orAbort(run, passage.signal).then((ran) => leave('passed', ran), fail);
      leave('passed', run);
    } catch (fault) {
      fail(fault);
    }
  }
}

/** What a Response costs its caller. */
export interface Bill {
  readonly response_id: string;
  readonly credential: string;
  readonly model: string;
  /** Tokens that were in no earlier bill of the conversation. */
  readonly uncached_input_tokens: number;
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
  /** Part of `output_tokens`. */
  readonly reasoning_tokens: number;
  readonly status: Outcome['status'];
}
