import { test } from 'node:test';
import assert from 'node:assert/strict';

import type { MeasuredRollout } from './difference.js';
import { fitMachine, requestTokens, turnPairs } from './fit.js';

const turn = (overhead_ms: number, input_tokens = 100, cached_tokens = 60, ready_ms = 0) => ({
  ready_ms,
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
  // Every turn is ready a second after the one before.
  turns: overheads.map((overhead, at) => turn(overhead, 100, 60, at * 1000)),
});

test('a request that carries a history is as large as its context less instructions and tools, any other as what is new', () => {
  assert.equal(requestTokens('replay-http', turn(0), 30), 70);
  assert.equal(requestTokens('chain-ws', turn(0), 30), 40);
});

const pair = (tokens: number, extra_ms: number, extra_end_ms: number | null = null, woke = true) => ({
  woke,
  tokens,
  extra_ms,
  extra_end_ms,
});

test('the fit gives back a constant, a cost per token and one of the end, and nothing where nothing was measured', () => {
  const pairs = [100, 5000, 40_000].map((tokens) => pair(tokens, 0.4 + tokens * 0.002, 0.3));
  const { request_ms, us_per_token, turn_end_ms } = fitMachine(pairs);
  assert.ok(Math.abs(request_ms - 0.4) < 1e-9);
  assert.ok(Math.abs(us_per_token - 2) < 1e-9);
  assert.equal(turn_end_ms, 0.3);
  assert.deepEqual(fitMachine([]), { request_ms: 0, us_per_token: 0, wake_ms: 0, turn_end_ms: 0 });
});

test('turns that hardly differ in tokens say nothing of a token, and one that seems to save time costs nothing', () => {
  const close = [pair(100, 1), pair(199, 2), pair(150, 9)];
  assert.deepEqual(fitMachine(close), { request_ms: 2, us_per_token: 0, wake_ms: 0, turn_end_ms: 0 });
  const falling = [pair(100, 3), pair(10_000, 1), pair(5000, 2)];
  assert.deepEqual(fitMachine(falling), { request_ms: 2, us_per_token: 0, wake_ms: 0, turn_end_ms: 0 });
});

test('a turn that finds the machine idle costs more by what it takes to wake it, and no token is charged with that', () => {
  const awake = [100, 200, 300].map((tokens) => pair(tokens, 1 + tokens * 0.002, null, false));
  const woken = [400, 500, 600].map((tokens) => pair(tokens, 1.8 + tokens * 0.002));
  const { request_ms, us_per_token, wake_ms } = fitMachine([...awake, ...woken]);
  for (const [value, expected] of [
    [request_ms, 1],
    [us_per_token, 2],
    [wake_ms, 0.8],
  ] as const)
    assert.ok(Math.abs(value - expected) < 1e-9, `${value} and ${expected}`);
  assert.equal(fitMachine(woken).wake_ms, 0);
});

test('a turn wakes the machine where it is ready a millisecond after the end of the one before, or a round trip is', () => {
  const row = {
    ...rollout([]),
    turns: [turn(1), turn(1, 100, 60, 11.6), turn(1, 100, 60, 40)], // Each ends after 11.5 ms.
  };
  const virtual = new Map([[0, row.turns]]);
  const woke = (rttMs: number): boolean[] =>
    turnPairs('append-ws', [row], virtual, { preambleTokens: 0, rttMs }).map((one) => one.woke);
  assert.deepEqual(
    [woke(0), woke(2)],
    [
      [false, true],
      [true, true],
    ],
  );
});

test('a few turns that met something else do not move the cost of a token', () => {
  const tokens = Array.from({ length: 20 }, (_, at) => 100 + at * 200);
  const pairs = tokens.map((count, at) => pair(count, 1 + count * 0.002 + (at % 7 === 3 ? 50 : 0)));
  const { request_ms, us_per_token } = fitMachine(pairs);
  assert.ok(Math.abs(us_per_token - 2) < 1e-9, String(us_per_token));
  assert.ok(Math.abs(request_ms - 1) < 1e-9, String(request_ms));
});

test('the first turn takes no part, the last none in its end, and a turn that met something else does not move the fit', () => {
  const overheads = [500, 3, 3, 3, 3, 90];
  const virtual = new Map([[0, overheads.map(() => ({ overhead_ms: 1, first_token_ms: 1, ms: 11 }))]]);
  const pairs = turnPairs('append-ws', [rollout(overheads)], virtual, { preambleTokens: 0, rttMs: 0 });
  assert.deepEqual(
    pairs.map(({ extra_ms, extra_end_ms }) => [extra_ms, extra_end_ms]),
    [...Array.from({ length: 4 }, () => [2, 0.5]), [89, null]],
  );
  assert.deepEqual(fitMachine(pairs), { request_ms: 2, us_per_token: 0, wake_ms: 0, turn_end_ms: 0.5 });
});
