/** How a rollout ends. One of these, once. */
import { toProtocolError, type ErrorCode } from './protocol/errors.js';

export type IncompleteReason =
  | 'max_output_tokens'
  | 'max_tool_calls'
  | 'content_filter'
  | 'steered'
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

export function failedBy(fault: unknown): Outcome {
  const { code, message } = toProtocolError(fault);
  return { status: 'failed', code, message };
}

/** The outcome, after work that it still takes: a fault in that work fails what has not failed yet. */
export async function orFailed(outcome: Outcome, work: () => void | Promise<void>): Promise<Outcome> {
  try {
    await work();
    return outcome;
  } catch (fault) {
    return outcome.status === 'failed' ? outcome : failedBy(fault);
  }
}
