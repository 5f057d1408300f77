/** How a rollout ends. One of these, once. */
import type { ErrorCode } from './protocol/errors.js';

export type IncompleteReason =
  | 'max_output_tokens'
  | 'max_tool_calls'
  | 'content_filter'
  | 'cancelled'
  | 'disconnected'
  | 'suspension_expired'
  | 'rollout_expired';

export type Outcome =
  | { readonly status: 'completed' }
  | { readonly status: 'incomplete'; readonly reason: IncompleteReason }
  | { readonly status: 'cancelled'; readonly reason: 'cancelled' | 'disconnected' }
  | { readonly status: 'failed'; readonly code: ErrorCode; readonly message: string };

/** The reason with which a rollout's signal is aborted: told apart by its type, not by a flag. */
export class RolloutEnd extends Error {
  override readonly name = 'RolloutEnd';
  readonly outcome: Outcome;

  constructor(outcome: Outcome) {
    super(`the rollout ended: ${outcome.status}`);
    this.outcome = outcome;
  }
}
