/** What a rollout is made of. The engine puts it together; nothing in it changes. */
import type { Limits } from './limits.js';
import type { Clock, Tokenizer } from './ports.js';
import type { Kept, Receipts, Stages } from './stages.js';

/** What a turn that owes client outputs does: its loop waits, or the Response ends there. */
export type HandOff = 'suspend' | 'complete';

export interface RolloutParts {
  readonly id: string;
  readonly credential: string;
  readonly kept: Kept | null;
  readonly handOff: HandOff;
  readonly stages: Stages;
  readonly receipts: Receipts;
  readonly clock: Clock;
  readonly tokenizer: Tokenizer;
  readonly limits: Limits;
  readonly mintId: (prefix: string) => string;
  /** Aborts with a `RolloutEnd` on cancel and at deadlines. */
  readonly signal: AbortSignal;
}
