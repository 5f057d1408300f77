import assert from 'node:assert/strict';
import { test } from 'node:test';

import { builtinScenarios } from '../scenarios/index.js';
import { arms, headlineArms, twinArm } from './arms.js';
import type { Measurement, MeasuredTurn } from './measure.js';
import { corrected, summarise } from './summary.js';

const single = builtinScenarios.get('single');
assert.ok(single !== undefined);
const scenario = single;

function turn(number: number, overhead: number): MeasuredTurn {
  return {
    turn: number,
    ready_ms: 0,
    first_event_ms: overhead,
    first_token_ms: overhead + 1,
    last_token_ms: overhead + 8,
    overhead_ms: overhead,
    ms: 10,
    input_tokens: 100,
    cached_tokens: 50,
    output_tokens: 10,
    bytes_up: 100,
    bytes_down: 200,
  };
}

function measurement(arm: string, block: number, e2e: number, overhead = 1): Measurement {
  return {
    arm,
    design: arm,
    transport: 'ws',
    scenario: scenario.name,
    block,
    order: 0,
    rollout: block,
    status: 'completed',
    e2e_ms: e2e,
    turns: [turn(1, 50), turn(2, overhead)],
    tool_ms: 1,
    true_tool_ms: 101,
    frames_up: 2,
    frames_down: 20,
    bytes_up: 200,
    bytes_down: 400,
    server_cpu_ms: 4,
    client_cpu_ms: 2,
    stage_runs: { 'pre.render': { runs: 1, items: 1, tokens: 50, ms: 1 } },
  };
}

/** Twelve blocks in which append takes `append(block)` and chain 100 ms. */
function blocks(append: (block: number) => number): Measurement[] {
  return Array.from({ length: 12 }, (_, block) => [
    measurement(headlineArms.prototype, block, append(block)),
    measurement(twinArm, block, append(block) + (block % 2)),
    measurement(headlineArms.shipped, block, 100),
  ]).flat();
}

test('the headline is the paired difference of end-to-end time per turn', () => {
  const { headline } = summarise(
    scenario,
    blocks(() => 90),
    { seed: 1 },
  );
  assert.equal(headline?.ms_per_turn.mean, -5);
  assert.deepEqual(headline.ms_per_turn.interval, { low: -5, high: -5 });
  assert.ok(Math.abs(headline.relative + 0.1) < 1e-12);
  // 100 ms as run plus 100 ms of tool time that was scaled away.
  assert.ok(Math.abs(headline.relative_at_true_tool_time + 0.05) < 1e-12);
  assert.ok(Math.abs((headline.relative_interval?.low ?? 0) + 0.1) < 1e-12);
  assert.equal(headline.ms_per_turn.p_value, 2 / 4096);
  assert.match(headline.verdict, /append-ws is faster by 10.0 %/);
});

test('a difference below five per cent is called no material difference', () => {
  const { headline } = summarise(
    scenario,
    blocks(() => 98),
    { seed: 1 },
  );
  assert.match(headline?.verdict ?? '', /^no material difference: 2.0 % of end-to-end is below 5 %$/);
});

test('a difference whose interval includes 0 is called no material difference', () => {
  const { headline } = summarise(
    scenario,
    blocks((block) => (block % 2 === 0 ? 60 : 141)),
    { seed: 1 },
  );
  assert.match(headline?.verdict ?? '', /^no material difference: the interval includes 0$/);
});

test('the p-values of several scenarios are corrected for their number, and the verdict with them', () => {
  // From 94 ms faster to 38 ms slower: 200 of the 4,096 flips are as far from 0, counted apart.
  const one = summarise(
    scenario,
    blocks((block) => 6 + 12 * block),
    { seed: 1 },
  );
  const p = 200 / 4096;
  assert.equal(one.headline?.p_adjusted, p);
  const two = corrected([one, { ...one, scenario: 'other' }]);
  assert.deepEqual(
    two.map(({ headline }) => headline?.p_adjusted),
    [2 * p, 2 * p],
  );
  assert.match(two[0]?.headline?.verdict ?? '', /^no material difference: p is 0\.098 after correction/);
  assert.equal(corrected([one])[0]?.headline?.verdict, one.headline.verdict);
});

test('under twelve blocks there is no verdict and no interval', () => {
  const { headline } = summarise(scenario, blocks(() => 50).slice(0, 9), { seed: 1 });
  assert.equal(headline?.ms_per_turn.interval, null);
  assert.match(headline.verdict, /too few blocks \(3\)/);
});

test('overhead is that of the turns after the first, and costs are means per turn', () => {
  const { rows } = summarise(
    scenario,
    blocks(() => 90),
    { seed: 1 },
  );
  const append = rows.find((row) => row.arm === headlineArms.prototype);
  assert.equal(append?.turn_overhead_ms.p50, 1);
  assert.equal(append.bytes_up, 100);
  assert.equal(append.server_cpu_ms, 2);
  assert.equal(append.tokens_rendered, 50);
  assert.deepEqual(append.stage_runs, { 'pre.render': 1 });
  assert.equal(rows.length, arms.length);
});

test('ratios are taken over the blocks that have the baseline', () => {
  const measured = [...blocks(() => 90), measurement('replay-ws', 0, 180), measurement('replay-ws', 4, 180)];
  const { rows } = summarise(scenario, measured, { seed: 1 });
  assert.equal(rows.find((row) => row.arm === headlineArms.prototype)?.e2e_ratio, 0.5);
  assert.equal(rows.find((row) => row.arm === 'replay-ws')?.e2e_ratio, 1);
  assert.equal(rows.find((row) => row.arm === 'replay-ws')?.e2e_ratio_interval, null);
});
