import assert from 'node:assert/strict';
import { test } from 'node:test';

import { mean, standardDeviation } from 'simple-statistics';

import { arrivalPatterns, arrivalTimes, recordedGapsMs } from './arrivals.js';

function gaps(times: readonly number[]): number[] {
  return times.map((at, index) => at - (times[index - 1] ?? 0));
}

for (const pattern of arrivalPatterns)
  test(`${pattern} arrivals ascend, end where the rate says, and are the same for a seed at every rate but closer`, () => {
    const times = arrivalTimes(pattern, { count: 500, ratePerSecond: 2, seed: 1 });
    assert.equal(times.length, 500);
    assert.ok(gaps(times).every((gap) => gap >= 0));
    assert.ok(Math.abs((times.at(-1) ?? 0) - 250_000) < 1e-6);
    const closer = arrivalTimes(pattern, { count: 500, ratePerSecond: 4, seed: 1 });
    assert.ok(closer.every((at, index) => Math.abs(2 * at - (times[index] ?? 0)) < 1e-6));
    assert.deepEqual(arrivalTimes(pattern, { count: 500, ratePerSecond: 2, seed: 1 }), times);
    assert.notDeepEqual(arrivalTimes(pattern, { count: 500, ratePerSecond: 2, seed: 2 }), times);
  });

test('gaps of Poisson arrivals spread as far as their mean, recorded ones more than ten times as far', () => {
  const spread = (times: readonly number[]): number => standardDeviation(gaps(times)) / mean(gaps(times));
  const asked = { count: 2000, ratePerSecond: 1, seed: 3 };
  const poisson = spread(arrivalTimes('poisson', asked));
  assert.ok(poisson > 0.9 && poisson < 1.1, `${poisson}`);
  const recorded = spread(arrivalTimes('recorded', asked));
  assert.ok(recorded > 11 && recorded < 14, `${recorded}`);
});

test('the recorded table ascends', () => {
  const { p, v } = recordedGapsMs;
  assert.equal(p.length, v.length);
  for (const list of [p, v])
    assert.deepEqual(
      [...list].sort((a, b) => a - b),
      list,
    );
});

test('a rate or a count that can not be is refused', () => {
  assert.throws(
    () => arrivalTimes('poisson', { count: 1, ratePerSecond: 0, seed: 1 }),
    /0 arrivals a second/,
  );
  assert.throws(() => arrivalTimes('poisson', { count: 0.5, ratePerSecond: 1, seed: 1 }), /0.5 arrivals/);
  assert.deepEqual(arrivalTimes('poisson', { count: 0, ratePerSecond: 1, seed: 1 }), []);
});
