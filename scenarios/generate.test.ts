import assert from 'node:assert/strict';
import { test } from 'node:test';

import { builtinScenarios } from './builtin.js';
import { expectedTokens, requestsOf, rolloutOf, turnsOf } from './generate.js';
import { draw, generatorFor } from './random.js';
import type { Scenario } from './scenario.js';

function builtin(name: string): Scenario {
  const scenario = builtinScenarios.get(name);
  assert.ok(scenario);
  return scenario;
}

const bursty: Scenario = {
  name: 'bursty',
  question: 'Does drawing work?',
  source: 'Made up.',
  instructions_tokens: 10,
  tools_count: 1,
  tools_bytes: 300,
  drawn: {
    turns: { p: [0, 100], v: [2, 30] },
    context_tokens: { p: [0, 100], v: [0, 900] },
    output_tokens: { p: [0, 100], v: [0, 200] },
    final_output_tokens: 0,
    calls: { p: [0, 80, 100], v: [0, 1, 4] },
    arguments_tokens: { p: [0, 100], v: [0, 80] },
    tool_ms: { p: [0, 100], v: [0, 1000] },
    tool_output_tokens: 0,
  },
};

test('scenario, seed and index name one rollout', () => {
  for (const scenario of [...builtinScenarios.values(), bursty]) {
    const first = rolloutOf(scenario, 7, 3);
    rolloutOf(scenario, 8, 3);
    assert.deepEqual(rolloutOf(scenario, 7, 3), first);
  }
  assert.notDeepEqual(rolloutOf(bursty, 7, 3), rolloutOf(bursty, 8, 3));
  assert.notDeepEqual(rolloutOf(bursty, 7, 3), rolloutOf(bursty, 7, 4));
});

test('a negative or broken index and seed are refused', () => {
  assert.throws(() => rolloutOf(bursty, 1, -1), RangeError);
  assert.throws(() => rolloutOf(bursty, 1, 0.5), RangeError);
  assert.throws(() => rolloutOf(bursty, Number.NaN, 0), RangeError);
});

test('given rollouts come in an order of the seed, each once before any comes again', () => {
  const terminal = builtin('terminal');
  const count = terminal.rollouts?.length ?? 0;
  const order = Array.from({ length: count }, (_, index) => rolloutOf(terminal, 1, index));
  assert.equal(new Set(order).size, count);
  assert.equal(rolloutOf(terminal, 1, count), order[0]);
  const other = Array.from({ length: count }, (_, index) => rolloutOf(terminal, 2, index));
  assert.notDeepEqual(
    order.map(({ label }) => label),
    other.map(({ label }) => label),
  );
});

test('drawn rollouts keep the least that a rollout needs', () => {
  for (let index = 0; index < 100; index++) {
    const { context_tokens, turns } = rolloutOf(bursty, 1, index);
    assert.ok(context_tokens >= 1);
    assert.ok(turns.length >= 2 && turns.length <= 30);
    assert.deepEqual(turns.at(-1), { output_tokens: 1, calls: [] });
    for (const { calls } of turns.slice(0, -1)) {
      assert.ok(calls.length >= 1 && calls.length <= 4);
      assert.ok(calls.every((call) => call.arguments_tokens >= 5 && call.output_tokens === 1));
    }
  }
});

test('a table is drawn from by inverse distribution function', () => {
  const random = generatorFor('table');
  const values = Array.from({ length: 4000 }, () => draw({ p: [0, 50, 100], v: [0, 10, 1000] }, random));
  const below = values.filter((value) => value < 10).length;
  assert.ok(below > 1850 && below < 2150);
  assert.ok(values.every((value) => value >= 0 && value <= 1000));
});

test('claim-regime has the numbers of the claim', () => {
  const rollout = rolloutOf(builtin('claim-regime'), 1, 0);
  assert.deepEqual(expectedTokens(rollout), {
    turns: 21,
    calls: 20,
    inputTokens: 60_000 + 20 * 875,
    outputTokens: 21 * 214,
    replayedTokens: 21 * 60_000 + 210 * (875 + 214),
    toolMs: 2000,
    toolMsSum: 2000,
  });
  assert.deepEqual(rollout, rolloutOf(builtin('claim-regime'), 2, 5));
});

test('single has one turn or two, about equally often', () => {
  const lengths = Array.from(
    { length: 400 },
    (_, index) => rolloutOf(builtin('single'), 1, index).turns.length,
  );
  const short = lengths.filter((length) => length === 1).length;
  assert.equal(lengths.filter((length) => length === 2).length, 400 - short);
  assert.ok(short > 150 && short < 250);
});

test('the calls of a turn run in parallel, so the client waits for the slowest', () => {
  const call = { arguments_tokens: 5, output_tokens: 10 };
  const totals = expectedTokens({
    context_tokens: 100,
    turns: [
      {
        output_tokens: 1,
        calls: [
          { ...call, tool_ms: 3 },
          { ...call, tool_ms: 4 },
        ],
      },
      { output_tokens: 2, calls: [] },
    ],
  });
  assert.equal(totals.toolMs, 4);
  assert.equal(totals.toolMsSum, 7);
  assert.equal(totals.replayedTokens, 100 + 131);
});

test('the totals of a conversation are those of all its requests, without what its user thinks', () => {
  const call = { arguments_tokens: 5, output_tokens: 10, tool_ms: 3 };
  const totals = expectedTokens({
    context_tokens: 100,
    turns: [{ output_tokens: 2, calls: [] }],
    follow_ups: [
      {
        pause_ms: 60_000,
        model_change: false,
        context_tokens: 7,
        turns: [
          { output_tokens: 1, calls: [call] },
          { output_tokens: 4, calls: [] },
        ],
      },
    ],
  });
  assert.deepEqual(totals, {
    turns: 3,
    calls: 1,
    inputTokens: 117,
    outputTokens: 12,
    replayedTokens: 100 + 109 + 125,
    toolMs: 3,
    toolMsSum: 3,
  });
});

test('session draws several requests, some for the other model, and pauses between them', () => {
  const drawn = Array.from({ length: 100 }, (_, index) => rolloutOf(builtin('session'), 1, index));
  for (const rollout of drawn) {
    const requests = requestsOf(rollout);
    assert.ok(requests.length >= 2 && requests.length <= 6);
    assert.ok(requests.slice(1).every(({ pause_ms }) => pause_ms >= 9000));
    assert.equal(
      turnsOf(rollout).length,
      requests.reduce((sum, { turns }) => sum + turns.length, 0),
    );
  }
  const followUps = drawn.flatMap(({ follow_ups = [] }) => follow_ups);
  const changes = followUps.filter(({ model_change }) => model_change).length;
  assert.ok(changes > 0.15 * followUps.length && changes < 0.35 * followUps.length);
});
