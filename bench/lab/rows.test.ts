import assert from 'node:assert/strict';
import { test } from 'node:test';

import { builtinScenarios } from '../../scenarios/index.js';
import { LatencyHistogram } from '../histogram.js';
import type { Measurement } from '../measure.js';
import { builtinProfiles } from '../service/profile.js';
import { parseRolloutRow, parseTurnRow } from '../schema/rows.js';
import { virtualArm } from '../virtual/arm.js';
import { playVirtual } from '../virtual/rollout.js';
import { rowsOfMeasurement, rowsOfPlayed, type RowPlace } from './rows.js';
import { sampleTurn } from './testing/samples.js';
import { cellAt } from './virtual-sections.js';

const place: RowPlace = {
  path: 'loopback',
  scenario: 'single',
  profile: 'bare',
  arm: 'append-ws',
  tokens_per_second: 1000,
  rtt_ms: 0,
  tool_scale: 1,
  block: 3,
  order: 1,
  rollout: 3,
};

const measured: Measurement = {
  arm: 'append-ws',
  design: 'append',
  transport: 'ws',
  scenario: 'single',
  block: 3,
  order: 1,
  rollout: 3,
  status: 'completed',
  e2e_ms: 30,
  turns: [
    { ...sampleTurn, bytes_down: 200 },
    { ...sampleTurn, turn: 2, ready_ms: 15, output_tokens: 1, bytes_down: 200 },
  ],
  tool_ms: 3,
  true_tool_ms: 300,
  frames_up: 2,
  frames_down: 20,
  bytes_up: 200,
  bytes_down: 400,
  server_cpu_ms: 4,
  client_cpu_ms: 2,
  stage_runs: {
    'pre.validate': { runs: 1, items: 1, tokens: 50, ms: 1 },
    'append.validate': { runs: 1, items: 1, tokens: 5, ms: 1 },
    'post.bill': { runs: 1, items: 1, tokens: 5, ms: 1 },
  },
};

test('a measured rollout becomes a row and one for each turn, as the files are read back', () => {
  const { rollouts, turns } = rowsOfMeasurement(place, measured);
  const [row] = rollouts;
  assert.ok(row !== undefined);
  assert.deepEqual(parseRolloutRow({ unit: 'x', unit_rollouts: 1, ...row }, 'row').pre_runs, 1);
  assert.deepEqual([row.append_runs, row.post_runs, row.output_tokens, row.overhead_ms], [1, 1, 11, 1]);
  for (const turn of turns) parseTurnRow({ unit: 'x', ...turn }, 'row');
  assert.deepEqual(
    turns.map(({ turn, ready_ms, tpot_ms }) => [turn, ready_ms, tpot_ms]),
    [
      [1, 0, 1],
      [2, 15, null],
    ],
  );
});

test('gaps between tokens stand in a row as quantiles, where they were noted', () => {
  const gaps = new LatencyHistogram();
  for (let gap = 1; gap <= 100; gap++) gaps.record(gap);
  const [row] = rowsOfMeasurement(place, { ...measured, itl_histogram: gaps.toBase64() }).rollouts;
  assert.equal(Math.round(row?.itl_p50_ms ?? 0), 50);
  const [without] = rowsOfMeasurement(place, measured).rollouts;
  assert.equal(without?.itl_p50_ms, null);
});

test('a rollout in virtual time has the same rows, without what nobody counts there', async () => {
  const [scenario, profile] = [builtinScenarios.get('single'), builtinProfiles.get('bare')];
  assert.ok(scenario !== undefined && profile !== undefined);
  const cell = cellAt({ scenario, profile, decodeTokensPerSecond: 1000, rttMs: 50 }, 1);
  const played = await playVirtual(cell, virtualArm('append-ws'), 0);
  const { rollouts, turns } = rowsOfPlayed({ ...place, path: 'formula', rtt_ms: 50 }, played);
  const [row] = rollouts;
  assert.ok(row !== undefined);
  parseRolloutRow({ unit: 'x', unit_rollouts: 1, ...row }, 'row');
  assert.deepEqual([row.engine, row.bytes_down, row.server_cpu_ms], ['virtual', null, null]);
  assert.equal(turns.length, played.turns.length);
  assert.equal(turns[0]?.ready_ms, 0);
  for (const turn of turns) parseTurnRow({ unit: 'x', ...turn }, 'row');
});
