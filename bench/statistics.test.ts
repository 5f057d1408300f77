import assert from 'node:assert/strict';
import { test } from 'node:test';

import { bootstrapMean, pairedDifference, ratioOfSums, smallestDetectable } from './statistics.js';

const eight = [1, 2, 3, 4, 5, 6, 7, 8];

test('no interval is given under eight blocks', () => {
  assert.equal(bootstrapMean(eight.slice(1), 1), null);
  assert.equal(pairedDifference(eight.slice(1), 1)?.interval, null);
  assert.equal(smallestDetectable(eight.slice(1)), null);
});

test('the bootstrap interval of the mean contains it, and the same seed gives the same one', () => {
  const interval = bootstrapMean(eight, 7);
  assert.ok(interval !== null && interval.low < 4.5 && interval.high > 4.5);
  assert.deepEqual(bootstrapMean(eight, 7), interval);
});

test('the interval of equal values is that value', () => {
  assert.deepEqual(
    bootstrapMean(
      Array.from({ length: 9 }, () => 2),
      1,
    ),
    { low: 2, high: 2 },
  );
});

test('the interval is about as wide as the normal approximation says', () => {
  const values = Array.from({ length: 100 }, (_, index) => index % 10);
  const interval = bootstrapMean(values, 3);
  // s = 2.87, so 1.96 · s / √100 = 0.563 each way.
  assert.ok(interval !== null);
  assert.ok(Math.abs(interval.high - interval.low - 1.126) < 0.1, JSON.stringify(interval));
});

test('the smallest detectable effect is 2.80 standard errors of the A-A differences', () => {
  const effect = smallestDetectable([-1, 1, -1, 1, -1, 1, -1, 1]);
  assert.ok(effect !== null && Math.abs(effect - (2.8016 * 1.0690449676) / Math.sqrt(8)) < 1e-6);
});

test('a ratio of sums weighs long rollouts by their length', () => {
  assert.equal(ratioOfSums([[1, 2], [99, 198]]), 0.5); // prettier-ignore
  assert.equal(ratioOfSums([]), null);
});
