/**
 * What the machine itself takes: real time that the virtual engine knows nothing of. Fitted on the anchor cells that are not
 * held out, per arm, as a constant for each request, a share for each token in it, and one for what it sends again.
 */
import { linearRegression, median } from 'simple-statistics';

import type { MeasuredTurn } from '../measure.js';
import type { VirtualTurn } from '../virtual/client.js';
import type { MachineCosts } from '../virtual/cell.js';
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

/** The turns of one arm in one cell. */
export interface FittedCell {
  readonly pairs: readonly TurnPair[];
  /** Bytes that each request sends again although the server has kept them. */
  readonly repeatedBytes: number;
}

/** Tokens that a turn's request makes the server read: what is new, or all where the client brings its history. */
export function requestTokens(
  arm: string,
  { input_tokens, cached_tokens }: Pick<MeasuredTurn, 'input_tokens' | 'cached_tokens'>,
): number {
  return arm.startsWith('replay') ? input_tokens : input_tokens - cached_tokens;
}

type PlayedTurn = Pick<VirtualTurn, 'overhead_ms' | 'first_token_ms' | 'ms'>;

const endMs = ({ ms, first_token_ms }: Pick<PlayedTurn, 'ms' | 'first_token_ms'>): number =>
  ms - first_token_ms;

/** Turns after the first of one arm in one cell, both ways. A first turn reads a whole first prompt and is no like turn. */
export function turnPairs(
  arm: string,
  real: readonly MeasuredRollout[],
  virtual: ReadonlyMap<number, readonly PlayedTurn[]>,
): TurnPair[] {
  return real.flatMap(({ rollout, turns }) =>
    turns.flatMap((turn, index) => {
      const played = virtual.get(rollout)?.[index];
      if (index === 0 || played === undefined) return [];
      return {
        tokens: requestTokens(arm, turn),
        extra_ms: turn.overhead_ms - played.overhead_ms,
        extra_end_ms: index === turns.length - 1 ? null : endMs(turn) - endMs(played),
      };
    }),
  );
}

/** Two turns say something of the cost of a token where they differ by this many. */
const tokensApartMin = 100;

/**
 * Medians, because what else ran in the process's way is not the machine's cost. The cost of a token is the median of the
 * slopes between any two turns that send as much again (Theil and Sen's estimate), that of a byte the slope through the medians of
 * cells that send more and less again; neither is less than nothing.
 */
export function fitMachine(cells: readonly FittedCell[]): MachineCosts {
  const kinds = byRepeatedBytes(cells);
  const slopes = [...kinds.values()].flatMap((alike) => slopesOf(alike.flatMap(({ pairs }) => pairs)));
  const msPerToken = Math.max(0, medianOf(slopes));
  const restsOf = ({ pairs }: FittedCell): number[] =>
    pairs.map(({ tokens, extra_ms }) => extra_ms - msPerToken * tokens);
  const points = [...kinds].map(([bytes, alike]) => [bytes, medianOf(alike.flatMap(restsOf))]);
  const msPerByte = points.length < 2 ? 0 : Math.max(0, linearRegression(points).m);
  const rests = cells.flatMap((cell) => restsOf(cell).map((rest) => rest - msPerByte * cell.repeatedBytes));
  const ends = cells.flatMap(({ pairs }) => pairs.flatMap(({ extra_end_ms }) => extra_end_ms ?? []));
  return {
    request_ms: Math.max(0, medianOf(rests)),
    us_per_token: msPerToken * 1000,
    us_per_repeated_byte: msPerByte * 1000,
    turn_end_ms: Math.max(0, medianOf(ends)),
  };
}

/** `Map.groupBy`, which Node 20 lacks. */
function byRepeatedBytes(cells: readonly FittedCell[]): Map<number, FittedCell[]> {
  const kinds = new Map<number, FittedCell[]>();
  for (const cell of cells) kinds.set(cell.repeatedBytes, [...(kinds.get(cell.repeatedBytes) ?? []), cell]);
  return kinds;
}

const medianOf = (values: number[]): number => (values.length === 0 ? 0 : median(values));

/** Milliseconds a token, between any two turns. */
function slopesOf(pairs: readonly TurnPair[]): number[] {
  return pairs.flatMap(({ tokens, extra_ms }, at) =>
    pairs.slice(at + 1).flatMap((other) => {
      const apart = other.tokens - tokens;
      return Math.abs(apart) < tokensApartMin ? [] : (other.extra_ms - extra_ms) / apart;
    }),
  );
}
