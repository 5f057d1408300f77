/**
 * What the machine itself takes: real time that the virtual engine knows nothing of. Fitted on the anchor cells that are not
 * held out, per arm, as a constant for each request and a share for each token in it.
 */
import { linearRegression, median } from 'simple-statistics';

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
  /** The same of the time after its first token; null at the last turn, which ends otherwise. */
  readonly extra_end_ms: number | null;
}

/**
 * Tokens of the items that a turn's request carried: what is new, or all where the client brings its history. Instructions
 * and tools, `preambleTokens` of them, are no items.
 */
export function requestTokens(
  arm: string,
  turn: Pick<MeasuredTurn, 'input_tokens' | 'cached_tokens'>,
  preambleTokens: number,
): number {
  return arm.startsWith('replay')
    ? turn.input_tokens - preambleTokens
    : turn.input_tokens - turn.cached_tokens;
}

type PlayedTurn = Pick<VirtualTurn, 'overhead_ms' | 'first_token_ms' | 'ms'>;

const endMs = ({ ms, first_token_ms }: Pick<PlayedTurn, 'ms' | 'first_token_ms'>): number =>
  ms - first_token_ms;

/** Turns after the first of one arm in one cell, both ways. A first turn reads a whole first prompt and is no like turn. */
export function turnPairs(
  arm: string,
  real: readonly MeasuredRollout[],
  virtual: ReadonlyMap<number, readonly PlayedTurn[]>,
  preambleTokens: number,
): TurnPair[] {
  return real.flatMap(({ rollout, turns }) =>
    turns.flatMap((turn, index) => {
      const played = virtual.get(rollout)?.[index];
      if (index === 0 || played === undefined) return [];
      return {
        tokens: requestTokens(arm, turn, preambleTokens),
        extra_ms: turn.overhead_ms - played.overhead_ms,
        extra_end_ms: index === turns.length - 1 ? null : endMs(turn) - endMs(played),
      };
    }),
  );
}

/** A cost of a token is fitted only where cells differ by this many tokens: below, it would be a fit to noise. */
const tokensApartMin = 2000;

/**
 * Medians, because what else ran in the process's way is not the machine's cost. The cost of a token is the slope through
 * the medians of the cells, and no less than nothing.
 * @param cells the turns of one arm, cell by cell.
 */
export function fitMachine(cells: readonly (readonly TurnPair[])[]): MachineCosts {
  const pairs = cells.flat();
  if (pairs.length === 0) return { request_ms: 0, us_per_token: 0, turn_end_ms: 0 };
  const ends = pairs.flatMap(({ extra_end_ms }) => extra_end_ms ?? []);
  const msPerToken = Math.max(0, slopeOf(cells.filter((cell) => cell.length > 0)));
  return {
    request_ms: Math.max(0, median(pairs.map(({ tokens, extra_ms }) => extra_ms - msPerToken * tokens))),
    us_per_token: msPerToken * 1000,
    turn_end_ms: ends.length === 0 ? 0 : Math.max(0, median(ends)),
  };
}

function slopeOf(cells: readonly (readonly TurnPair[])[]): number {
  const points = cells.map((pairs) => [
    median(pairs.map(({ tokens }) => tokens)),
    median(pairs.map(({ extra_ms }) => extra_ms)),
  ]);
  const tokens = points.map(([at = 0]) => at);
  if (points.length < 2 || Math.max(...tokens) - Math.min(...tokens) < tokensApartMin) return 0;
  return linearRegression(points).m;
}
