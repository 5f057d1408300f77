/**
 * What each design would take for rollouts that happened: all designs over the same rollouts in virtual time, what each
 * saves, and which switch between the shipped design and the prototype gives it.
 *
 *   F1  Only counts and times are played. Text that a trace holds is dropped before anything else is done with it.
 *   F2  A rollout counts in every design or in none: one that did not complete everywhere is left out, and said so.
 *   F3  Savings are ratios of sums: milliseconds saved, over all turns; positive where the design is faster.
 */
import { availableParallelism } from 'node:os';

import { expectedTokens, rolloutOf, type Call, type Rollout, type Scenario } from '../scenarios/index.js';
import type { FactorSection } from './lab/sections.js';
import { cellAt } from './lab/virtual-sections.js';
import { manifest, type Manifest } from './manifest.js';
import type { Profile } from './service/profile.js';
import { shipped, virtualArm, type VirtualArm } from './virtual/arm.js';
import type { VirtualCell } from './virtual/cell.js';
import { factorSection } from './virtual/factors.js';
import { simulate } from './virtual/simulate.js';
import { firstRollouts } from './virtual/sweep.js';
import { whatIfArms, whatIfDefaults } from './whatif-defaults.js';
import { prediction, type DesignPrediction, type Played } from './whatif-estimates.js';

export interface WhatIfOptions {
  readonly scenario: Scenario;
  readonly profile: Profile;
  /** Rollouts that are played: drawn from the trace by the seed where it has more. Default: all, up to 50. */
  readonly rollouts?: number;
  /** A further design that savings are told against, beside the shipped one. Default `replay-http`. */
  readonly against?: string;
  /** Default 1. */
  readonly seed?: number;
  /** Tokens a second that the model writes and reads. Default 1,000 and 20,000. */
  readonly decodeTokensPerSecond?: number;
  readonly prefillTokensPerSecond?: number;
  /** Default 50. */
  readonly rttMs?: number;
  /** Each way, in Mbit/s; `Infinity` is no limit. Default 50. */
  readonly bandwidthMbit?: number;
  /** Whether the window of a connection that was idle starts small again, as Linux does it. Default true. */
  readonly restartsAfterIdle?: boolean;
  /** Ends the work; what was played is kept. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (what: 'designs' | 'switches', done: number, of: number) => void;
  /** The words that make this again, for the manifest. */
  readonly command?: string;
}

export interface WhatIf {
  readonly version: 1;
  readonly manifest: Manifest;
  readonly scenario: string;
  readonly source: string;
  readonly profile: Profile;
  readonly parameters: Readonly<
    Record<'seed' | 'tokens_per_second' | 'prefill_tokens_per_second' | 'rtt_ms', number>
  > & {
    /** Null where there is no limit. */
    readonly bandwidth_mbit: number | null;
    readonly restarts_after_idle: boolean;
  };
  /** True where it was ended early. */
  readonly partial: boolean;
  /** Played in every design; rollouts that were left out because they did not complete in one. */
  readonly rollouts: number;
  readonly left_out: number;
  readonly turns: number;
  readonly calls: number;
  /** Of all rollouts together: what is waited for where the calls of a turn run side by side. */
  readonly tool_ms: number;
  /** What append − chain gains for each further ms of a create that an append does not have, in ms per turn. */
  readonly gain_per_fixed_ms: number;
  readonly designs: readonly DesignPrediction[];
  /** Null where it was ended before. */
  readonly factors: FactorSection | null;
}

function withoutText(call: Call): Call {
  const { arguments_tokens, tool_ms, output_tokens } = call;
  return { arguments_tokens, tool_ms, output_tokens };
}

/** A rollout in numbers alone. */
function counted({ label, context_tokens, turns, follow_ups }: Rollout): Rollout {
  const bare = (request: Pick<Rollout, 'context_tokens' | 'turns'>) => ({
    context_tokens: request.context_tokens,
    turns: request.turns.map(({ output_tokens, calls }) => ({
      output_tokens,
      calls: calls.map(withoutText),
    })),
  });
  return {
    ...(label === undefined ? {} : { label }),
    ...bare({ context_tokens, turns }),
    ...(follow_ups === undefined
      ? {}
      : {
          follow_ups: follow_ups.map(({ pause_ms, model_change, ...next }) => ({
            pause_ms,
            model_change,
            ...bare(next),
          })),
        }),
  };
}

/** The rollouts that are played, as a scenario of their own. */
function chosen(scenario: Scenario, count: number, seed: number): Rollout[] {
  return firstRollouts(Math.min(count, scenario.rollouts?.length ?? count)).map((index) =>
    counted(rolloutOf(scenario, seed, index)),
  );
}

function scenarioOfRollouts(scenario: Scenario, rollouts: Rollout[]): Scenario {
  const { drawn: _, ...rest } = scenario;
  return { ...rest, rollouts };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Plays batch by batch, as many at a time as keep every core busy, until all are played or the signal says so. */
async function play(
  cell: VirtualCell,
  arms: readonly VirtualArm[],
  count: number,
  { signal, onProgress }: WhatIfOptions,
): Promise<Played[]> {
  const batch = Math.max(4, availableParallelism());
  const played: Played[] = [];
  for (let from = 0; from < count; from += batch) {
    if (signal?.aborted === true) break;
    const numbers = firstRollouts(count).slice(from, from + batch);
    const simulated = await simulate(cell, arms, numbers, {
      onProgress: (done) => onProgress?.('designs', from * arms.length + done, count * arms.length),
    });
    for (const at of numbers.keys())
      played.push(
        new Map(
          arms.flatMap(({ name }) => {
            const one = simulated.get(name)?.[at];
            return one === undefined ? [] : [[name, one] as const];
          }),
        ),
      );
  }
  return played;
}

/** The switches over the rollouts that count; null where the signal ends it. */
async function switches(
  cell: VirtualCell,
  rollouts: number,
  { signal, onProgress }: WhatIfOptions,
): Promise<FactorSection | null> {
  try {
    return await factorSection(cell, {
      rollouts,
      onProgress: (done, of) => onProgress?.('switches', done, of),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (fault) {
    if (signal?.aborted === true) return null;
    throw fault;
  }
}

const completed = (rollout: Played): boolean =>
  [...rollout.values()].every(({ status }) => status === 'completed');

function cellOf(options: WhatIfOptions, scenario: Scenario): VirtualCell {
  const { profile, seed, decodeTokensPerSecond, prefillTokensPerSecond } = { ...whatIfDefaults, ...options };
  const { rttMs, bandwidthMbit, restartsAfterIdle } = { ...whatIfDefaults, ...options };
  const cell = cellAt({ scenario, profile, decodeTokensPerSecond, rttMs }, seed, {
    bytesPerSecond: (bandwidthMbit * 1e6) / 8,
    restartsAfterIdle,
  });
  return { ...cell, prefillTokensPerSecond };
}

/**
 * Predicts the time of each design over the rollouts of a scenario.
 * @throws RangeError for a design that there is not; Error where it is ended before any rollout was played, or none of them
 * completes.
 */
export async function whatIf(options: WhatIfOptions): Promise<WhatIf> {
  const { rollouts: count, against, seed } = { ...whatIfDefaults, ...options };
  const arms = [...new Set([...whatIfArms, against])].map(virtualArm);
  const rollouts = chosen(options.scenario, count, seed);
  const cell = cellOf(options, scenarioOfRollouts(options.scenario, rollouts));
  const all = await play(cell, arms, rollouts.length, options);
  if (all.length === 0) throw new Error('ended before a rollout was played');
  const played = all.filter(completed);
  if (played.length === 0) throw new Error('no rollout completes in every design');
  const counts = all.flatMap((one, index) => (completed(one) ? [rolloutOf(cell.scenario, seed, index)] : []));
  const factors = await switches(
    { ...cell, scenario: scenarioOfRollouts(cell.scenario, counts) },
    counts.length,
    options,
  );
  const totals = counts.map(expectedTokens);
  const turns = sum(totals.map((total) => total.turns));
  const requests = sum(counts.map(({ follow_ups = [] }) => 1 + follow_ups.length));
  const { bytesPerSecond } = cell.network;
  return {
    version: 1,
    manifest: manifest(options.command ?? 'whatIf()'),
    scenario: cell.scenario.name,
    source: cell.scenario.source,
    profile: cell.profile,
    parameters: {
      seed,
      tokens_per_second: cell.decodeTokensPerSecond,
      prefill_tokens_per_second: cell.prefillTokensPerSecond,
      rtt_ms: cell.network.rttMs,
      // JSON has no infinity.
      bandwidth_mbit: Number.isFinite(bytesPerSecond) ? (bytesPerSecond * 8) / 1e6 : null,
      restarts_after_idle: cell.network.restartsAfterIdle,
    },
    partial: all.length < rollouts.length || factors === null,
    rollouts: played.length,
    left_out: all.length - played.length,
    turns,
    calls: sum(totals.map((total) => total.calls)),
    tool_ms: sum(totals.map((total) => total.toolMs)),
    gain_per_fixed_ms: (turns - requests) / turns,
    designs: arms.map(({ name }) => prediction(played, name, [...new Set([shipped.name, against])], seed)),
    factors,
  };
}
