/** What rollouts that were played in several designs come to. Pure. */
import { mean } from 'simple-statistics';

import { bootstrap, type Interval } from './statistics.js';
import type { SimulatedRollout } from './virtual/simulate.js';

export interface Estimate {
  readonly value: number;
  /** 95 % BCa bootstrap over rollouts; null under 12 of them. */
  readonly interval: Interval | null;
  /** Least and most of one rollout. */
  readonly range: Interval;
}

export interface Saving {
  readonly against: string;
  readonly ms_per_turn: Estimate;
  /** Of the other design's time, end to end with tools at their true time, and of what is left of it without tools. */
  readonly share: number;
  readonly share_outside_tools: number;
}

export interface DesignPrediction {
  readonly arm: string;
  /** Mean of a rollout, tools at their true time. */
  readonly e2e_ms: Estimate;
  readonly savings: readonly Saving[];
}

/** One rollout in every design, by the design's name. */
export type Played = ReadonlyMap<string, SimulatedRollout>;

function estimate<Block>(
  blocks: readonly Block[],
  statistic: (drawn: readonly Block[]) => number,
  seed: number,
): Estimate {
  const each = blocks.map((block) => statistic([block]));
  return {
    value: statistic(blocks),
    interval: bootstrap(blocks, statistic, seed),
    range: { low: Math.min(...each), high: Math.max(...each) },
  };
}

type Pair = readonly [one: SimulatedRollout, other: SimulatedRollout];

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function savedPerTurn(pairs: readonly Pair[]): number {
  const turns = sum(pairs.map(([one]) => one.turns.length));
  return sum(pairs.map(([one, other]) => other.e2e_ms - one.e2e_ms)) / turns;
}

function saving(played: readonly Played[], arm: string, against: string, seed: number): Saving {
  const pairs = played.flatMap((rollout): Pair[] => {
    const [one, other] = [rollout.get(arm), rollout.get(against)];
    return one === undefined || other === undefined ? [] : [[one, other]];
  });
  const saved = sum(pairs.map(([one, other]) => other.e2e_ms - one.e2e_ms));
  const of = (part: (other: SimulatedRollout) => number): number =>
    saved / sum(pairs.map(([, other]) => part(other)));
  return {
    against,
    ms_per_turn: estimate(pairs, savedPerTurn, seed),
    share: of(({ e2e_ms }) => e2e_ms),
    share_outside_tools: of(({ e2e_ms, tool_ms }) => e2e_ms - tool_ms),
  };
}

/** What a design takes, and what it saves against others. */
export function prediction(
  played: readonly Played[],
  arm: string,
  against: readonly string[],
  seed: number,
): DesignPrediction {
  const rollouts = played.flatMap((rollout) => rollout.get(arm) ?? []);
  return {
    arm,
    e2e_ms: estimate(rollouts, (drawn) => mean(drawn.map(({ e2e_ms }) => e2e_ms)), seed),
    savings: against.map((other) => saving(played, arm, other, seed)),
  };
}
