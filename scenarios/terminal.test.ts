import assert from 'node:assert/strict';
import { test } from 'node:test';

import { expectedTokens, type RolloutTotals } from './generate.js';
import { terminalPreamble, terminalRollouts, tracedRollouts } from './terminal.js';

const traced = tracedRollouts();
const rollouts = terminalRollouts();
const totals = rollouts.map(expectedTokens);
const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
const median = (numbers: readonly number[]): number => {
  const sorted = numbers.toSorted((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? 0;
  return (at(Math.floor((sorted.length - 1) / 2)) + at(Math.ceil((sorted.length - 1) / 2))) / 2;
};
const of = (field: keyof RolloutTotals): number[] => totals.map((total) => total[field]);

test('the carried numbers agree with the statistics of their source', () => {
  assert.equal(traced.length, 950);
  assert.equal(new Set(traced.map(({ task }) => task)).size, 50);
  assert.equal(sum(traced.map(({ inputTokens }) => inputTokens)), 45_465_753);
  assert.equal(sum(traced.map(({ outputTokens }) => outputTokens)), 2_901_055);
  const calls = traced.flatMap(({ toolTurns }) => toolTurns.map((turn) => turn.calls));
  assert.equal(calls.length, 5474);
  assert.equal(sum(calls), 5500);
});

test('turns, calls and tool times of the rollouts are those of the source', () => {
  assert.equal(sum(of('turns')), 6424);
  assert.equal(median(of('turns')), 5.5);
  assert.equal(Math.max(...of('turns')), 31);
  assert.equal(sum(of('calls')), 5500);
  assert.ok(Math.abs(sum(of('toolMsSum')) - 28_011_233) < 300);
  assert.ok(Math.abs(median(of('toolMsSum')) - 1237.65) < 1);
  for (const [index, rollout] of rollouts.entries())
    for (const [turn, { calls }] of rollout.turns.entries()) {
      const real = traced[index]?.toolTurns[turn];
      assert.equal(calls.length, real?.calls ?? 0);
      assert.equal(Math.max(0, ...calls.map((call) => call.tool_ms)), real?.slowestMs ?? 0);
    }
});

test('every rollout writes exactly the output tokens of its source', () => {
  for (const [index, { outputTokens }] of totals.entries())
    assert.equal(outputTokens, traced[index]?.outputTokens);
});

test('every rollout reads the input tokens of its source, to within one in a hundred', () => {
  const preamble = terminalPreamble.instructions_tokens + Math.round(terminalPreamble.tools_bytes / 4.5);
  const ratios = totals.map(
    ({ replayedTokens, turns }, index) =>
      (replayedTokens + turns * preamble) / (traced[index]?.inputTokens ?? 0),
  );
  assert.ok(ratios.every((ratio) => Math.abs(ratio - 1) <= 0.01));
});

test('the trace is split the same way every time', () => {
  assert.deepEqual(terminalRollouts(), rollouts);
});
