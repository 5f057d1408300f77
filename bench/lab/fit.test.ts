import { test } from 'node:test';
import assert from 'node:assert/strict';

import type { MeasuredRollout } from './difference.js';
import { fitMachine, requestTokens, turnPairs } from './fit.js';

const turn = (overhead_ms: number, input_tokens = 100, cached_tokens = 60) => ({
  overhead_ms,
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

test('a request that carries a history is as large as its context, any other as what is new', () => {
  assert.equal(requestTokens('replay-http', turn(0)), 100);
  assert.equal(requestTokens('chain-ws', turn(0)), 40);
});

test('the fit gives back a constant and a cost per token, and nothing where nothing was measured', () => {
  const pairs = [100, 500, 1000].map((tokens) => ({ tokens, extra_ms: 0.4 + tokens * 0.002 }));
  const { request_ms, us_per_token } = fitMachine(pairs);
  assert.ok(Math.abs(request_ms - 0.4) < 1e-9);
  assert.ok(Math.abs(us_per_token - 2) < 1e-9);
  assert.deepEqual(fitMachine([]), { request_ms: 0, us_per_token: 0 });
});

test('tokens that seem to make it faster cost nothing, and the constant is the mean', () => {
  const pairs = [100, 1000].map((tokens) => ({ tokens, extra_ms: 2 - tokens * 0.001 }));
  assert.deepEqual(fitMachine(pairs), { request_ms: 1.45, us_per_token: 0 });
});

test('the first turn and the slowest tenth of the others take no part', () => {
  const overheads = [500, ...Array.from({ length: 19 }, () => 3), 90];
  const virtual = new Map([[0, overheads.map(() => ({ overhead_ms: 1 }))]]);
  const pairs = turnPairs('append-ws', [rollout(overheads)], virtual);
  assert.ok(pairs.length >= 18);
  assert.ok(pairs.every(({ extra_ms }) => extra_ms === 2));
});
