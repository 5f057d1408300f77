/** Statistics of paired blocks. The arithmetic is simple-statistics' and pure-rand's; what is ours is what is asked. */
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { mean, quantile, sampleStandardDeviation } from 'simple-statistics';

/** Blocks below which no interval is printed: a bootstrap over fewer says little and looks like more. */
export const blocksMinForInterval = 8;
/** Bootstrap resamples. */
export const resamples = 10_000;

export interface Interval {
  readonly low: number;
  readonly high: number;
}

export interface PairedDifference {
  /** Blocks in which both arms have a value. */
  readonly blocks: number;
  readonly mean: number;
  readonly median: number;
  /** 95 % percentile bootstrap of the mean over blocks; null under 8 blocks. */
  readonly interval: Interval | null;
}

export function percentile(values: readonly number[], p: number): number | null {
  return values.length === 0 ? null : quantile([...values], p);
}

/** 95 % percentile bootstrap of the mean; the same seed gives the same interval. */
export function bootstrapMean(values: readonly number[], seed: number): Interval | null {
  if (values.length < blocksMinForInterval) return null;
  const random = xoroshiro128plus(seed);
  const means = Array.from({ length: resamples }, () => {
    let sum = 0;
    for (let draw = 0; draw < values.length; draw++)
      sum += values[uniformInt(random, 0, values.length - 1)] ?? 0;
    return sum / values.length;
  });
  return { low: quantile(means, 0.025), high: quantile(means, 0.975) };
}

export function pairedDifference(differences: readonly number[], seed: number): PairedDifference | null {
  if (differences.length === 0) return null;
  return {
    blocks: differences.length,
    mean: mean([...differences]),
    median: quantile([...differences], 0.5),
    interval: bootstrapMean(differences, seed),
  };
}

/**
 * The smallest true difference that a comparison of as many blocks would detect four times out of five at the 5 %
 * level, from the spread of an A-A arm: (z 0.975 + z 0.8) · s / √n. Null under 8 blocks.
 */
export function smallestDetectable(differences: readonly number[]): number | null {
  if (differences.length < blocksMinForInterval) return null;
  return ((1.96 + 0.8416) * sampleStandardDeviation([...differences])) / Math.sqrt(differences.length);
}

/** The sum of one arm over the sum of another, over blocks that have both. */
export function ratioOfSums(pairs: readonly (readonly [number, number])[]): number | null {
  const below = pairs.reduce((sum, [, baseline]) => sum + baseline, 0);
  return below === 0 ? null : pairs.reduce((sum, [value]) => sum + value, 0) / below;
}
