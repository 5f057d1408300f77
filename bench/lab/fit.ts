/**
 * What the machine itself takes: real time that the virtual engine knows nothing of. Fitted on the anchor cells that are not
 * held out, per arm, as a constant for each request and a share for each token in it.
 */
import { linearRegression, mean, quantile } from 'simple-statistics';

import type { MeasuredTurn } from '../measure.js';
import type { VirtualTurn } from '../virtual/client.js';
import type { MachineCosts } from '../virtual/rollout.js';
import type { MeasuredRollout } from './difference.js';

/** One turn, measured and played in virtual time. */
export interface TurnPair {
  /** Tokens that its request carried. */
  readonly tokens: number;
  /** Measured overhead beyond that of virtual time, in ms. */
  readonly extra_ms: number;
}

/** Turns whose measured overhead is among the highest tenth of their cell met something else that ran. */
const keptShare = 0.9;

/** Tokens that a turn's request carried: what is new, or everything where the client brings its history. */
export function requestTokens(
  arm: string,
  turn: Pick<MeasuredTurn, 'input_tokens' | 'cached_tokens'>,
): number {
  return arm.startsWith('replay') ? turn.input_tokens : turn.input_tokens - turn.cached_tokens;
}

/** Turns after the first of one arm in one cell, both ways. A first turn reads a whole first prompt and is no like turn. */
export function turnPairs(
  arm: string,
  real: readonly MeasuredRollout[],
  virtual: ReadonlyMap<number, readonly Pick<VirtualTurn, 'overhead_ms'>[]>,
): TurnPair[] {
  const pairs = real.flatMap(({ rollout, turns }) =>
    turns.flatMap((turn, index) => {
      const played = virtual.get(rollout)?.[index];
      if (index === 0 || played === undefined) return [];
      return { tokens: requestTokens(arm, turn), extra_ms: turn.overhead_ms - played.overhead_ms };
    }),
  );
  if (pairs.length === 0) return [];
  const most = quantile(
    pairs.map(({ extra_ms }) => extra_ms),
    keptShare,
  );
  return pairs.filter(({ extra_ms }) => extra_ms <= most);
}

/** Least squares; a token takes no less than nothing. Nothing at all without turns. */
export function fitMachine(pairs: readonly TurnPair[]): MachineCosts {
  if (pairs.length === 0) return { request_ms: 0, us_per_token: 0 };
  const constant = mean(pairs.map(({ extra_ms }) => extra_ms));
  const { m, b } = linearRegression(pairs.map(({ tokens, extra_ms }) => [tokens, extra_ms]));
  if (!(m > 0)) return { request_ms: Math.max(0, constant), us_per_token: 0 };
  return { request_ms: Math.max(0, b), us_per_token: m * 1000 };
}
