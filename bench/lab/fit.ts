/**
 * What the machine itself takes: real time that the virtual engine knows nothing of. Fitted on the anchor cells that are not
 * held out, per arm, as a constant for each request and a share for each token in it.
 */
import { median } from 'simple-statistics';

import type { MeasuredTurn } from '../measure.js';
import type { VirtualTurn } from '../virtual/client.js';
import { wakeAfterMs, type MachineCosts } from '../virtual/cell.js';
import type { MeasuredRollout } from './difference.js';

/** One turn, measured and played in virtual time. */
export interface TurnPair {
  /** Tokens that its request carried. */
  readonly tokens: number;
  /** The machine had been idle for `wakeAfterMs` when it came. */
  readonly woke: boolean;
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
  { preambleTokens, rttMs }: { readonly preambleTokens: number; readonly rttMs: number },
): TurnPair[] {
  return real.flatMap(({ rollout, turns }) =>
    turns.flatMap((turn, index) => {
      const played = virtual.get(rollout)?.[index];
      if (index === 0 || played === undefined) return [];
      const before = turns[index - 1];
      const idleFrom = before === undefined ? 0 : before.ready_ms + before.ms;
      return {
        woke: turn.ready_ms - idleFrom + rttMs >= wakeAfterMs,
        tokens: requestTokens(arm, turn, preambleTokens),
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
 * slopes between any two turns (Theil and Sen's estimate), and no less than nothing.
 * @param pairs the turns of one arm in all cells to fit on.
 */
export function fitMachine(pairs: readonly TurnPair[]): MachineCosts {
  const ends = pairs.flatMap(({ extra_end_ms }) => extra_end_ms ?? []);
  const woken = pairs.filter(({ woke }) => woke);
  const awake = pairs.filter(({ woke }) => !woke);
  // Only turns that found the machine in the same state are held against each other.
  const msPerToken = Math.max(0, medianOf([woken, awake].flatMap((alike) => slopesOf(alike))));
  const restOf = (some: readonly TurnPair[]): number =>
    medianOf(some.map(({ tokens, extra_ms }) => extra_ms - msPerToken * tokens));
  const request_ms = Math.max(0, restOf(awake.length > 0 ? awake : woken));
  return {
    request_ms,
    us_per_token: msPerToken * 1000,
    wake_ms: awake.length === 0 || woken.length === 0 ? 0 : Math.max(0, restOf(woken) - request_ms),
    turn_end_ms: Math.max(0, medianOf(ends)),
  };
}

const medianOf = (values: readonly number[]): number => (values.length === 0 ? 0 : median([...values]));

/** Milliseconds a token, between any two turns. */
function slopesOf(pairs: readonly TurnPair[]): number[] {
  return pairs.flatMap(({ tokens, extra_ms }, at) =>
    pairs.slice(at + 1).flatMap((other) => {
      const apart = other.tokens - tokens;
      return Math.abs(apart) < tokensApartMin ? [] : (other.extra_ms - extra_ms) / apart;
    }),
  );
}
