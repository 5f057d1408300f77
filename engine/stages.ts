/**
 * Stages: the pieces of work before and after inference, and at an append.
 *
 *   G1  A stage runs once per passage: `pre` once per Response, `append` once per append, `post` once per Response
 *       on every outcome (S5).
 *   G2  Stages run in order; the first refusal ends a `pre` or `append` passage and nothing of it is applied.
 *   G3  Each run leaves one receipt, refusals and faults included.
 */
import type { Item } from './protocol/items.js';
import type { CreateRequest } from './protocol/requests.js';
import type { Transcript } from './transcript.js';
import type { Outcome } from './outcome.js';

export type Phase = 'pre' | 'append' | 'post';

/** What one passage through the stages works on. */
export interface Passage {
  readonly phase: Phase;
  readonly responseId: string;
  readonly credential: string;
  /** The turn that follows the passage (`pre`: 1), or the last one (`post`). */
  readonly turn: number;
  readonly request: CreateRequest;
  /** What entered since the last passage: input at `pre` and `append`, all that was sampled at `post`. */
  readonly newItems: readonly Item[];
  /** What the engine already kept when the passage began. */
  readonly transcript: Transcript;
  /** Only at `post`. */
  readonly outcome: Outcome | null;
  /** Aborts with the rollout at `pre` and `append`; at `post` it is a bounded signal of its own. */
  readonly signal: AbortSignal;
}

export interface StageRun {
  /** Tokens this run worked on, for its receipt. */
  readonly tokens?: number;
}

export interface Stage {
  /** Unique within its phases; receipts are keyed `phase.name`. */
  readonly name: string;
  readonly phases: readonly Phase[];
  /** `new`: items of the passage. `all`: the kept transcript before them too. */
  readonly reads: 'new' | 'all';
  /** Whether it may refuse the passage by throwing a `ProtocolError`; any other throw fails the Response. */
  readonly refuses: boolean;
  /** Whether the client waits for it. At `post`, a stage off the critical path runs after the terminal event. */
  readonly critical: boolean;
  run(
    passage: Passage,
    items: readonly Item[],
  ): StageRun | undefined | void | Promise<StageRun | undefined | void>;
}

/** Proof that a stage ran. */
export interface Receipt {
  readonly stage: string;
  readonly phase: Phase;
  readonly turn: number;
  /** Items and tokens it worked on. */
  readonly items: number;
  readonly tokens: number;
  readonly ms: number;
  readonly result: 'passed' | 'refused' | 'failed';
}

/** Sums over receipts of one `phase.stage`. */
export interface StageTally {
  runs: number;
  items: number;
  tokens: number;
  ms: number;
}
export type StageRuns = Record<string, StageTally>;

export interface Bill {
  readonly response_id: string;
  readonly credential: string;
  readonly model: string;
  /** Tokens that were in no earlier bill of the conversation. */
  readonly uncached_input_tokens: number;
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
  readonly status: string;
}
