/** What every sweep asks of the rollouts it has played. */
import type { SimulatedRollout } from './simulate.js';

/** The numbers of the rollouts that a sweep plays: the first so many, the same ones in every cell and arm. */
export function firstRollouts(count: number): number[] {
  return Array.from({ length: count }, (_, rollout) => rollout);
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

export interface Sums {
  readonly rollouts: number;
  readonly turns: number;
  /** End to end, as run and with tools at their true time. */
  readonly e2e_ms: number;
  readonly true_e2e_ms: number;
}

/** @throws Error where a rollout did not complete: its times would mean nothing. */
export function sumsOf(played: readonly SimulatedRollout[]): Sums {
  const ended = played.find(({ status }) => status !== 'completed');
  if (ended !== undefined) throw new Error(`a rollout in virtual time ended as ${ended.status}`);
  const e2e_ms = sum(played.map((one) => one.e2e_ms));
  return {
    rollouts: played.length,
    turns: sum(played.map(({ turns }) => turns.length)),
    e2e_ms,
    true_e2e_ms: e2e_ms + sum(played.map(({ tool_ms, true_tool_ms }) => true_tool_ms - tool_ms)),
  };
}

/** End to end over the number of turns. */
export function msPerTurn({ e2e_ms, turns }: Sums): number {
  return e2e_ms / turns;
}
