/** What a rollout in virtual time is played under, the design apart. */
import type { SessionPolicy } from '../../engine/index.js';
import type { Scenario } from '../../scenarios/index.js';
import type { NetworkModel } from '../network/model.js';
import type { Profile } from '../service/profile.js';
import type { Work } from '../service/stage.js';

/** What the machine itself takes, measured once and fitted: it is real time that virtual time knows nothing of. */
export interface MachineCosts {
  /** Milliseconds of each request after the first, and microseconds of each token in it. */
  readonly request_ms: number;
  readonly us_per_token: number;
  /** Milliseconds more of a request that finds the machine idle for `wakeAfterMs`: it has cooled down and has to wake. */
  readonly wake_ms: number;
  /** Milliseconds after the last token of each turn but the first and the last, until its calls are seen to be done. */
  readonly turn_end_ms: number;
}

/** Requests that come sooner than this after the end of the turn before find the machine awake. Chosen, and not fitted. */
export const wakeAfterMs = 1;

/** What a request costs that carries so many tokens to a machine that was idle for so long. */
export function machineMs(costs: MachineCosts | undefined, tokens: number, idleMs: number): number {
  if (costs === undefined) return 0;
  const { request_ms, us_per_token, wake_ms } = costs;
  return request_ms + (us_per_token * tokens) / 1000 + (idleMs < wakeAfterMs ? 0 : wake_ms);
}

export interface VirtualCell {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly network: NetworkModel;
  readonly profile: Profile;
  /** Tokens the model writes and reads in a second. */
  readonly decodeTokensPerSecond: number;
  readonly prefillTokensPerSecond: number;
  /** True tool time is multiplied by this. */
  readonly toolScale: number;
  /** Who keeps the model's state between turns; the same in every design unless this says otherwise. */
  readonly session: SessionPolicy;
  /** Opens the connection inside the measured time. */
  readonly cold: boolean;
  /** By arm; what the machine takes for nothing where an arm is not named. */
  readonly machine?: Readonly<Record<string, MachineCosts>>;
  /**
   * Turns of the event loop after each timer. Default 0: nothing in here takes turns but `breathe`, so none lets as much
   * settle as three.
   */
  readonly settleRounds?: number;
  readonly onWork?: (work: Work & { readonly at: number }) => void;
}
