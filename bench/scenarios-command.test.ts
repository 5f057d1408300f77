import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

import { builtinScenarios, expectedTokens, headlineScenarios, parseScenario } from '../scenarios/index.js';
import { bellMessages, ran, traceFolder, type Ran } from './testing/command-line.js';

const scenarios = (...words: string[]): Promise<Ran> => ran('scenarios', ...words);

/** A directory with one conversation and whatever else is given. */
const folder = (t: TestContext, others: Readonly<Record<string, string>> = {}): string =>
  traceFolder(t, [{ role: 'system', content: 'You keep a bell.' }, ...bellMessages], others);

const broken = { 'broken.jsonl': '{"messages":[]}\n', 'notes.txt': 'buy beans' };

test('--help answers, for scenarios and for each of its commands', async () => {
  for (const words of [[], ['list'], ['show'], ['check'], ['import']]) {
    const { code, stdout } = await scenarios(...words, '--help');
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`Usage: long-response scenarios ${words.join('')}`));
  }
});

test('list gives every built-in scenario with its question, flags the headline ones, and gives the formats', async () => {
  const { code, stdout } = await scenarios('list');
  assert.equal(code, 0);
  for (const { name, question } of builtinScenarios.values()) {
    const [, said = '', next = ''] = new RegExp(`^${name} \\((.*)\\)\n  (.*)$`, 'm').exec(stdout) ?? [];
    assert.equal(said.startsWith('headline, '), headlineScenarios.includes(name));
    assert.equal(next, question);
  }
  for (const format of ['codex', 'tracelab', 'kv-cache-tester', 'swe-agent', 'messages'])
    assert.match(stdout, new RegExp(`^  ${format} `, 'm'));
});

test('show prints a rollout turn by turn, of a built-in scenario or a trace', async (t) => {
  const claim = await scenarios('show', 'claim-regime');
  assert.equal(claim.code, 0);
  assert.match(claim.stdout, /│ 21 +│ +875 │ +81,780 │ +214 │ +0 │ +– │/);
  assert.match(claim.stdout, /21 turns, 20 calls; 77,500 tokens in, 4,494 out; tools 2,000 ms/);
  const trace = await scenarios('show', join(folder(t), 'bell.json'));
  assert.equal(trace.code, 0);
  assert.match(trace.stdout, /Rollout 0 \(of 1\): conversation 1/);
  assert.match(trace.stdout, /2 turns, 1 call; /);
});

test('show tells where the user asks again, and what is compacted', async () => {
  const support = await scenarios('show', 'support', '--rollout', '3');
  assert.equal(support.code, 0);
  assert.match(support.stdout, /│ 22 +│ +227 │ +4,961 │ +201 │ +0 │ +– │ +│/);
  assert.match(support.stdout, /│ 21 +│ +26 │ .*│ +user │/);
  assert.match(support.stdout, /9 requests of the user, 22 turns, 13 calls; 2,734 tokens in, 2,428 out/);
  const session = await scenarios('show', 'session', '--rollout', '9');
  assert.match(session.stdout, /│ +user after [\d,.]+ s(?:, other model)? │/);
  const long = await scenarios('show', 'long');
  assert.match(long.stdout, /Compacted before a turn that would begin above 90,000 tokens/);
});

test('show refuses what is no scenario, and a rollout that is not there', async (t) => {
  const path = folder(t, broken);
  for (const [words, sentence] of [
    [['no-such'], /no-such: neither a file nor one of terminal, coding-replay, .*, session\n$/],
    [[join(path, 'bell.json'), '--rollout', '3'], /--rollout: expected 0 to 0, got 3\n$/],
    [[join(path, 'notes.txt')], /notes\.txt: line 1: expected JSON/],
  ] as const) {
    const { code, stderr } = await scenarios('show', ...words);
    assert.equal(code, 1);
    assert.match(stderr, sentence);
    assert.doesNotMatch(stderr, /at .*\.js:\d+/, 'no stack trace');
  }
});

test('check tells the good files from the bad, and exits 1 where one is bad', async (t) => {
  const good = await scenarios('check', folder(t));
  assert.equal(good.code, 0);
  assert.match(good.stdout, /bell\.json │ +messages │ +1 │ +2 │ +1 │/);
  const bad = await scenarios('check', folder(t, broken));
  assert.equal(bad.code, 1);
  assert.match(bad.stdout, /bell\.json │ +messages │/);
  assert.match(bad.stdout, /^\S+broken\.jsonl: line 1: messages: /m);
  assert.match(bad.stdout, /^\S+notes\.txt: line 1: expected JSON or JSON lines/m);
});

test('import writes a scenario of the good files, which check and show read', async (t) => {
  const path = folder(t, broken);
  const out = join(path, 'My Bells.json');
  const imported = await scenarios('import', path, '--out', out);
  assert.equal(imported.code, 0, imported.stderr);
  assert.match(imported.stdout, /note: calls without a recorded time, which take 0 ms: 1\n/);
  assert.match(imported.stdout, /scenario my-bells\n$/);
  assert.match(imported.stderr, /^left out: .*broken\.jsonl: line 1: messages: /m);
  const scenario = parseScenario(JSON.parse(readFileSync(out, 'utf8')));
  assert.equal(scenario.name, 'my-bells');
  assert.match(scenario.source, /1 trace files? \(messages\)/);
  const [rollout] = scenario.rollouts ?? [];
  assert.ok(rollout);
  assert.equal(expectedTokens(rollout).turns, 2);
  assert.equal(rollout.turns[0]?.calls[0]?.output_text?.text, 'Ding, ding.');
  assert.equal((await scenarios('check', out)).code, 0);
  assert.equal((await scenarios('show', out)).code, 0);
});

test('import of nothing good writes nothing', async (t) => {
  const path = folder(t, broken);
  const out = join(path, 'none.json');
  const { code, stderr } = await scenarios('import', join(path, 'notes.txt'), '--out', out);
  assert.equal(code, 1);
  assert.match(stderr, /nothing to import\n$/);
  assert.throws(() => readFileSync(out));
  assert.equal((await scenarios('import', path)).code, 1, '--out is needed');
});

test('many files are read with progress on stderr', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 19 }, (_, index) => [`${index}.txt`, 'x']));
  const { stderr } = await scenarios('check', folder(t, many));
  assert.match(stderr, /^20 of 20 files$/m);
});
