import assert from 'node:assert/strict';
import { test } from 'node:test';

import { decodeFromCompressedBase64 } from 'hdr-histogram-js';

import { LatencyHistogram, latencyMsMax } from './histogram.js';

function recorded(latencies: Iterable<number>): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const latencyMs of latencies) histogram.record(latencyMs);
  return histogram;
}

test('one latency anywhere from a microsecond to an hour comes back within 1 % or 1 µs', () => {
  for (let latencyMs = 0.001; latencyMs <= latencyMsMax; latencyMs *= 1.37) {
    const read = recorded([latencyMs]).quantiles()?.p50 ?? Number.NaN;
    assert.ok(
      Math.abs(read - latencyMs) <= Math.max(latencyMs * 0.01, 0.001),
      `${latencyMs} came back as ${read}`,
    );
  }
  const longest = recorded([latencyMsMax]).quantiles()?.p99 ?? Number.NaN;
  assert.ok(Math.abs(longest / latencyMsMax - 1) <= 0.01);
});

test('quantiles are those of everything recorded', () => {
  const quantiles = recorded(Array.from({ length: 1000 }, (_, index) => index + 1)).quantiles();
  assert.ok(quantiles !== null);
  for (const [name, expected] of [
    ['p50', 500],
    ['p90', 900],
    ['p95', 950],
    ['p99', 990],
  ] as const)
    // prettier-ignore
    assert.ok(Math.abs(quantiles[name] / expected - 1) <= 0.01, `${name} is ${quantiles[name]}`);
});

test('an empty one has no quantiles', () => {
  assert.equal(new LatencyHistogram().quantiles(), null);
  assert.equal(new LatencyHistogram().count, 0);
});

test('what is no latency is refused', () => {
  const histogram = new LatencyHistogram();
  for (const wrong of [-1, Number.NaN, latencyMsMax + 1, Infinity])
    assert.throws(() => histogram.record(wrong), /A latency is from 0 to 3600000 ms, not/);
  assert.equal(histogram.count, 0);
});

test('the sum of two is as if one had counted both', () => {
  const left = recorded([1, 2, 3]);
  left.add(recorded([1000, 2000]));
  assert.equal(left.count, 5);
  assert.deepEqual(left.quantiles(), recorded([1, 2, 3, 1000, 2000]).quantiles());
});

test('it goes through text and goes on counting', () => {
  const before = recorded([0.002, 5, 70, 900, latencyMsMax]);
  const after = LatencyHistogram.fromBase64(before.toBase64());
  assert.equal(after.count, 5);
  assert.deepEqual(after.quantiles(), before.quantiles());
  after.record(5);
  assert.equal(after.count, 6);
  assert.throws(() => LatencyHistogram.fromBase64('bm90IGEgaGlzdG9ncmFt'), /Encoding not supported/);
});

test('its text is what any HdrHistogram reads, in microseconds', () => {
  const read = decodeFromCompressedBase64(recorded([20]).toBase64());
  assert.ok(Math.abs(read.getValueAtPercentile(50) / 20_000 - 1) <= 0.01);
});
