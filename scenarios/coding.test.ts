import assert from 'node:assert/strict';
import { test } from 'node:test';

import { codingPreamble, codingRollouts, toolSecondsMax, tracedCoding } from './coding.js';
import { expectedTokens } from './generate.js';

const traced = tracedCoding();
const tracedTurns = traced.flat();
const rollouts = codingRollouts();
const totals = rollouts.map(expectedTokens);
const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

test('the carried numbers add up to what their source does', () => {
  assert.equal(traced.length, 250);
  assert.equal(tracedTurns.length, 5181);
  assert.equal(sum(tracedTurns.map(({ contextTokens }) => contextTokens)), 599_508_568);
  assert.equal(sum(tracedTurns.map(({ appendedTokens }) => appendedTokens ?? 0)), 8_573_261);
  assert.equal(sum(tracedTurns.map(({ outputTokens }) => outputTokens)), 2_340_351);
  assert.equal(sum(tracedTurns.map(({ pauseSeconds }) => pauseSeconds ?? 0)), 215_681);
  const uncounted = tracedTurns.filter((turn) => turn.pauseSeconds !== null && turn.appendedTokens === null);
  assert.equal(uncounted.length, 28);
});

test('turns, output and pauses of the rollouts are those of the source', () => {
  assert.equal(sum(totals.map(({ turns }) => turns)), 5181);
  assert.equal(sum(totals.map(({ calls }) => calls)), 4931, 'one call a turn, none in the last');
  assert.equal(sum(totals.map(({ toolMs }) => toolMs)), 159_717_000, 'cut where they are longer than a tool');
  for (const [index, { turns }] of rollouts.entries())
    for (const [turn, { calls, output_tokens }] of turns.entries()) {
      const real = traced[index]?.[turn];
      const written = output_tokens + sum(calls.map((call) => call.arguments_tokens));
      // What is nothing at all in the source has the fewest tokens that a turn can have.
      assert.ok(written === real?.outputTokens || (real?.outputTokens ?? 0) < 5);
      const pauseSeconds = Math.min(traced[index]?.[turn + 1]?.pauseSeconds ?? 0, toolSecondsMax);
      assert.equal(calls[0]?.tool_ms ?? 0, pauseSeconds * 1000);
    }
});

test('the contexts that are read are those of the source, to within one in a hundred', () => {
  const preamble = codingPreamble.instructions_tokens + codingPreamble.tools_bytes / 4.5;
  const read = sum(totals.map(({ replayedTokens, turns }) => replayedTokens + turns * preamble));
  assert.ok(Math.abs(read / 599_508_568 - 1) < 0.01);
  for (const [index, { context_tokens }] of rollouts.entries())
    assert.equal(context_tokens + preamble, traced[index]?.[0]?.contextTokens);
});
