/** Medians with intervals that assume no distribution. */
import { percentile, type Interval } from '../statistics.js';

export interface Median {
  readonly median: number;
  /** At least 95 %, from order statistics; null under 6 values, which cannot say that much. */
  readonly interval: Interval | null;
  readonly values: number;
}

/** How many values from either end the interval leaves out: the most that keep it at 95 % or more. */
function leftOut(n: number): number {
  let chance = 0.5 ** n; // Of no value on one side of the true median.
  let below = chance;
  let out = -1;
  while (below <= 0.025) {
    out++;
    chance *= (n - out) / (out + 1);
    below += chance;
  }
  return out;
}

export function medianOf(values: readonly number[]): Median {
  const sorted = values.toSorted((left, right) => left - right);
  const out = leftOut(sorted.length);
  const [low, high] = [sorted[out], sorted[sorted.length - 1 - out]];
  const interval = low === undefined || high === undefined ? null : { low, high };
  return { median: percentile(sorted, 0.5) ?? Number.NaN, interval, values: sorted.length };
}

export function medianText({ median, interval }: Median, digits = 2): string {
  const text = median.toFixed(digits);
  return interval === null
    ? text
    : `${text} [${interval.low.toFixed(digits)}, ${interval.high.toFixed(digits)}]`;
}
