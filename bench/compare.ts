/**
 * The comparison: the same rollouts through every design on one engine, paired by seed, in random order within a
 * block, over real connections to a server in a process of its own.
 */
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

import { builtinScenarios, loadScenario, type Scenario } from '../scenarios/index.js';
import { arms as allArms, twinArm, type Arm } from './arms.js';
import { manifest, type Manifest } from './manifest.js';
import { measureRollout, type Measurement, type Pace, type ServerAddress } from './measure.js';
import { missing } from './missing.js';
import { startServer } from './server-process.js';
import { corrected, summarise, type ScenarioSummary } from './summary.js';

export interface CompareOptions extends Partial<Pace> {
  /** Names of built-in scenarios, or paths of scenario files. Default terminal, claim-regime, single. */
  readonly scenarios?: readonly string[];
  /** Blocks per scenario, each a rollout of its own. Default 12. */
  readonly blocks?: number;
  /** Arms beside the headline's and their twin run in every n-th block. Default 12. */
  readonly sparseEvery?: number;
  /** Default 1. */
  readonly seed?: number;
  /** A running server that plays scenarios at the same speeds. Default: one is started, in a process of its own. */
  readonly server?: ServerAddress | undefined;
  /** Ends the run after the rollout under way; what was measured is kept. */
  readonly signal?: AbortSignal;
  /** Called after every rollout. */
  readonly onProgress?: (done: number, of: number) => void;
  /** The words that make this run again, for the manifest. */
  readonly command?: string;
}

export const compareDefaults = {
  scenarios: ['terminal', 'claim-regime', 'single'],
  blocks: 12,
  sparseEvery: 12,
  seed: 1,
  decodeTokensPerSecond: 4_000,
  prefillTokensPerSecond: 400_000,
  toolScale: 0.01,
} as const;

export type CompareParameters = Omit<
  Required<CompareOptions>,
  'server' | 'signal' | 'onProgress' | 'command'
>;

export interface Comparison {
  readonly version: 1;
  readonly manifest: Manifest;
  readonly parameters: CompareParameters;
  /** True where the run was ended early. */
  readonly partial: boolean;
  readonly scenarios: readonly ScenarioSummary[];
  /** Every measured rollout; warm-up is not among them. */
  readonly rollouts: readonly Measurement[];
}

/** Blocks before the measured ones whose figures are thrown away: code gets compiled, caches filled. */
const warmupBlocks = 1;

function parametersOf(options: CompareOptions): CompareParameters {
  const { scenarios, blocks, sparseEvery, seed, decodeTokensPerSecond, prefillTokensPerSecond, toolScale } = {
    ...compareDefaults,
    ...options,
  };
  return { scenarios, blocks, sparseEvery, seed, decodeTokensPerSecond, prefillTokensPerSecond, toolScale };
}

/** Which arms a block runs, in random order. */
function armsOf(block: number, { sparseEvery, seed }: CompareParameters, scenarioIndex: number): Arm[] {
  const chosen = allArms.filter((arm) => !arm.sparse || block % sparseEvery === 0);
  const random = xoroshiro128plus(seed * 1_000_003 + scenarioIndex * 1_009 + block);
  for (let index = chosen.length - 1; index > 0; index--) {
    const other = uniformInt(random, 0, index);
    const [left, right] = [chosen[index], chosen[other]];
    if (left !== undefined && right !== undefined) [chosen[index], chosen[other]] = [right, left];
  }
  return chosen;
}

async function scenarioNamed(name: string): Promise<Scenario> {
  const builtin = builtinScenarios.get(name);
  if (builtin !== undefined) return builtin;
  return await loadScenario(name).catch((fault: unknown) => {
    throw missing(fault, name);
  });
}

interface Planned {
  readonly arm: Arm;
  readonly scenario: Scenario;
  readonly block: number;
  readonly order: number;
}

/** Code that every arm runs is warm by the end of the first scenario's; replay has no code of its own. */
function warmsUp({ name, design, sparse }: Arm, scenarioIndex: number): boolean {
  return name !== twinArm && (!sparse || (scenarioIndex === 0 && design.client !== 'replay'));
}

/** Warm-up blocks have negative numbers, and their rollouts come after the measured ones. */
function plan(scenarios: readonly Scenario[], parameters: CompareParameters): Planned[] {
  return scenarios.flatMap((scenario, scenarioIndex) =>
    Array.from({ length: parameters.blocks + warmupBlocks }, (_, index) => index - warmupBlocks).flatMap(
      (block) => {
        const order = armsOf(Math.max(block, 0), parameters, scenarioIndex);
        const run = block < 0 ? order.filter((arm) => warmsUp(arm, scenarioIndex)) : order;
        return run.map((arm, place) => ({ arm, scenario, block, order: place }));
      },
    ),
  );
}

/** @throws Error where a scenario is unknown, the server cannot be reached, or a rollout does not complete. */
export async function compare(options: CompareOptions = {}): Promise<Comparison> {
  const parameters = parametersOf(options);
  const scenarios = await Promise.all(parameters.scenarios.map(scenarioNamed));
  const files = parameters.scenarios.filter((name) => !builtinScenarios.has(name));
  await using own =
    options.server === undefined ? await startServer({ ...parameters, scenarioFiles: files }) : null;
  const address = options.server ?? own?.address;
  if (address === undefined) throw new Error('there is no server to measure');
  const planned = plan(scenarios, parameters);
  const rollouts: Measurement[] = [];
  let done = 0;
  for (const { arm, scenario, block, order } of planned) {
    if (options.signal?.aborted === true) break;
    const rollout = block < 0 ? parameters.blocks - block : block;
    const place = { scenario, seed: parameters.seed, rollout, block, order };
    const measurement = await measureRollout(address, arm, place, parameters);
    if (measurement.status !== 'completed')
      throw new Error(
        `a rollout of ${scenario.name} in ${arm.name} ended as ${measurement.status}, not completed`,
      );
    if (block >= 0) rollouts.push(measurement);
    options.onProgress?.(++done, planned.length);
  }
  return {
    version: 1,
    manifest: manifest(options.command ?? 'compare()'),
    parameters,
    partial: done < planned.length,
    scenarios: corrected(scenarios.map((scenario) => summarise(scenario, rollouts, parameters))),
    rollouts,
  };
}
