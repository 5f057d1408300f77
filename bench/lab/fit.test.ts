import { test } from 'node:test';
import assert from 'node:assert/strict';

import type { MeasuredRollout } from './difference.js';
import { fitMachine, requestTokens, turnPairs } from './fit.js';

const turn = (overhead_ms: number, input_tokens = 100, cached_tokens = 60) => ({
  overhead_ms,
  first_token_ms: overhead_ms,
  ms: overhead_ms + 10.5,
  input_tokens,
  cached_tokens,
});
const rollout = (overheads: readonly number[]): MeasuredRollout => ({
  arm: 'append-ws',
  block: 0,
  rollout: 0,
  e2e_ms: 0,
  tool_ms: 0,
  true_tool_ms: 0,
  turns: overheads.map((overhead) => turn(overhead)),
});

test('a request that carries a history is as large as its context less instructions and tools, any other as what is new', () => {
  assert.equal(requestTokens('replay-http', turn(0), 30), 70);
  assert.equal(requestTokens('chain-ws', turn(0), 30), 40);
});

const pair = (tokens: number, extra_ms: number, extra_end_ms: number | null = null) => ({
  tokens,
  extra_ms,
  extra_end_ms,
});

test('the fit gives back a constant, a cost per token and one of the end, and nothing where nothing was measured', () => {
  const cells = [100, 5000, 40_000].map((tokens) => [pair(tokens, 0.4 + tokens * 0.002, 0.3)]);
  const { request_ms, us_per_token, turn_end_ms } = fitMachine(cells);
  assert.ok(Math.abs(request_ms - 0.4) < 1e-9);
  assert.ok(Math.abs(us_per_token - 2) < 1e-9);
  assert.equal(turn_end_ms, 0.3);
  assert.deepEqual(fitMachine([[]]), { request_ms: 0, us_per_token: 0, turn_end_ms: 0 });
});

test('where cells hardly differ in tokens, or more tokens seem to make it faster, a token costs nothing', () => {
  const close = [[pair(100, 1)], [pair(1000, 2)], [pair(500, 9)]];
  assert.deepEqual(fitMachine(close), { request_ms: 2, us_per_token: 0, turn_end_ms: 0 });
  const falling = [[pair(100, 3)], [pair(10_000, 1)], [pair(5000, 2)]];
  assert.deepEqual(fitMachine(falling), { request_ms: 2, us_per_token: 0, turn_end_ms: 0 });
});

test('the first turn takes no part, the last none in its end, and a turn that met something else does not move the fit', () => {
  const overheads = [500, 3, 3, 3, 3, 90];
  const virtual = new Map([[0, overheads.map(() => ({ overhead_ms: 1, first_token_ms: 1, ms: 11 }))]]);
  const pairs = turnPairs('append-ws', [rollout(overheads)], virtual, 0);
  assert.deepEqual(
    pairs.map(({ extra_ms, extra_end_ms }) => [extra_ms, extra_end_ms]),
    [...Array.from({ length: 4 }, () => [2, 0.5]), [89, null]],
  );
  assert.deepEqual(fitMachine([pairs]), { request_ms: 2, us_per_token: 0, turn_end_ms: 0.5 });
});
