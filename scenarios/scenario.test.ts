import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { builtinScenarios } from './builtin.js';
import { loadScenario, parseScenario, ScenarioError } from './scenario.js';

const call = { arguments_tokens: 5, tool_ms: 0, output_tokens: 1 };
const valid = {
  name: 'two-turns',
  question: 'Does it load?',
  source: 'Made up.',
  instructions_tokens: 10,
  tools_count: 1,
  tools_bytes: 300,
  rollouts: [{ context_tokens: 1, turns: [{ output_tokens: 0, calls: [call] }, { output_tokens: 1 }] }],
};
const turns = (...given: unknown[]): unknown => ({
  ...valid,
  rollouts: [{ context_tokens: 1, turns: given }],
});
const drawn = {
  turns: 2,
  context_tokens: 10,
  output_tokens: { p: [0, 50, 100], v: [1, 2, 9] },
  final_output_tokens: 5,
  calls: 1,
  arguments_tokens: 5,
  tool_ms: 1,
  tool_output_tokens: 5,
};
const drawing = (change: object): unknown => ({
  ...valid,
  rollouts: undefined,
  drawn: { ...drawn, ...change },
});

function complaint(value: unknown): string {
  try {
    parseScenario(value, 'file.json');
  } catch (fault) {
    if (fault instanceof ScenarioError) return fault.message;
    throw fault;
  }
  return '';
}

test('a valid scenario parses, and a final turn may leave out its calls', () => {
  assert.deepEqual(parseScenario(valid).rollouts?.[0]?.turns[1], { output_tokens: 1, calls: [] });
  assert.equal(complaint(drawing({})), '');
});

test('recorded text may have as many tokens as are counted beside it, or fewer', () => {
  const kept = { tokens: 4, text: 'What a trace held.' };
  const answer = { output_tokens: 9, text: kept };
  const recorded = {
    arguments_tokens: 1,
    arguments_text: '{}',
    tool_ms: 0,
    output_tokens: 4,
    output_text: kept,
  };
  assert.equal(complaint(turns({ output_tokens: 0, calls: [recorded] }, answer)), '');
  for (const [value, line] of [
    [turns({ ...answer, output_tokens: 3 }), /turns\[0\]\.text: expected no more than the 3 output_tokens$/],
    [
      turns({ output_tokens: 0, calls: [{ ...recorded, output_tokens: 3 }] }, answer),
      /calls\[0\]\.output_text: expected no more than the 3 output_tokens$/,
    ],
    [
      turns({ output_tokens: 0, calls: [{ ...recorded, arguments_text: undefined }] }, answer),
      /calls\[0\]\.arguments_tokens: expected at least 5/,
    ],
    [
      { ...valid, rollouts: [{ context_tokens: 1, context_text: kept, turns: [answer] }] },
      /rollouts\[0\]\.context_text: expected no more than the 1 context_tokens$/,
    ],
  ] as const)
    assert.match(complaint(value), line);
});

test('the built-in scenarios pass their own schema', () => {
  for (const scenario of builtinScenarios.values())
    assert.deepEqual(parseScenario(JSON.parse(JSON.stringify(scenario))), scenario);
});

test('an error names the file and the field at fault', () => {
  const faults: [value: unknown, line: RegExp][] = [
    [{ ...valid, name: 'Two Turns' }, /^file\.json: name: expected 1 to 64 of/],
    [{ ...valid, question: undefined }, /^file\.json: question: /],
    [{ ...valid, colour: 1 }, /^file\.json: .*"colour"/],
    [{ ...valid, tools_bytes: 100 }, /^file\.json: tools_bytes: expected at least 240/],
    [{ ...valid, rollouts: undefined }, /^file\.json: rollouts: expected either rollouts or drawn$/],
    [{ ...valid, drawn }, /^file\.json: rollouts: expected either rollouts or drawn$/],
    [
      turns({ output_tokens: 1, calls: [{ ...call, tool_ms: -1 }] }, { output_tokens: 1 }),
      /^file\.json: rollouts\[0\]\.turns\[0\]\.calls\[0\]\.tool_ms: /,
    ],
    [
      turns({ output_tokens: 1, calls: [{ ...call, arguments_tokens: 4 }] }, { output_tokens: 1 }),
      /^file\.json: rollouts\[0\]\.turns\[0\]\.calls\[0\]\.arguments_tokens: /,
    ],
    [turns({ output_tokens: 1 }, { output_tokens: 1 }), /turns\[0\]\.calls: every turn before the last/],
    [turns({ output_tokens: 1, calls: [call] }), /turns\[0\]\.calls: the last turn is the final answer/],
    [turns({ output_tokens: 0 }), /turns\[0\]\.output_tokens: the final answer needs a token/],
    [drawing({ tool_ms: 'slow' }), /^file\.json: drawn\.tool_ms: expected a number from 0 up, or a table/],
    [drawing({ turns: { p: [0, 100], v: [2, 1] } }), /^file\.json: drawn\.turns\.v: expected ascending/],
    [drawing({ turns: { p: [0, 100], v: [1, 2, 3] } }), /drawn\.turns\.v: expected 2 values/],
  ];
  for (const [value, line] of faults) assert.match(complaint(value), line);
});

test('every field at fault gets a line', () => {
  assert.equal(complaint({ ...valid, name: 1, source: '' }).split('\n').length, 2);
});

test('a file is loaded, and its faults name its path', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'scenario-'));
  try {
    const path = join(folder, 'own.json');
    await writeFile(path, JSON.stringify(valid));
    assert.equal((await loadScenario(path)).name, 'two-turns');
    await writeFile(path, JSON.stringify({ ...valid, source: 1 }));
    await assert.rejects(loadScenario(path), (fault: Error) => fault.message.startsWith(`${path}: source: `));
    await writeFile(path, '{');
    await assert.rejects(loadScenario(path), (fault: Error) =>
      fault.message.startsWith(`${path}: not JSON: `),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a follow-up is held against the rules of a first request, and thinks no time unless it says so', () => {
  const following = (...follow_ups: unknown[]): unknown => ({
    ...valid,
    rollouts: [{ context_tokens: 1, turns: [{ output_tokens: 1 }], follow_ups }],
  });
  const next = { context_tokens: 2, turns: [{ output_tokens: 3 }] };
  assert.deepEqual(parseScenario(following(next)).rollouts?.[0]?.follow_ups, [
    { ...next, pause_ms: 0, model_change: false, turns: [{ output_tokens: 3, calls: [] }] },
  ]);
  assert.equal(
    complaint(following(next, { ...next, turns: [{ output_tokens: 0, calls: [call] }] })),
    'file.json: rollouts[0].follow_ups[1].turns[0].calls: the last turn is the final answer and calls nothing\n' +
      'file.json: rollouts[0].follow_ups[1].turns[0].output_tokens: the final answer needs a token',
  );
});
