import assert from 'node:assert/strict';
import { test } from 'node:test';

import { expectedTokens } from '../generate.js';
import { complaint, lines, sessionsIn } from './testing/reading.js';

const tool = (ms: number | null, result: number, name = 'Dig'): object => ({
  tool_name: name,
  input_chars: 80,
  result_chars: result,
  tool_wall_latency_ms: ms,
});
const round = (index: number, read: number, wrote: number, change: object = {}): object => ({
  session_id: 'one',
  round_index: index,
  input_tokens_total: read,
  newly_append_tokens: 5,
  output_tokens: wrote,
  current_user_message_count: 0,
  first_input_event_type: 'tool_result',
  tools: [],
  ...change,
});

const session = [
  round(0, 5000, 200, { current_user_message_count: 1, tools: [tool(10, 300), tool(30, 100, 'Water')] }),
  round(0, 9000, 10, { session_id: 'two', current_user_message_count: null, first_input_event_type: null }),
  round(1, 5600, 100, { tools: [tool(null, 50)] }),
  round(2, 5800, 90),
  round(3, 6000, 80, { current_user_message_count: 1 }),
];

test('rounds become rollouts that read and write what the trace counts, with the time of each call', async () => {
  const [one, two] = await sessionsIn('tracelab', lines(...session));
  assert.ok(one && two);
  assert.deepEqual(
    one.rollouts.map(({ turns }) => turns.length),
    [3, 1],
  );
  const [rollout] = one.rollouts;
  assert.ok(rollout);
  const totals = expectedTokens(rollout);
  const preamble = one.instructionsTokens + (one.toolsTokens ?? 0);
  assert.equal(one.toolsCount, 2);
  assert.equal(totals.replayedTokens + 3 * preamble, 5000 + 5600 + 5800);
  assert.equal(totals.outputTokens, 200 + 100 + 90);
  assert.deepEqual(
    rollout.turns.map(({ calls }) => calls.map(({ tool_ms, output_tokens }) => [tool_ms, output_tokens])),
    [
      [
        [10, 300],
        [30, 100],
      ],
      [[0, 100]],
      [],
    ],
    'what a turn appends is shared by the lengths of the results',
  );
  assert.deepEqual(rollout.turns[0]?.calls[0]?.arguments_tokens, 20, 'four characters to a token');
  assert.equal(one.gaps.untimed, 1);
  assert.deepEqual([two.label, two.rollouts[0]?.turns.length], ['two', 1]);
});

test('a round with more arguments than output gives the arguments what there is', async () => {
  const [one] = await sessionsIn(
    'tracelab',
    lines(round(0, 5000, 3, { tools: [tool(1, 1), tool(1, 1)] }), round(1, 5100, 1)),
  );
  const [turn] = one?.rollouts[0]?.turns ?? [];
  assert.deepEqual(
    turn?.calls.map((call) => call.arguments_tokens),
    [5, 5],
    'the shortest arguments that can be made',
  );
  assert.equal(turn?.output_tokens, 0);
});

test('a truncated, mistyped or empty trace names its line and field', async () => {
  const good = lines(...session);
  for (const [text, sentence] of [
    [good.slice(0, -20), /^trace: line 5: expected one JSON object, but the line is not JSON/],
    [
      lines(session[0], round(1, 10, 1, { tools: [{ tool_wall_latency_ms: 'long' }] })),
      /^trace: line 2: tools\[0\]\.tool_wall_latency_ms: expected number, received string$/,
    ],
    [
      lines(round(0, 10, 1, { input_tokens_total: null })),
      /^trace: line 1: input_tokens_total: expected number, received null$/,
    ],
    [lines(session[0], { session_id: 'one' }), /^trace: line 2: round_index: /],
    [lines(session[0], []), /^trace: line 2: expected object, received array$/],
  ] as const)
    assert.match(await complaint(text), sentence);
});
