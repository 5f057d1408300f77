import assert from 'node:assert/strict';
import { test } from 'node:test';

import { expectedTokens } from '../generate.js';
import { complaint, lines, sessionsIn, tokensOf } from './testing/reading.js';

const at = (second: number): string => new Date(Date.UTC(2001, 0, 1, 0, 0, second)).toISOString();
const item = (second: number, payload: object): object => ({
  timestamp: at(second),
  type: 'response_item',
  payload,
});
const event = (payload: object): object => ({ timestamp: at(0), type: 'event_msg', payload });
const meta = {
  timestamp: at(0),
  type: 'session_meta',
  payload: { id: 'session-a', base_instructions: { text: 'Be a careful gardener.' } },
};
const said = (role: string, text: string): object => ({
  type: 'message',
  role,
  content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }],
});
const call = (call_id: string, args = '{"plot":"north"}'): object => ({
  type: 'function_call',
  call_id,
  name: 'look',
  arguments: args,
});
const output = (call_id: string, text: unknown): object => ({
  type: 'function_call_output',
  call_id,
  output: text,
});
const used = (reasoning: number): object => ({
  timestamp: at(0),
  type: 'token_usage_record',
  payload: { usage: { input_tokens: 1, output_tokens: 1 + reasoning, reasoning_output_tokens: reasoning } },
});

const twoRequests = lines(
  meta,
  event({ type: 'task_started' }),
  item(1, said('developer', 'House rules apply.')),
  item(1, said('user', 'How is the garden?')),
  { timestamp: at(1), type: 'world_state', payload: { full: true } },
  item(2, { type: 'reasoning', encrypted_content: 'x' }),
  item(2, said('assistant', 'Let me look.')),
  item(2, call('c1')),
  item(2, call('c2', '{"plot":"south"}')),
  used(40),
  item(4, output('c1', 'Beans, tall.')),
  event({ type: 'item_completed', item: { id: 'c2', duration: { secs: 1, nanos: 500_000 } } }),
  item(2, output('c2', [{ type: 'input_text', text: 'Bare soil.' }])),
  item(6, said('assistant', 'Beans grow in the north.')),
  used(0),
  event({ type: 'task_complete' }),
  event({ type: 'task_started' }),
  item(9, said('user', 'Thanks.')),
  item(9, said('assistant', 'You are welcome.')),
  used(0),
);

test('a Codex file gives a rollout for each request, with text, counts, calls and times', async () => {
  const [session] = await sessionsIn('codex', twoRequests);
  assert.ok(session);
  assert.equal(session.label, 'session-a');
  assert.equal(session.instructionsTokens, await tokensOf('Be a careful gardener.'));
  const [first, second] = session.rollouts;
  assert.ok(first && second && session.rollouts.length === 2);
  assert.equal(first.label, 'session-a, request 1');
  assert.equal(first.context_text?.text, 'House rules apply.\n\nHow is the garden?');
  assert.equal(first.context_tokens, await tokensOf('House rules apply.\n\nHow is the garden?'));
  assert.equal(first.turns.length, 2);
  const [turn] = first.turns;
  assert.equal(turn?.output_tokens, 40 + (await tokensOf('Let me look.')), 'reasoning is counted');
  assert.deepEqual(
    turn?.calls.map(({ arguments_text, tool_ms, output_text }) => [
      arguments_text,
      tool_ms,
      output_text?.text,
    ]),
    [
      ['{"plot":"north"}', 2000, 'Beans, tall.'],
      ['{"plot":"south"}', 1000.5, 'Bare soil.'],
    ],
    'the wait is the time between the records, or the noted duration where they are the same',
  );
  assert.deepEqual(session.gaps, { untimed: 0, unread: 0, uncounted: 0, shrunk: 0 });
});

test('a later request has what was said before in its context', async () => {
  const [session] = await sessionsIn('codex', twoRequests);
  const [first, second] = session?.rollouts ?? [];
  assert.ok(first && second);
  const before = expectedTokens(first);
  assert.equal(second.context_tokens, before.inputTokens + before.outputTokens + (await tokensOf('Thanks.')));
  assert.equal(second.context_text?.text, 'Thanks.');
});

test('without usage records a turn ends with an output, and a token count tells its reasoning', async () => {
  const old = lines(
    { timestamp: at(0), type: 'session_meta', payload: { id: 's', instructions: 'Old.' } },
    item(1, said('user', 'Dig.')),
    item(1, { type: 'custom_tool_call', call_id: 'c1', name: 'spade', input: 'dig here' }),
    event({
      type: 'token_count',
      info: { last_token_usage: { reasoning_output_tokens: 7 } },
    }),
    event({ type: 'exec_command_end', call_id: 'c1', duration: { secs: 0, nanos: 3_000_000 } }),
    item(1, {
      type: 'custom_tool_call_output',
      call_id: 'c1',
      output: { content: 'A worm.', success: true },
    }),
    item(2, { type: 'local_shell_call', call_id: 'c2', action: { type: 'exec', command: ['ls'] } }),
    item(3, output('c2', 'spade')),
    event({ type: 'token_count', info: null }),
    item(4, said('assistant', 'Dug.')),
  );
  const [session] = await sessionsIn('codex', old);
  const [rollout] = session?.rollouts ?? [];
  assert.equal(rollout?.turns.length, 3);
  assert.equal(rollout.turns[0]?.output_tokens, 7);
  assert.equal(rollout.turns[0].text, undefined);
  assert.equal(rollout.turns[0].calls[0]?.arguments_text, '{"input":"dig here"}');
  assert.equal(rollout.turns[0].calls[0].tool_ms, 3);
  assert.equal(rollout.turns[1]?.calls[0]?.tool_ms, 1000);
});

test('an interrupted request ends in its calls; a compaction starts the context over', async () => {
  const [session] = await sessionsIn(
    'codex',
    lines(
      meta,
      item(1, said('user', 'Water all of it, please, and slowly.')),
      item(2, call('c1')),
      used(0),
      event({ type: 'turn_aborted' }),
      item(3, output('c1', 'aborted')),
      { timestamp: at(4), type: 'compacted', payload: { message: 'We watered.' } },
      item(5, said('user', 'Go on.')),
      item(5, said('assistant', 'Done.')),
      used(0),
    ),
  );
  const [first, second] = session?.rollouts ?? [];
  assert.deepEqual(first?.turns, [
    {
      output_tokens: await tokensOf('{"plot":"north"}'),
      text: { tokens: await tokensOf('{"plot":"north"}'), text: '{"plot":"north"}' },
      calls: [],
    },
  ]);
  assert.equal(second?.context_tokens, await tokensOf('We watered.\n\nGo on.'));
  assert.deepEqual(session?.gaps, { untimed: 0, unread: 1, uncounted: 0, shrunk: 1 });
});

test('a truncated, mistyped, empty or silent Codex file names its line and field', async () => {
  for (const [text, sentence] of [
    [twoRequests.slice(0, -30), /^trace: line 20: expected one JSON object, but the line is not JSON/],
    [
      lines(meta, item(1, { ...call('c'), arguments: 5 })),
      /^trace: line 2: payload\.arguments: expected string, received number$/,
    ],
    [
      lines(meta, item(1, { type: 'function_call_output', output: 'x' })),
      /^trace: line 2: payload\.call_id: expected string/,
    ],
    [lines(meta, item(1, output('c', 7))), /^trace: line 2: payload\.output: expected text, or an array/],
    [
      lines(meta, { type: 'response_item', payload: 'x' }),
      /^trace: line 2: payload: expected object, received string$/,
    ],
    [
      lines(meta, { ...used(1), payload: { usage: { output_tokens: -1 } } }),
      /^trace: line 2: payload\.usage\.output_tokens: /,
    ],
    [lines(meta, 'x'), /^trace: line 2: expected object, received string$/],
    [
      lines(meta, item(1, said('user', 'Hello?'))),
      /^trace: line 2: expected a response_item that the model wrote/,
    ],
    [lines(meta), /^trace: line 1: expected a response_item that the model wrote/],
  ] as const)
    assert.match(await complaint(text), sentence);
});

test('events of `codex exec --json` are no rollout file', async () => {
  assert.match(
    await complaint(lines({ type: 'thread.started', thread_id: 't' }, { type: 'turn.started' })),
    /JSON of another kind$/,
  );
});
