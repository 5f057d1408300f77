import assert from 'node:assert/strict';
import { test } from 'node:test';

import { expectedTokens, requestsOf } from './generate.js';
import { supportRollouts, tracedSupport } from './support.js';

const traced = tracedSupport();
const requests = traced.flatMap((rollout) => rollout.requests);
const turns = requests.flatMap((request) => request.turns);
const rollouts = supportRollouts();
const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

test('the carried numbers add up to what their source does', () => {
  assert.equal(traced.length, 200);
  assert.equal(new Set(traced.map(({ task }) => task)).size, 50);
  assert.equal(requests.length, 1341);
  assert.equal(sum(requests.map(({ userTokens }) => userTokens)), 32_472);
  assert.equal(turns.length, 2454);
  assert.equal(sum(turns.map(({ messageTokens }) => messageTokens)), 102_289);
  const calls = turns.flatMap(({ argumentsTokens }) => argumentsTokens ?? []);
  assert.equal(calls.length, 1164);
  assert.equal(sum(calls), 35_901);
  const outputs = turns.flatMap(({ toolOutputTokens }) => toolOutputTokens ?? []);
  assert.equal(outputs.length, 1113);
  assert.equal(sum(outputs), 269_744);
});

test('requests, turns and calls of the rollouts are those of the source', () => {
  const totals = rollouts.map(expectedTokens);
  assert.equal(sum(rollouts.map((rollout) => requestsOf(rollout).length)), 1341);
  assert.equal(sum(totals.map((total) => total.turns)), 2454);
  assert.equal(sum(totals.map(({ calls }) => calls)), 1113, 'those that a turn reads on from');
  const raised = sum(totals.map(({ outputTokens }) => outputTokens)) - 102_289 - 35_901;
  assert.ok(raised >= 0 && raised < 20, 'arguments of two calls are raised to the shortest that are made');
});

test('a conversation ends where its user asked no more', () => {
  for (const rollout of rollouts)
    for (const request of requestsOf(rollout)) assert.deepEqual(request.turns.at(-1)?.calls, []);
});
