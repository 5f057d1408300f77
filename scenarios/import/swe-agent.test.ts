import assert from 'node:assert/strict';
import { test } from 'node:test';

import { complaint, sessionsIn, tokensOf } from './testing/reading.js';

const system = { role: 'system', content: 'You mend clocks.', agent: 'main' };
const demo = [
  { role: 'user', content: 'A demonstration follows.', is_demo: true },
  { role: 'assistant', content: 'I wind it.', is_demo: true },
];
const task = { role: 'user', content: 'The clock is slow.' };
const speaks = (text: string, id: string, args: string): object => ({
  role: 'assistant',
  content: text,
  thought: text,
  action: 'open case',
  tool_calls: [{ id, type: 'function', function: { name: 'open', arguments: args } }],
});
const observed = (id: string, text: string): object => ({ role: 'tool', content: text, tool_call_ids: [id] });

const calling = {
  environment: 'swe_main',
  trajectory: [{ execution_time: 0.25 }, { execution_time: 0.5 }],
  history: [
    system,
    ...demo,
    task,
    speaks('First the case.', 'call_1', '{"part":"case"}'),
    observed('call_1', 'It is open.'),
    // Trajectories that were replayed carry the same id again.
    speaks('Then submit.', 'call_1', '{}'),
    observed('call_1', 'Submitted.'),
  ],
  info: {},
};
const json = (value: unknown): string => JSON.stringify(value, null, 1);

test('a trajectory of calls is one rollout that ends in its last call', async () => {
  const [session] = await sessionsIn('swe-agent', json(calling), '/some/where/clock.traj');
  assert.ok(session);
  assert.equal(session.label, 'clock.traj (swe_main)');
  assert.equal(session.instructionsTokens, await tokensOf('You mend clocks.'));
  const [rollout] = session.rollouts;
  assert.ok(rollout && session.rollouts.length === 1);
  assert.equal(rollout.context_text?.text, 'A demonstration follows.\n\nI wind it.\n\nThe clock is slow.');
  assert.equal(rollout.turns.length, 2);
  assert.deepEqual(rollout.turns[0]?.calls, [
    {
      arguments_tokens: await tokensOf('{"part":"case"}'),
      arguments_text: '{"part":"case"}',
      tool_ms: 250,
      output_tokens: await tokensOf('It is open.'),
      output_text: { tokens: await tokensOf('It is open.'), text: 'It is open.' },
    },
  ]);
  assert.equal(rollout.turns[1]?.text?.text, 'Then submit.\n\n{}');
  assert.deepEqual(session.gaps, { untimed: 0, unread: 1, uncounted: 0, shrunk: 0 });
});

test('an action in the text is a call with a command, and the next message of the user its output', async () => {
  const plain = {
    history: [
      system,
      task,
      { role: 'assistant', content: 'Look.\n```\nls\n```', thought: 'Look.\n', action: 'ls' },
      { role: 'user', content: '' },
      {
        role: 'assistant',
        content: 'Nothing there.\n```\nsubmit\n```',
        thought: 'Nothing there.\n',
        action: 'submit',
      },
    ],
    trajectory: [{ action: 'ls' }, { action: 'submit' }, { action: 'again' }],
  };
  const [session] = await sessionsIn('swe-agent', json(plain), 'p.traj');
  const [rollout] = session?.rollouts ?? [];
  assert.equal(rollout?.turns[0]?.text?.text, 'Look.\n');
  assert.equal(rollout.turns[0].calls[0]?.arguments_text, '{"command":"ls"}');
  assert.equal(rollout.turns[0].calls[0].output_tokens, 1, 'an empty output is played as a word');
  assert.equal(rollout.turns[0].calls[0].output_text, undefined);
  assert.equal(session?.gaps.untimed, 1, 'three steps and two turns: whose time is whose is not known');
});

test('a truncated, mistyped, empty or silent trajectory names its line and field', async () => {
  const text = json(calling);
  for (const [given, sentence] of [
    [text.slice(0, 200), /^trace: line \d+: not JSON: /],
    [json({ history: [] }), /^trace: line 2: history: /],
    [json({ history: 'x' }), /^trace: line 2: history: expected array, received string$/],
    [json({ history: [system, { role: 'wizard', content: '' }] }), /^trace: line 9: history\[1\]\.role: /],
    [
      json({ history: [system, { role: 'user', content: 4 }] }),
      /^trace: line 10: history\[1\]\.content: expected text, null, or an array/,
    ],
    [
      json({ history: [system], trajectory: [{ execution_time: '1' }] }),
      /trajectory\[0\]\.execution_time: expected number, received string$/,
    ],
    [json({ history: [system, task] }), /^trace: line 2: history: expected a message of the assistant$/],
    [json({ trajectory: [{ index: 1, tool: 'x', durationMs: 4 }] }), /JSON of another kind$/],
  ] as const)
    assert.match(await complaint(given), sentence);
});
