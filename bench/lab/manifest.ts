/** What a run of the lab says about itself: the machine and the commit, and everything that was chosen or assumed. */
import { createHash } from 'node:crypto';

import type { Scenario } from '../../scenarios/index.js';
import { manifest } from '../manifest.js';
import type { LabManifest } from '../schema/result.js';
import type { Profile } from '../service/profile.js';

export type { LabManifest } from '../schema/result.js';

export interface LabRun {
  readonly set: string;
  readonly seed: number;
  /** The words that make the same result again. */
  readonly command: string;
  /** How round-trip time and bandwidth came about. */
  readonly rttMethod: string;
  readonly scenarios: readonly Scenario[];
  readonly profiles: readonly Profile[];
  /** Everything else that was set: speeds, blocks, round-trip times, tool scales. JSON. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** SHA-256 of a scenario, whatever file it came from. */
export function scenarioHash(scenario: Scenario): string {
  return createHash('sha256').update(JSON.stringify(scenario)).digest('hex');
}

export function labManifest(run: LabRun): LabManifest {
  const { set, seed, command, rttMethod, scenarios, profiles, parameters } = run;
  return {
    ...manifest(command),
    version: 1,
    set,
    seed,
    rtt_method: rttMethod,
    scenarios: Object.fromEntries(scenarios.map((scenario) => [scenario.name, scenarioHash(scenario)])),
    profiles: Object.fromEntries(profiles.map((profile) => [profile.name, profile])),
    parameters,
  };
}
