/** What a rollout in virtual time is played under, the design apart. */
import type { SessionPolicy } from '../../engine/index.js';
import type { Scenario } from '../../scenarios/index.js';
import type { NetworkModel } from '../network/model.js';
import type { Profile } from '../service/profile.js';
import type { Work } from '../service/stage.js';
import type { VirtualArm } from './arm.js';
import { bytesPerToken } from './counted.js';

/** What the machine itself takes, measured once and fitted: it is real time that virtual time knows nothing of. */
export interface MachineCosts {
  /** Milliseconds of each request after the first, and microseconds of each token in it. */
  readonly request_ms: number;
  readonly us_per_token: number;
  /** Microseconds of each byte of instructions and tools that a create after the first sends again, although it is kept. */
  readonly us_per_repeated_byte: number;
  /** Milliseconds after the last token of each turn but the first and the last, until its calls are seen to be done. */
  readonly turn_end_ms: number;
}

/** Instructions and tools of a scenario, as they stand in a request. */
function preambleOf({ instructions_tokens, tools_bytes }: Scenario): { bytes: number; tokens: number } {
  return {
    bytes: instructions_tokens * bytesPerToken + tools_bytes,
    tokens: instructions_tokens + Math.round(tools_bytes / bytesPerToken),
  };
}

/** Bytes that each later request of a design sends again although the server has kept them. */
export function repeatedBytes({ wire }: Pick<VirtualArm, 'wire'>, scenario: Scenario): number {
  return wire === 'create' ? preambleOf(scenario).bytes : 0;
}

/**
 * What the machine takes for a request after the first whose items have so many tokens. A server that has kept nothing
 * reads instructions and tools like the rest.
 */
export function machineMs({ machine, scenario }: VirtualCell, arm: VirtualArm, tokens: number): number {
  const costs = machine?.[arm.name];
  if (costs === undefined) return 0;
  const { request_ms, us_per_token, us_per_repeated_byte } = costs;
  const read = tokens + (arm.wire === 'history' ? preambleOf(scenario).tokens : 0);
  return request_ms + (us_per_token * read + us_per_repeated_byte * repeatedBytes(arm, scenario)) / 1000;
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
