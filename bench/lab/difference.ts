/** Two arms over the same rollouts, measured or played in virtual time. Pure. */
import { median } from 'simple-statistics';

import { twinArm } from '../arms.js';
import type { MeasuredTurn } from '../measure.js';
import { pairedDifference, smallestDetectable, type PairedDifference } from '../statistics.js';
import type { PlayedRollout } from '../virtual/rollout.js';
import type { RealCell } from './cells.js';
import type { Difference } from './sections.js';

/** What the lab reads of a measured rollout, fresh or from the rows of a result. */
export interface MeasuredRollout {
  readonly arm: string;
  readonly block: number;
  readonly rollout: number;
  readonly e2e_ms: number;
  /** Opening the connection before it; null or absent where nobody took it. */
  readonly connect_ms?: number | null;
  readonly tool_ms: number;
  readonly true_tool_ms: number;
  readonly turns: readonly Pick<
    MeasuredTurn,
    'overhead_ms' | 'first_token_ms' | 'ms' | 'input_tokens' | 'cached_tokens'
  >[];
}

type Compared = Pick<PlayedRollout, 'e2e_ms' | 'tool_ms' | 'true_tool_ms'> & {
  readonly turns: readonly unknown[];
};
export type Pair<One extends Compared = Compared> = readonly [left: One, right: One];

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Times of a rollout, measured, played or predicted. */
interface Timed {
  readonly turns: readonly { readonly ms: number }[];
}

/** End to end per turn, left − right. */
export function perTurnMs([left, right]: Pair): number {
  return (left.e2e_ms - right.e2e_ms) / left.turns.length;
}

/**
 * From ready to handed off, left − right: the median of the turns after the first. The first is the same create in every
 * design, and a long first prompt takes a machine longer to read than all that follows, and as unevenly; a median, because
 * virtual time knows the machine's usual cost and nothing of what got in its way.
 */
export function laterTurnMs(left: Timed, right: Timed): number {
  return median(left.turns.slice(1).map(({ ms }, at) => ms - (right.turns[at + 1]?.ms ?? 0)));
}

/** Measured rollouts of two arms, block by block. */
export function pairsOf(
  rows: readonly MeasuredRollout[],
  left: string,
  right: string,
): Pair<MeasuredRollout>[] {
  const others = new Map(rows.filter(({ arm }) => arm === right).map((row) => [row.block, row]));
  return rows.flatMap((row) => {
    const other = row.arm === left ? others.get(row.block) : undefined;
    return other === undefined ? [] : [[row, other] as const];
  });
}

/** What the pairs come to. The mean is of turns, not of rollouts, so that a ratio of sums follows from it. */
function shares(pairs: readonly Pair[]) {
  const saved = sum(pairs.map(([left, right]) => left.e2e_ms - right.e2e_ms));
  const right = sum(pairs.map(([, one]) => one.e2e_ms));
  const hidden = sum(pairs.map(([, one]) => one.true_tool_ms - one.tool_ms));
  return {
    rollouts: pairs.length,
    turns: sum(pairs.map(([left]) => left.turns.length)),
    relative: saved / right,
    relative_at_true_tool_time: saved / (right + hidden),
  };
}

/** Measured rows of a cell. Null where no block has both arms. */
export function measuredDifference(
  cell: RealCell,
  rows: readonly MeasuredRollout[],
  [left, right]: readonly [string, string],
  seed: number,
): Difference | null {
  const pairs = pairsOf(rows, left, right);
  const ms_per_turn = pairedDifference(pairs.map(perTurnMs), seed);
  if (ms_per_turn === null) return null;
  const twins = pairsOf(rows, 'append-ws', twinArm).map(perTurnMs);
  return {
    engine: 'real',
    scenario: cell.scenario.name,
    profile: cell.profile,
    tokens_per_second: cell.decodeTokensPerSecond,
    rtt_ms: cell.rttMs,
    left,
    right,
    ms_per_turn,
    ...shares(pairs),
    smallest_detectable_ms_per_turn: smallestDetectable(twins),
  };
}

/** Rollouts are all there are in virtual time, so their spread is the scenario's and no noise: no interval, no p. */
export function exactDifference(values: readonly number[]): PairedDifference {
  const sorted = values.toSorted((a, b) => a - b);
  const mean = sum(values) / values.length;
  const middle = sorted[Math.floor((sorted.length - 1) / 2)] ?? mean;
  return { blocks: values.length, mean, median: middle, interval: null, p_value: null };
}

/** Rollouts of virtual time. */
export function playedDifference(
  place: Pick<Difference, 'scenario' | 'profile' | 'tokens_per_second' | 'rtt_ms' | 'left' | 'right'>,
  pairs: readonly Pair[],
): Difference {
  return {
    engine: 'virtual',
    ...place,
    ...shares(pairs),
    ms_per_turn: exactDifference(pairs.map(perTurnMs)),
    smallest_detectable_ms_per_turn: null,
  };
}
