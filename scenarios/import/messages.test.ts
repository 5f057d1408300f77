import assert from 'node:assert/strict';
import { test } from 'node:test';

import { expectedTokens } from '../generate.js';
import { complaint, lines, sessionsIn, tokensOf } from './testing/reading.js';

const say = (role: string, content: unknown): object => ({ role, content });
const calls = (...ids: string[]): object => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({
    id,
    type: 'function',
    function: { name: 'find_boat', arguments: `{"id":"${id}"}` },
  })),
});
const answers = (id: string, content: string): object => ({
  role: 'tool',
  tool_call_id: id,
  name: 'find_boat',
  content,
});

const harbour = [
  say('system', 'You rent out boats.'),
  say('user', 'A boat, please.'),
  say('assistant', 'Which one?'),
  say('user', [
    { type: 'text', text: 'The red one' },
    { type: 'image_url', image_url: {} },
    { type: 'text', text: 'or the blue one.' },
  ]),
  calls('a', 'b'),
  answers('b', 'Blue: at sea.'),
  answers('a', 'Red: free.'),
  say('assistant', 'The red one is free.'),
  say('user', 'Bye.'),
];
const json = (value: unknown): string => JSON.stringify(value, null, 1);

test('each message of the user begins a rollout, with all that was said before in its context', async () => {
  const [session] = await sessionsIn('messages', json([{ task_id: 3, trial: 0, traj: harbour }]));
  assert.ok(session);
  assert.equal(session.label, 'task 3, trial 0');
  assert.equal(session.instructionsTokens, await tokensOf('You rent out boats.'));
  const [first, second] = session.rollouts;
  assert.ok(
    first && second && session.rollouts.length === 2,
    'a last word that nobody answers is no rollout',
  );
  assert.equal(first.context_tokens, await tokensOf('A boat, please.'));
  const asked = 'The red one\nor the blue one.';
  assert.equal(second.context_text?.text, asked);
  const before = expectedTokens(first);
  assert.equal(second.context_tokens, before.inputTokens + before.outputTokens + (await tokensOf(asked)));
  assert.deepEqual(
    second.turns[0]?.calls.map(({ arguments_text, output_text }) => [arguments_text, output_text?.text]),
    [
      ['{"id":"a"}', 'Red: free.'],
      ['{"id":"b"}', 'Blue: at sea.'],
    ],
  );
  assert.equal(session.gaps.untimed, 2);
  assert.equal(session.toolsCount, 1);
});

test('messages are found alone, as {messages}, in an array, and one conversation a line', async () => {
  for (const text of [
    json(harbour),
    json({ messages: harbour }),
    json([{ messages: harbour }]),
    lines({ id: 'x', messages: harbour }),
  ]) {
    const [session] = await sessionsIn('messages', text);
    assert.equal(session?.rollouts.length, 2);
  }
  assert.equal((await sessionsIn('messages', lines({ messages: harbour }, { messages: harbour }))).length, 2);
});

test('a conversation that ends in a tool keeps its turns and its tokens', async () => {
  const [session] = await sessionsIn('messages', json(harbour.slice(0, 7)));
  const last = session?.rollouts[1];
  assert.deepEqual(last?.turns.length, 1);
  assert.equal(last.turns[0]?.text?.text, '{"id":"a"}\n\n{"id":"b"}');
  assert.equal(session?.gaps.unread, 2);
});

test('a truncated, mistyped, empty or silent conversation names its line and field', async () => {
  for (const [text, sentence] of [
    [json(harbour).slice(0, -30), /^trace: line \d+: not JSON: /],
    [lines({ messages: harbour }, { messages: [] }), /^trace: line 2: messages: /],
    [lines({ messages: harbour }, { text: 'x' }), /^trace: line 2: messages: expected an array of messages$/],
    [
      json([say('user', 'x'), say('assistant', 5)]),
      /^trace: line 8: \[1\]\.content: expected text, null, or an array/,
    ],
    [json([{ traj: [say('user', 'x'), say('robot', 'y')] }]), /^trace: line 9: \[0\]\.traj\[1\]\.role: /],
    [
      json([
        say('user', 'x'),
        { role: 'assistant', content: '', tool_calls: [{ id: 'a', function: { name: 'f', arguments: {} } }] },
      ]),
      /\[1\]\.tool_calls\[0\]\.function\.arguments: expected string, received object$/,
    ],
    [
      json([say('user', 'x'), calls('a'), answers('z', 'y')]),
      /^trace: line 22: \[2\]\.tool_call_id: expected the id of a call/,
    ],
    [
      json({ messages: [say('user', 'x')] }),
      /^trace: line 2: messages: expected a message of the assistant$/,
    ],
    [json({ messages: 'x' }), /^trace: line 2: messages: expected array, received string$/],
  ] as const)
    assert.match(await complaint(text), sentence);
});
