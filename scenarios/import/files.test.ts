import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { test, type TestContext } from 'node:test';

import { expectedTokens } from '../generate.js';
import { parseScenario } from '../scenario.js';
import { filesAt, isTraceFault, readTraceFile } from './files.js';
import { gapNotes, gapsOf, scenarioOf } from './merge.js';
import { lines, sessionsIn, tokensOf } from './testing/reading.js';

const talk = (word: string, instructions: string): string =>
  JSON.stringify({
    messages: [
      { role: 'system', content: instructions },
      { role: 'user', content: `Say ${word}.` },
      { role: 'assistant', content: word },
    ],
  });
const round = (index: number): object => ({
  session_id: 's',
  round_index: index,
  input_tokens_total: 5000 + 1000 * index,
  output_tokens: 100,
  tools: index === 0 ? [{ tool_name: 'Dig', input_chars: 40, result_chars: 9, tool_wall_latency_ms: 5 }] : [],
  current_user_message_count: index === 0 ? 1 : 0,
});
const words = { name: 'two-traces', question: 'Does it add up?', source: 'Made up.' };

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'traces-'));
  t.after(() => rm(path, { recursive: true }));
  return path;
}

test('a directory gives all its files in order, a file itself, and nothing is a fault', async (t) => {
  const path = await folder(t);
  await assert.rejects(
    filesAt(path),
    (fault) => isTraceFault(fault) && /empty directory/.test(fault.message),
  );
  await mkdir(join(path, 'deep'));
  for (const name of ['b.json', 'deep/c.jsonl', 'a.csv']) await writeFile(join(path, name), '');
  assert.deepEqual(
    (await filesAt(path)).map((file) => relative(path, file)),
    ['a.csv', 'b.json', join('deep', 'c.jsonl')],
  );
  assert.deepEqual(await filesAt(join(path, 'b.json')), [join(path, 'b.json')]);
  await assert.rejects(
    filesAt(join(path, 'none')),
    (fault) => isTraceFault(fault) && /none: can't be read/.test(fault.message),
  );
});

test('a format is told by what a file holds, not by its name', async (t) => {
  const path = join(await folder(t), 'rollout.traj');
  await writeFile(path, talk('ah', 'Be kind.'));
  assert.equal((await readTraceFile(path, tokensOf)).format, 'messages');
  await writeFile(path, lines(round(0), round(1)));
  assert.equal((await readTraceFile(path, tokensOf)).format, 'tracelab');
  await rm(path);
  await assert.rejects(
    readTraceFile(path, tokensOf),
    (fault) => isTraceFault(fault) && fault.message.startsWith(path),
  );
});

test('a scenario file is read as the scenario it is, and its faults are told', async (t) => {
  const path = join(await folder(t), 'own.json');
  const scenario = scenarioOf(words, await sessionsIn('messages', talk('ah', 'Be kind.')));
  await writeFile(path, JSON.stringify(scenario));
  const file = await readTraceFile(path, tokensOf);
  assert.deepEqual(file.scenario, scenario);
  const [rollout] = scenario.rollouts ?? [];
  const [turn] = rollout?.turns ?? [];
  const miscounted = { ...turn, output_tokens: 99, text: { tokens: 9, text: 'ah' } };
  await writeFile(path, JSON.stringify({ ...scenario, rollouts: [{ ...rollout, turns: [miscounted] }] }));
  await assert.rejects(
    readTraceFile(path, tokensOf),
    (fault) =>
      isTraceFault(fault) &&
      fault.message.endsWith(
        'own.json: rollouts[0].turns[0].text.tokens: expected 1, which the text has, got 9',
      ),
  );
  await writeFile(path, JSON.stringify({ ...scenario, tools_count: 0 }));
  await assert.rejects(
    readTraceFile(path, tokensOf),
    (fault) => isTraceFault(fault) && fault.message.startsWith(`${path}: tools_count: `),
  );
});

test('one scenario of several sessions: what only some have in front of them is in their first messages', async () => {
  const sessions = [
    ...(await sessionsIn('messages', talk('ah', 'Be kind.'))),
    ...(await sessionsIn('messages', talk('oh', 'Be kind, but not too kind, and never at night.'))),
    ...(await sessionsIn('tracelab', lines(round(0), round(1)))),
  ];
  const scenario = scenarioOf(words, sessions);
  assert.equal(scenario.instructions_tokens, 1);
  assert.deepEqual(parseScenario(JSON.parse(JSON.stringify(scenario))), scenario);
  const [first, second, third] = scenario.rollouts ?? [];
  assert.ok(first && second && third);
  for (const [rollout, session, word] of [
    [first, sessions[0], 'ah'],
    [second, sessions[1], 'oh'],
  ] as const)
    assert.equal(
      rollout.context_tokens + scenario.instructions_tokens,
      (session?.instructionsTokens ?? 0) + (await tokensOf(`Say ${word}.`)),
    );
  const preamble = scenario.instructions_tokens + Math.round(scenario.tools_bytes / 4.5);
  assert.equal(expectedTokens(third).replayedTokens + 2 * preamble, 5000 + 6000);
});

test('where no trace counts tools, nothing is put before a message for them', async () => {
  const messages = (...names: string[]): string => {
    const tool_calls = names.map((name) => ({ id: name, function: { name, arguments: '{}' } }));
    return JSON.stringify([
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: 'Gone.', tool_calls },
    ]);
  };
  const sessions = [
    ...(await sessionsIn('messages', messages('a', 'b', 'c'))),
    ...(await sessionsIn('messages', messages('a'))),
  ];
  const scenario = scenarioOf(words, sessions);
  assert.deepEqual([scenario.tools_count, scenario.tools_bytes], [3, 1500]);
  const asked = await tokensOf('Go.');
  assert.deepEqual(
    scenario.rollouts?.map(({ context_tokens }) => context_tokens),
    [asked, asked],
  );
});

test('a scenario of nothing, or with a name that is none, is refused', async () => {
  const sessions = await sessionsIn('messages', talk('ah', 'Be kind.'));
  assert.throws(() => scenarioOf(words, []), isTraceFault);
  assert.throws(
    () => scenarioOf({ ...words, name: 'Two Traces' }, sessions),
    /Two Traces: name: expected 1 to 64/,
  );
});

test('what traces leave open is noted with its number', async () => {
  const gaps = { untimed: 2, unread: 0, uncounted: 1, shrunk: 3 };
  assert.deepEqual(
    gapNotes(gaps).map((note) => note.split(': ').at(-1)),
    ['2', '1', '3'],
  );
  assert.deepEqual(gapNotes(gapsOf(await sessionsIn('messages', talk('ah', 'Be kind.')))), []);
});
