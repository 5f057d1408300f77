/**
 * Statistics of paired blocks. Quantiles, moments and normal probabilities are simple-statistics', random numbers
 * pure-rand's; what is ours is which blocks are drawn and what is asked of them. A block is the unit everywhere, never a
 * turn: the turns of one rollout depend on each other.
 */
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import {
  errorFunction,
  mean,
  probit,
  quantile,
  quantileSorted,
  sampleStandardDeviation,
  sum,
} from 'simple-statistics';

/** Blocks below which there is neither interval nor p-value: over fewer they say little and look like more. */
export const blocksMinForInterval = 12;
/** Bootstrap resamples, and random sign flips where not all of them are tried. */
export const resamples = 10_000;

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Of a set of blocks; null where it cannot be said, as a ratio to nothing. */
export type Statistic<Block> = (blocks: readonly Block[]) => number | null;

export interface PairedDifference {
  /** Blocks in which both arms have a value. */
  readonly blocks: number;
  readonly mean: number;
  readonly median: number;
  /** 95 % BCa bootstrap of the mean over blocks; null under 12 blocks. */
  readonly interval: Interval | null;
  /** Two-sided, of no difference, by sign flips over blocks; null under 12 blocks. */
  readonly p_value: number | null;
}

export function percentile(values: readonly number[], p: number): number | null {
  return values.length === 0 ? null : quantile([...values], p);
}

/** Φ. The library's own cumulativeStdNormalProbability is a table with steps of 0.01. */
function normalProbability(z: number): number {
  return (1 + errorFunction(z / Math.SQRT2)) / 2;
}

/** Φ⁻¹. The library's probit is 0.003 off at 0.975; one step of Newton's method leaves 0.00001. */
function normalQuantile(p: number): number {
  const z = probit(p);
  return z + ((p - normalProbability(z)) * Math.sqrt(2 * Math.PI)) / Math.exp(-(z * z) / 2);
}

/** The statistic of resamples with replacement, sorted; null where one of them has none. */
function replicatesOf<Block>(
  blocks: readonly Block[],
  statistic: Statistic<Block>,
  seed: number,
): number[] | null {
  const random = xoroshiro128plus(seed);
  const replicates: number[] = [];
  for (let index = 0; index < resamples; index++) {
    const drawn: Block[] = [];
    for (let draw = 0; draw < blocks.length; draw++) {
      const block = blocks[uniformInt(random, 0, blocks.length - 1)];
      if (block !== undefined) drawn.push(block);
    }
    const value = statistic(drawn);
    if (value === null || !Number.isFinite(value)) return null;
    replicates.push(value);
  }
  return replicates.toSorted((left, right) => left - right);
}

/** How far the estimate lies from the median of its replicates, in standard deviations; ties count half. */
function biasOf(replicates: readonly number[], estimate: number): number | null {
  const below = replicates.filter((value) => value < estimate).length;
  const equal = replicates.filter((value) => value === estimate).length;
  const share = (below + equal / 2) / replicates.length;
  return share === 0 || share === 1 ? null : normalQuantile(share);
}

/** How fast the standard error changes with the value, from leaving out one block at a time. */
function accelerationOf<Block>(blocks: readonly Block[], statistic: Statistic<Block>): number | null {
  const left = blocks.map((_, index) => statistic(blocks.toSpliced(index, 1)) ?? Number.NaN);
  const centre = mean(left);
  const cubes = sum(left.map((value) => (centre - value) ** 3));
  const squares = sum(left.map((value) => (centre - value) ** 2));
  const acceleration = cubes / (6 * squares ** 1.5);
  return Number.isFinite(acceleration) ? acceleration : null;
}

/** Where in the replicates an end of the interval is; null where the correction has no meaning. */
function correctedShare(share: number, bias: number, acceleration: number): number | null {
  const shifted = bias + normalQuantile(share);
  const scale = 1 - acceleration * shifted;
  return scale > 0 ? normalProbability(bias + shifted / scale) : null;
}

/**
 * Bias-corrected and accelerated (BCa) bootstrap interval of a statistic over blocks: 10,000 resamples, acceleration
 * from the jackknife (Efron 1987; Efron and Tibshirani 1993, chapter 14). The same seed gives the same interval.
 * Where bias or acceleration is undefined it is the percentile interval; where all resamples agree, that point.
 *
 * @param level Share of intervals that are to hold the true value. Default 0.95.
 * @returns null under 12 blocks, or where the statistic is no finite number on some resample.
 */
export function bootstrap<Block>(
  blocks: readonly Block[],
  statistic: Statistic<Block>,
  seed: number,
  level = 0.95,
): Interval | null {
  if (blocks.length < blocksMinForInterval) return null;
  const estimate = statistic(blocks);
  const replicates = replicatesOf(blocks, statistic, seed);
  if (estimate === null || replicates === null) return null;
  const shares = { low: (1 - level) / 2, high: (1 + level) / 2 };
  const bias = biasOf(replicates, estimate);
  const acceleration = accelerationOf(blocks, statistic);
  if (bias !== null && acceleration !== null) {
    const low = correctedShare(shares.low, bias, acceleration);
    const high = correctedShare(shares.high, bias, acceleration);
    if (low !== null && high !== null)
      return { low: quantileSorted(replicates, low), high: quantileSorted(replicates, high) };
  }
  return { low: quantileSorted(replicates, shares.low), high: quantileSorted(replicates, shares.high) };
}

/**
 * p-value of no paired difference, two-sided: the share of sign flips whose sum is at least as far from 0 as the one
 * observed (Fisher 1935, § 21). All 2ⁿ flips where they are at most 10,000 (n ≤ 13), else 10,000 random ones beside the
 * observed, so that it is never 0. It assumes that without a difference a block is as likely to have either sign.
 *
 * @returns null without differences.
 */
export function signFlipPValue(differences: readonly number[], seed: number): number | null {
  if (differences.length === 0) return null;
  const all = 2 ** differences.length;
  const random = xoroshiro128plus(seed);
  const isExact = all <= resamples;
  // The same values summed with other signs differ by rounding; flips that tie have to count as ties.
  const slack = 1e-12 * sum(differences.map(Math.abs));
  const observed = Math.abs(sum([...differences])) - slack;
  let asFar = 0;
  for (let flip = 0; flip < (isExact ? all : resamples); flip++) {
    let total = 0;
    differences.forEach((difference, index) => {
      const isFlipped = isExact ? (flip >> index) & 1 : uniformInt(random, 0, 1);
      total += isFlipped === 1 ? -difference : difference;
    });
    if (Math.abs(total) >= observed) asFar++;
  }
  return isExact ? asFar / all : (asFar + 1) / (resamples + 1);
}

/**
 * Holm's step-down correction for several hypotheses (Holm 1979): adjusted p-values in the order given. Rejecting those
 * at most α keeps the chance of any false rejection at α, however they depend on each other.
 */
export function holm(pValues: readonly number[]): number[] {
  const adjusted = pValues.map(() => 1);
  let least = 0;
  pValues
    .map((p, index) => ({ p, index }))
    .toSorted((left, right) => left.p - right.p)
    .forEach(({ p, index }, rank) => {
      least = Math.max(least, Math.min(1, p * (pValues.length - rank)));
      adjusted[index] = least;
    });
  return adjusted;
}

export function pairedDifference(differences: readonly number[], seed: number): PairedDifference | null {
  if (differences.length === 0) return null;
  return {
    blocks: differences.length,
    mean: mean([...differences]),
    median: quantile([...differences], 0.5),
    interval: bootstrap(differences, (drawn) => mean([...drawn]), seed),
    p_value: differences.length < blocksMinForInterval ? null : signFlipPValue(differences, seed),
  };
}

/**
 * The smallest true difference that a comparison of as many blocks would detect four times out of five at the 5 %
 * level, from the spread of an A-A arm: (z 0.975 + z 0.8) · s / √n. Null under 12 blocks.
 */
export function smallestDetectable(differences: readonly number[]): number | null {
  if (differences.length < blocksMinForInterval) return null;
  return ((1.96 + 0.8416) * sampleStandardDeviation([...differences])) / Math.sqrt(differences.length);
}

/** The sum of one arm over the sum of another, over blocks that have both. */
export function ratioOfSums(pairs: readonly (readonly [number, number])[]): number | null {
  const below = pairs.reduce((total, [, baseline]) => total + baseline, 0);
  return below === 0 ? null : pairs.reduce((total, [value]) => total + value, 0) / below;
}
