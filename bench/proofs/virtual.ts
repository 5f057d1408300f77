/**
 * How fast rollouts are played in virtual time: rollouts of 21 turns a second, over every core, from the message that asks
 * for them to the result in this process. Threads are started and warm before anything is measured.
 */
import { availableParallelism } from 'node:os';

import { builtinScenarios } from '../../scenarios/index.js';
import { cellAt } from '../lab/virtual-sections.js';
import { builtinProfiles } from '../service/profile.js';
import { plain } from '../table.js';
import { prototype, shipped } from '../virtual/arm.js';
import type { VirtualCell } from '../virtual/rollout.js';
import { simulate } from '../virtual/simulate.js';
import { medianOf, medianText, type Median } from './median.js';

export interface VirtualOptions {
  /** Measured rounds. Default 10. */
  readonly rounds?: number;
  /** Rollouts of each arm in a round. Default 100. */
  readonly rollouts?: number;
  readonly onProgress?: (line: string) => void;
}

export interface VirtualResult {
  readonly threads: number;
  readonly arms: readonly {
    readonly arm: string;
    readonly rollouts_per_second: Median;
    /** Of all threads of this process. */
    readonly cpu_ms_per_rollout: Median;
  }[];
}

/** Rounds before the first that counts. V8 goes on compiling for some hundreds of rollouts in each thread. */
const warmUpRounds = 4;
/** The bound: rollouts a second on the whole machine. */
export const rolloutsPerSecondMin = 300;

function cell(): VirtualCell {
  const scenario = builtinScenarios.get('claim-regime');
  const profile = builtinProfiles.get('hosted');
  if (scenario === undefined || profile === undefined) throw new Error('claim-regime or hosted is missing');
  return cellAt({ scenario, profile, decodeTokensPerSecond: 1000, rttMs: 50 }, 1);
}

export async function run(options: VirtualOptions = {}): Promise<VirtualResult> {
  const { rounds = 10, rollouts = 100, onProgress } = options;
  const arms = [prototype, shipped];
  const numbers = Array.from({ length: rollouts }, (_, number) => number);
  const threads = availableParallelism();
  const played = cell();
  for (let round = 1; round <= warmUpRounds; round++) {
    await simulate(played, arms, numbers, { threads });
    onProgress?.(`warm-up ${round} of ${warmUpRounds}`);
  }
  const readings = arms.map(({ name }) => ({
    arm: name,
    perSecond: new Array<number>(),
    cpuMs: new Array<number>(),
  }));
  for (let round = 1; round <= rounds; round++) {
    for (const [at, arm] of arms.entries()) {
      const startedAt = performance.now();
      const cpu = process.cpuUsage();
      await simulate(played, [arm], numbers, { threads });
      const used = process.cpuUsage(cpu);
      readings[at]?.perSecond.push((rollouts * 1000) / (performance.now() - startedAt));
      readings[at]?.cpuMs.push((used.user + used.system) / 1000 / rollouts);
    }
    onProgress?.(`round ${round} of ${rounds}`);
  }
  return {
    threads,
    arms: readings.map(({ arm, perSecond, cpuMs }) => ({
      arm,
      rollouts_per_second: medianOf(perSecond),
      cpu_ms_per_rollout: medianOf(cpuMs),
    })),
  };
}

export function print({ threads, arms }: VirtualResult): string {
  const reached = arms.every(({ rollouts_per_second: { median } }) => median >= rolloutsPerSecondMin);
  return [
    `rollouts of 21 turns in virtual time (claim-regime, hosted), ${threads} threads; medians over rounds`,
    plain(
      ['design', 'rollouts/s', 'CPU ms a rollout'],
      arms.map(({ arm, rollouts_per_second, cpu_ms_per_rollout }) => [
        arm,
        medianText(rollouts_per_second, 0),
        medianText(cpu_ms_per_rollout),
      ]),
    ),
    `  at least ${rolloutsPerSecondMin} rollouts a second: ${reached ? 'yes' : 'NO'}`,
  ].join('\n');
}
