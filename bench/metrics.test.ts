import assert from 'node:assert/strict';
import { test } from 'node:test';

import { LatencyHistogram } from './histogram.js';
import type { Measurement, MeasuredTurn } from './measure.js';
import { effectiveTps, goodput, meets, metricDefinitions, metricsOf, quantiles, tpotMs } from './metrics.js';

function turn(number: number, fields: Partial<MeasuredTurn> = {}): MeasuredTurn {
  return {
    turn: number,
    ready_ms: 0,
    first_event_ms: 5,
    first_token_ms: 10,
    last_token_ms: 110,
    overhead_ms: 5,
    ms: 112,
    input_tokens: 100,
    cached_tokens: 50,
    output_tokens: 101,
    bytes_up: 100,
    bytes_down: 200,
    ...fields,
  };
}

function measurement(fields: Partial<Measurement> = {}): Measurement {
  return {
    arm: 'append-ws',
    design: 'append',
    transport: 'ws',
    scenario: 'single',
    block: 0,
    order: 0,
    rollout: 0,
    status: 'completed',
    e2e_ms: 1500,
    turns: [turn(1, { first_event_ms: 40, first_token_ms: 50, last_token_ms: 150 }), turn(2)],
    tool_ms: 500,
    true_tool_ms: 500,
    frames_up: 2,
    frames_down: 20,
    bytes_up: 200,
    bytes_down: 400,
    server_cpu_ms: 4,
    client_cpu_ms: 2,
    stage_runs: {},
    ...fields,
  };
}

function gaps(...latencies: number[]): string {
  const histogram = new LatencyHistogram();
  for (const latencyMs of latencies) histogram.record(latencyMs);
  return histogram.toBase64();
}

test('TPOT spreads the time from first to last token over the tokens after the first', () => {
  assert.equal(tpotMs(turn(1)), 1);
  assert.equal(tpotMs(turn(1, { output_tokens: 1 })), null);
  assert.equal(tpotMs(turn(1, { output_tokens: 0 })), null);
});

test('effective TPS leaves out the time of the tools', () => {
  // Twice 101 tokens in a second.
  assert.equal(effectiveTps(measurement()), 202);
  assert.equal(effectiveTps(measurement({ tool_ms: 1500 })), null);
});

test('TTFT is of all turns, the times from a tool output are of those after the first', () => {
  const metrics = metricsOf([measurement()]);
  assert.equal(metrics.ttft_ms.p50, 30);
  assert.equal(metrics.tool_output_to_first_event_ms.p50, 5);
  assert.equal(metrics.tool_output_to_first_token_ms.p50, 10);
  assert.equal(metrics.request_latency_ms.p50, 112);
  assert.equal(metrics.e2el_ms.p50, 1500);
  assert.equal(metrics.effective_tps.p50, 202);
  assert.equal(metrics.tpot_ms.p99, 1);
});

test('gaps between deltas are pooled over rollouts, and none where none were kept', () => {
  const { itl_ms: pooled } = metricsOf([
    measurement({ itl_histogram: gaps(1, 1, 1) }),
    measurement({ itl_histogram: gaps(9) }),
    measurement(),
  ]);
  assert.ok(pooled.p50 !== null && Math.abs(pooled.p50 - 1) <= 0.01);
  assert.ok(pooled.p99 !== null && Math.abs(pooled.p99 - 9) <= 0.09);
  assert.deepEqual(metricsOf([measurement()]).itl_ms, { p50: null, p90: null, p95: null, p99: null });
});

test('quantiles interpolate, and of nothing are null', () => {
  assert.deepEqual(quantiles(Array.from({ length: 101 }, (_, index) => index)), { p50: 50, p90: 90, p95: 95, p99: 99 }); // prettier-ignore
  assert.equal(quantiles([]).p50, null);
});

test('goodput counts completed rollouts within both bounds, per second', () => {
  const objectives = { ttftP95MsMax: 100, e2elMsMax: 2000 };
  const slowToken = measurement({ turns: [turn(1), turn(2, { first_token_ms: 400 })] });
  const rollouts = [
    measurement(),
    slowToken,
    measurement({ e2e_ms: 2001 }),
    measurement({ status: 'failed' }),
    measurement({ turns: [] }),
  ].map((one) => ({ rollout: one, lateMs: 0 }));
  assert.equal(goodput(rollouts, objectives, 10_000), 0.1);
  assert.equal(goodput([], objectives, 1000), 0);
  assert.throws(() => goodput(rollouts, objectives, 0), /more than 0 ms/);
});

test('a late start counts against both bounds', () => {
  const served = (lateMs: number) => ({ rollout: measurement(), lateMs });
  assert.equal(meets(served(500), { ttftP95MsMax: 1000, e2elMsMax: 2000 }), true);
  assert.equal(meets(served(501), { ttftP95MsMax: 1000, e2elMsMax: 2000 }), false);
  assert.equal(meets(served(400), { ttftP95MsMax: 100, e2elMsMax: 2000 }), false);
});

test('every metric has a definition', () => {
  const names = new Set(Object.keys(metricDefinitions));
  for (const name of Object.keys(metricsOf([]))) assert.ok(names.delete(name), name);
  assert.deepEqual([...names], ['goodput']);
});
