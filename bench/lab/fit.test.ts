import { test } from 'node:test';
import assert from 'node:assert/strict';

import type { MeasuredRollout } from './difference.js';
import { fitMachine, requestTokens, turnPairs, type TurnPair } from './fit.js';

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

test('a request that carries a history makes the server read its whole context, any other what is new', () => {
  assert.equal(requestTokens('replay-http', turn(0)), 100);
  assert.equal(requestTokens('chain-ws', turn(0)), 40);
});

const pair = (tokens: number, extra_ms: number, extra_end_ms: number | null = null): TurnPair => ({
  tokens,
  extra_ms,
  extra_end_ms,
});
const cell = (pairs: readonly TurnPair[], repeatedBytes = 0) => ({ pairs, repeatedBytes });
const nothing = { us_per_token: 0, us_per_repeated_byte: 0, turn_end_ms: 0 };

function near(value: number, expected: number): void {
  assert.ok(Math.abs(value - expected) < 1e-9, `${value} and ${expected}`);
}

test('the fit gives back a constant, a cost per token and one of the end, and nothing where nothing was measured', () => {
  const cells = [100, 5000, 40_000].map((tokens) => cell([pair(tokens, 0.4 + tokens * 0.002, 0.3)]));
  const { request_ms, us_per_token, turn_end_ms } = fitMachine(cells);
  near(request_ms, 0.4);
  near(us_per_token, 2);
  assert.equal(turn_end_ms, 0.3);
  assert.deepEqual(fitMachine([cell([])]), { request_ms: 0, ...nothing });
  assert.deepEqual(fitMachine([]), { request_ms: 0, ...nothing });
});

test('turns that hardly differ in tokens say nothing of a token, and one that seems to save time costs nothing', () => {
  const close = [cell([pair(100, 1), pair(199, 2), pair(150, 9)])];
  assert.deepEqual(fitMachine(close), { request_ms: 2, ...nothing });
  const falling = [cell([pair(100, 3), pair(10_000, 1), pair(5000, 2)])];
  assert.deepEqual(fitMachine(falling), { request_ms: 2, ...nothing });
});

test('what is sent again costs by the byte, where cells differ in it, and no token is charged with that', () => {
  const tokens = [100, 300, 500];
  const at = (bytes: number) =>
    cell(
      tokens.map((count) => pair(count, 1 + count * 0.002 + bytes / 1e4)),
      bytes,
    );
  const { request_ms, us_per_token, us_per_repeated_byte } = fitMachine([at(9000), at(19_000), at(9000)]);
  near(request_ms, 1);
  near(us_per_token, 2);
  near(us_per_repeated_byte, 0.1);
  assert.equal(fitMachine([at(9000)]).us_per_repeated_byte, 0);
});

test('a few turns that met something else do not move the cost of a token', () => {
  const tokens = Array.from({ length: 20 }, (_, at) => 100 + at * 200);
  const pairs = tokens.map((count, at) => pair(count, 1 + count * 0.002 + (at % 7 === 3 ? 50 : 0)));
  const { request_ms, us_per_token } = fitMachine([cell(pairs)]);
  near(us_per_token, 2);
  near(request_ms, 1);
});

test('the first turn takes no part, the last none in its end, and a turn that met something else does not move the fit', () => {
  const overheads = [500, 3, 3, 3, 3, 90];
  const virtual = new Map([[0, overheads.map(() => ({ overhead_ms: 1, first_token_ms: 1, ms: 11 }))]]);
  const pairs = turnPairs('append-ws', [rollout(overheads)], virtual);
  assert.deepEqual(
    pairs.map(({ extra_ms, extra_end_ms }) => [extra_ms, extra_end_ms]),
    [...Array.from({ length: 4 }, () => [2, 0.5]), [89, null]],
  );
  assert.deepEqual(fitMachine([cell(pairs)]), { request_ms: 2, ...nothing, turn_end_ms: 0.5 });
});
