import assert from 'node:assert/strict';
import { test } from 'node:test';

import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { mean, quantile, sampleCorrelation, variance } from 'simple-statistics';

import {
  blocksMinForInterval,
  bootstrap,
  holm,
  pairedDifference,
  ratioOfSums,
  signFlipPValue,
  smallestDetectable,
  type Interval,
} from './statistics.js';

const twelve = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
const average = (values: readonly number[]): number => mean([...values]);

/** Spatial perception of 26 children, test A: Efron and Tibshirani 1993, table 14.1. */
const spatial = [
  48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41,
];

/** LSAT and GPA of 15 law schools: Efron and Tibshirani 1993, table 3.1. */
const schools: readonly (readonly [number, number])[] = [
  [576, 3.39], [635, 3.3], [558, 2.81], [578, 3.03], [666, 3.44], [580, 3.07], [555, 3], [661, 3.43],
  [651, 3.36], [605, 3.13], [653, 3.12], [575, 2.74], [545, 2.76], [572, 2.88], [594, 2.96],
]; // prettier-ignore

/** Darwin's maize, eighths of an inch by which the crossed plant of a pair is taller: Fisher 1935, § 21. */
const maize = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48];

function near(value: number | undefined, expected: number, tolerance: number): void {
  assert.ok(
    value !== undefined && Math.abs(value - expected) <= tolerance,
    `${value} is not within ${tolerance} of ${expected}`,
  );
}

test('there is no interval, no p-value and no smallest effect under twelve blocks', () => {
  assert.equal(blocksMinForInterval, 12);
  const eleven = twelve.slice(1);
  assert.equal(bootstrap(eleven, average, 1), null);
  assert.equal(pairedDifference(eleven, 1)?.interval, null);
  assert.equal(pairedDifference(eleven, 1)?.p_value, null);
  assert.equal(smallestDetectable(eleven), null);
  assert.notEqual(pairedDifference(twelve, 1)?.interval, null);
  assert.notEqual(pairedDifference(twelve, 1)?.p_value, null);
});

test('the interval of the textbook variance is the textbook interval', () => {
  // Efron and Tibshirani 1993, table 14.2: variance 171.5, 90 % BCa (115.8, 259.6), percentile (100.8, 233.9), each from
  // 2,000 resamples. scipy.stats.bootstrap 1.17 with 20,000: BCa (115.7, 261.3), ± 0.6 and 1.1 from seed to seed.
  near(variance(spatial), 171.534, 0.001);
  const interval = bootstrap(spatial, (drawn) => variance([...drawn]), 1, 0.9);
  near(interval?.low, 115.7, 1.5);
  near(interval?.high, 261.3, 3.5);
});

test('a ratio of sums gets an interval over its pairs', () => {
  // scipy.stats.bootstrap 1.17, paired, BCa, 20,000 resamples: (188.26, 198.03), ± 0.08 and 0.04 from seed to seed.
  near(ratioOfSums(schools) ?? undefined, 193.968, 0.001);
  const interval = bootstrap(schools, ratioOfSums, 1);
  near(interval?.low, 188.26, 0.3);
  near(interval?.high, 198.03, 0.15);
});

test('the same seed gives the same interval, another seed another', () => {
  assert.deepEqual(bootstrap(spatial, average, 7), bootstrap(spatial, average, 7));
  assert.notDeepEqual(bootstrap(spatial, average, 7), bootstrap(spatial, average, 8));
});

test('the interval of equal values is that value', () => {
  const equal = Array.from({ length: 12 }, () => 0.1);
  const interval = bootstrap(equal, average, 1);
  assert.equal(interval?.low, interval?.high);
  near(interval?.low, 0.1, 1e-12);
});

test('the interval of a symmetric sample is about the normal one', () => {
  // 100 values with mean 4.5 and population deviation 2.872: 1.96 · 2.872 / √100 = 0.563 each way.
  const values = Array.from({ length: 100 }, (_, index) => index % 10);
  const interval = bootstrap(values, average, 3);
  near(interval?.low, 4.5 - 0.563, 0.04);
  near(interval?.high, 4.5 + 0.563, 0.04);
});

test('shifting and scaling the blocks shifts and scales the interval of the mean', () => {
  const plain = bootstrap(spatial, average, 5);
  assert.ok(plain !== null);
  const moved = bootstrap(
    spatial.map((value) => 1000 + 3 * value),
    average,
    5,
  );
  near(moved?.low, 1000 + 3 * plain.low, 1e-6);
  near(moved?.high, 1000 + 3 * plain.high, 1e-6);
});

test('a monotone transform of the statistic moves the ends as it moves the statistic, up to the jackknife', () => {
  // BCa respects transformations (Efron and Tibshirani 1993, § 14.3); only the acceleration is estimated on either scale.
  const correlation = (drawn: typeof schools): number =>
    sampleCorrelation(
      drawn.map(([lsat]) => lsat),
      drawn.map(([, gpa]) => gpa),
    );
  const plain = bootstrap(schools, correlation, 2);
  const cubed = bootstrap(schools, (drawn) => correlation(drawn) ** 3, 2);
  near(Math.cbrt(cubed?.low ?? 0), plain?.low ?? 0, 0.05);
  near(Math.cbrt(cubed?.high ?? 0), plain?.high ?? 0, 0.02);
});

test('a statistic with no finite value on some resample has no interval', () => {
  const pairs = twelve.map((value) => [value, value === 1 ? 1 : 0] as const);
  assert.equal(bootstrap(pairs, ratioOfSums, 1), null);
});

test('where the acceleration is undefined, the interval is the percentile interval', () => {
  // Leaving out a block changes nothing, so that the jackknife says nothing about the skewness.
  const statistic = (drawn: readonly number[]): number => (drawn.length < 12 ? 0 : average(drawn));
  const interval = bootstrap(twelve, statistic, 4);
  // s = 3.452, so 1.96 · 3.452 / √12 = 1.953 each way, and no correction moves it.
  near(interval?.low, 6.5 - 1.953, 0.1);
  near(interval?.high, 6.5 + 1.953, 0.1);
});

test('where the bias is undefined, the interval is the percentile interval', () => {
  // Thirty distinct blocks; a resample that has them all comes once in 10¹², so that every one lies below the estimate.
  // Distinct in a resample: 30 · (1 − (29/30)³⁰) = 19.15 with deviation 1.70, so about 16 to 22.
  const thirty = Array.from({ length: 30 }, (_, index) => index);
  const interval = bootstrap(thirty, (drawn) => new Set(drawn).size, 4);
  assert.deepEqual(interval, { low: 16, high: 22 });
});

test('on a skewed distribution BCa covers the true mean more often than the percentile interval', () => {
  // The square of an exponential variable has mean 2 and skewness 6.6; of its samples of 12 fewer than 95 in 100 show it.
  const random = xoroshiro128plus(11);
  const covers = ({ low, high }: Interval): boolean => low <= 2 && high >= 2;
  let bca = 0;
  let plain = 0;
  for (let seed = 0; seed < 100; seed++) {
    const sample = Array.from({ length: 12 }, () => Math.log(1 - uniformFloat64(random)) ** 2);
    const means: number[] = [];
    const interval = bootstrap(
      sample,
      (drawn) => {
        const value = average(drawn);
        if (drawn.length === sample.length) means.push(value);
        return value;
      },
      seed,
    );
    if (interval !== null && covers(interval)) bca++;
    // The sample itself comes before its 10,000 resamples.
    const resampled = means.slice(1);
    if (covers({ low: quantile(resampled, 0.025), high: quantile(resampled, 0.975) })) plain++;
  }
  assert.ok(bca > plain && bca < 95, `BCa ${bca}, percentile ${plain} of 100`);
});

test('twelve blocks are tested with every flip of signs', () => {
  // All twelve of one sign: the sample and its mirror are the two farthest of 4,096.
  assert.equal(signFlipPValue(twelve, 1), 2 / 4096);
  // Counted apart over all 4,096 sign vectors of the first twelve pairs: 260 are as far from 0, as scipy's too.
  assert.equal(signFlipPValue(maize.slice(0, 12), 1), 260 / 4096);
  assert.equal(signFlipPValue(maize.slice(0, 12), 2), 260 / 4096);
});

test("more blocks are tested with random flips: Fisher's own example", () => {
  // Fisher 1935, § 21: 863 of the 32,768 arrangements reach the sum of 314 on either side, 1,726 / 32,768 = 0.0527; from
  // 10,000 flips its standard error is 0.0022.
  near(signFlipPValue(maize, 1) ?? undefined, 1726 / 32768, 0.0066);
  assert.equal(signFlipPValue(maize, 3), signFlipPValue(maize, 3));
});

test('a random p-value is never 0, and that of no difference at all is 1', () => {
  const thirty = Array.from({ length: 30 }, () => 1);
  assert.equal(signFlipPValue(thirty, 1), 1 / 10_001);
  assert.equal(
    signFlipPValue(
      twelve.map(() => 0),
      1,
    ),
    1,
  );
  assert.equal(signFlipPValue([], 1), null);
});

test('flips that tie with the sample count, whatever the rounding of their sum', () => {
  // 0.1 + 0.2 − 0.3 is not 0 in binary: of the 8 flips the sample, its mirror and nothing else reach 0.6.
  assert.equal(signFlipPValue([0.1, 0.2, 0.3], 1), 2 / 8);
  assert.equal(signFlipPValue([0.3, -0.1, -0.2], 1), 1);
});

test("Holm's correction multiplies the smallest by the number of hypotheses and never decreases", () => {
  // The example of the Holm–Bonferroni article of Wikipedia; R's p.adjust(p, "holm") gives the same.
  const adjusted = holm([0.01, 0.04, 0.03, 0.005]);
  [0.03, 0.06, 0.06, 0.02].forEach((expected, index) => near(adjusted[index], expected, 1e-12));
  assert.deepEqual(holm([0.4, 0.9]), [0.8, 0.9]);
  assert.deepEqual(holm([0.7, 0.8]), [1, 1]);
  assert.deepEqual(holm([]), []);
});

test('the smallest detectable effect is 2.80 standard errors of the A-A differences', () => {
  // Twelve values ± 1: s² = 12 / 11.
  near(
    smallestDetectable([-1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1]) ?? undefined,
    (2.8016 * Math.sqrt(12 / 11)) / Math.sqrt(12),
    1e-6,
  );
});

test('a ratio of sums weighs long rollouts by their length', () => {
  assert.equal(ratioOfSums([[1, 2], [99, 198]]), 0.5); // prettier-ignore
  assert.equal(ratioOfSums([]), null);
});
