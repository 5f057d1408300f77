/** What a rollout is made of. The engine puts it together; nothing in it changes. */
import type { Compactor } from './compaction.js';
import type { Limits } from './limits.js';
import type { Clock, Tokenizer } from './ports.js';
import type { Receipts } from './receipts.js';
import type { Kept, Obligations, Stages } from './stages.js';

/** What a turn that owes client outputs does: its loop waits, or the Response ends there. */
export type HandOff = 'suspend' | 'complete';

/**
 * What `tool_choice`, `max_output_tokens` and `max_tool_calls` bind: the whole rollout as one Response (a demand binds
 * its first turn), or each turn as a response of its own.
 */
export type BoundsPer = 'rollout' | 'turn';

export interface RolloutParts {
  readonly id: string;
  readonly credential: string;
  readonly kept: Kept | null;
  readonly handOff: HandOff;
  readonly boundsPer: BoundsPer;
  readonly stages: Stages;
  readonly obligations: Obligations;
  readonly receipts: Receipts;
  readonly clock: Clock;
  readonly tokenizer: Tokenizer;
  readonly limits: Limits;
  readonly compactor: Compactor;
  readonly mintId: (prefix: string) => string;
  /** Aborts with a `RolloutEnd` on cancel, at deadlines, and where the rollout does not complete. */
  readonly signal: AbortSignal;
  /** Of that signal. */
  readonly controller: AbortController;
}
