/**
 * Post-inference, once on every outcome of an admitted rollout (S5), on a bounded signal that the cancel does not kill: the
 * rollout's own where it has completed, because nothing else aborts that any more, else a new one.
 */
import { onAbort } from './abort.js';
import type { Step } from './log-entry.js';
import type { Outcome } from './outcome.js';
import { postPassage, type Standing } from './passages.js';
import { ProtocolError } from './protocol/errors.js';

/** What a rollout does at its end besides. Both give the outcome, or the failure of what they had to do. */
export interface Ending {
  readonly standing: Standing;
  /** Takes in what the end cut short, and lets go of the model. */
  readonly windUp: (outcome: Outcome, signal: AbortSignal) => Promise<Outcome>;
  /** Answers what nobody will answer any more, after any end but completion. */
  readonly abandon: (outcome: Outcome, signal: AbortSignal) => Promise<Outcome>;
}

export async function* postInference(
  outcome: Outcome,
  { standing, windUp, abandon }: Ending,
): AsyncGenerator<Step, void> {
  const { parts, context } = standing;
  const { stages, receipts, clock, limits } = parts;
  const bound = parts.signal.aborted ? new AbortController() : parts.controller;
  const deadline = clock.after(limits.postMsMax, () =>
    bound.abort(new ProtocolError('server_error', `Post-inference took longer than ${limits.postMsMax} ms.`)),
  );
  // Held all along, so that the waits of every stage find a listener that is there already.
  const held = onAbort(bound.signal, () => undefined);
  // Disposed of by hand: `using`, compiled for today's Node, would be paid for at every end.
  try {
    const ended = await windUp(outcome, bound.signal);
    const passage = postPassage(standing, ended, bound.signal);
    await stages.finish(passage, receipts, true);
    if (ended.status === 'completed') passage.outcome = await abandon(passage.outcome, bound.signal);
    yield [{ type: 'response.settled', outcome: passage.outcome, usage: context.takeTurnUsage() }];
    await stages.finish(passage, receipts, false);
  } finally {
    held[Symbol.dispose]();
    deadline[Symbol.dispose]();
  }
}
