import assert from 'node:assert/strict';
import { test } from 'node:test';

import { expectedTokens } from '../generate.js';
import { complaint, sessionsIn } from './testing/reading.js';

const request = (read: number, wrote: number, change: object = {}): object => ({
  t: 0,
  type: 's',
  model: 'm',
  in: read,
  out: wrote,
  hash_ids: [1, 2],
  input_types: ['tool_result'],
  output_types: ['text'],
  stop: 'tool_use',
  think_time: 2,
  ...change,
});
const asked = { input_types: ['text'], think_time: null };
const trace = (requests: unknown, change: object = {}): string =>
  JSON.stringify(
    {
      id: 'made-up',
      models: ['m'],
      block_size: 64,
      tool_tokens: 300,
      system_tokens: 100,
      requests,
      ...change,
    },
    null,
    1,
  );

const two = [
  request(1000, 50, asked),
  request(1200, 60, { think_time: 3 }),
  request(1300, 70, { stop: 'end_turn', think_time: null }),
  request(1500, 80, { ...asked, stop: '' }),
];

test('what streamed tells how fast the model wrote, and the rest tells nothing of it', async () => {
  const streamed = { api_time: 2.5, ttft: 0.5 };
  const [session] = await sessionsIn(
    'kv-cache-tester',
    trace([
      request(1000, 50, { ...asked, ...streamed }),
      request(1200, 60, { type: 'n', api_time: 9 }),
      request(1300, 70, { ...streamed, api_time: 1.5 }),
    ]),
  );
  assert.deepEqual(session?.written, { tokens: 120, ms: 3000 });
  const [untimed] = await sessionsIn('kv-cache-tester', trace(two));
  assert.equal(untimed?.written, undefined);
});

test('counts become rollouts that read and write what the trace counts', async () => {
  const [session] = await sessionsIn('kv-cache-tester', trace(two));
  assert.ok(session);
  assert.deepEqual([session.instructionsTokens, session.toolsTokens], [100, 300]);
  assert.equal(session.rollouts.length, 2);
  const [first, second] = session.rollouts;
  assert.ok(first && second);
  const totals = expectedTokens(first);
  assert.equal(totals.turns, 3);
  assert.equal(totals.outputTokens, 50 + 60 + 70);
  assert.equal(totals.replayedTokens + 3 * 400, 1000 + 1200 + 1300);
  assert.deepEqual(
    first.turns.map(({ calls }) => calls.map(({ tool_ms, output_tokens }) => [tool_ms, output_tokens])),
    [[[3000, 150]], [[0, 40]], []],
  );
  assert.deepEqual(second, {
    label: 'made-up, request 2',
    context_tokens: 1100,
    turns: [{ output_tokens: 80, calls: [] }],
  });
  assert.deepEqual(session.gaps, { untimed: 1, unread: 0, uncounted: 2, shrunk: 0 });
});

test('where the context shrank, the next outputs make up for it', async () => {
  const [session] = await sessionsIn(
    'kv-cache-tester',
    trace([request(1000, 50, asked), request(1020, 60), request(1200, 5), request(1300, 0)]),
  );
  const [rollout] = session?.rollouts ?? [];
  assert.ok(rollout);
  assert.equal(session?.gaps.shrunk, 1);
  assert.equal(session.gaps.unread, 1, 'the last request called a tool, and nothing reads on');
  // The second turn reads 1,051 in place of 1,020; the third reads the recorded 1,200 again.
  assert.equal(rollout.turns[0]?.calls[0]?.output_tokens, 1);
  assert.equal(rollout.turns[1]?.calls[0]?.output_tokens, 1200 - 1051 - 60);
  assert.deepEqual(rollout.turns[3], { output_tokens: 1, calls: [] });
});

test('sub-agents have rollouts and contexts of their own', async () => {
  const sessions = await sessionsIn(
    'kv-cache-tester',
    trace([
      request(1000, 50, asked),
      { t: 1, type: 'subagent', requests: [request(700, 20, asked), request(800, 30)] },
      request(1200, 60),
    ]),
  );
  assert.deepEqual(
    sessions.map(({ label, rollouts }) => [label, rollouts.map(({ turns }) => turns.length)]),
    [
      ['made-up', [2]],
      ['made-up, sub-agent 1', [2]],
    ],
  );
  assert.equal(sessions[1]?.rollouts[0]?.context_tokens, 700 - 1 - 54, 'less the shortest preamble there is');
});

test('a truncated, mistyped or empty trace names its line and field', async () => {
  for (const [text, sentence] of [
    [trace(two).slice(0, -40), /^trace: line \d+: not JSON: /],
    [trace([request(1000, 50, asked), request(-1, 60)]), /^trace: line 33: requests\[1\]\.in: /],
    [
      trace([request(1000, 50, { out: '50' })]),
      /^trace: line 15: requests\[0\]\.out: expected number, received string$/,
    ],
    [trace([request(1000, 50, { out: 0.5 })]), /requests\[0\]\.out: expected int, received number$/],
    [trace([request(1000, 50, { type: 'x' })]), /^trace: line 12: requests\[0\]\.type: /],
    [trace('none'), /^trace: line 9: requests: expected array, received string$/],
    [trace([]), /^trace: line 9: requests: /],
    [trace([{ t: 1, type: 'subagent', requests: [] }]), /requests: expected at least one request$/],
    [trace(two, { id: 7 }), /^trace: line 2: id: expected string, received number$/],
  ] as const)
    assert.match(await complaint(text), sentence);
});
