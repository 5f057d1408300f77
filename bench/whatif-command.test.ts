import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

import { bellMessages, ran, traceFolder, type Ran } from './testing/command-line.js';

const whatif = (...words: string[]): Promise<Ran> => ran('whatif', ...words);

const folder = (t: TestContext, others: Readonly<Record<string, string>> = {}): string =>
  traceFolder(t, bellMessages, others);

/** Two requests of one session, of which one streamed: 100 tokens in 2 s after its first. */
const timed = JSON.stringify({
  id: 'made-up',
  block_size: 64,
  system_tokens: 10,
  tool_tokens: 60,
  requests: [
    { type: 's', in: 100, out: 100, input_types: ['text'], stop: 'tool_use', api_time: 2.5, ttft: 0.5 },
    { type: 'n', in: 300, out: 30, input_types: ['tool_result'], stop: '', api_time: 9, think_time: 1 },
  ],
});

test('it opens with what is real, drawn and simulated, and gives every design and switch', async (t) => {
  const out = join(folder(t), 'out.json');
  const { code, stdout, stderr } = await whatif(
    folder(t),
    '--fixed-ms',
    '20',
    '--json',
    out,
    '--key',
    'our-key',
  );
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^Real: 1 rollout of 2 turns and 1 call, /m);
  assert.match(stdout, /^Drawn: nothing\.$/m);
  assert.match(stdout, /^Note: of 1 call, 1 have no recorded time and take none/m);
  assert.match(stdout, /^Simulated: the model, at 1,000 tokens\/s out \(assumed\) and 20,000 in/m);
  assert.match(stdout, /^Service, fixed work of a create beyond an append: 20 ms, as told/m);
  assert.match(stdout, /^This is a prediction in virtual time: .* the anchors of the lab tell/m);
  for (const arm of ['replay-http post-sprint', 'chain-ws ahead', 'shim-ws', 'append-ws early'])
    assert.match(stdout, new RegExp(`│ ${arm} +│`));
  assert.match(stdout, /│ against chain-ws +│ ms saved per turn │ +range │ % at true tool time │/);
  assert.match(stdout, /│ against replay-http +│/);
  assert.match(stdout, /^append-ws saves \d+\.\d\d ms per turn against chain-ws, /m);
  assert.match(stdout, /│ obligations +│/);
  assert.match(stderr, /^8 of 8 rollouts of the designs$/m);
  const result: unknown = JSON.parse(readFileSync(out, 'utf8'));
  assert.ok(typeof result === 'object' && result !== null && 'designs' in result);
  assert.doesNotMatch(JSON.stringify(result), /Ding|our-key/);
});

test('the model is as fast as the trace timed it, unless it is told otherwise', async (t) => {
  const path = join(folder(t, { 'timed.json': timed }), 'timed.json');
  assert.match((await whatif(path)).stdout, /at 50 tokens\/s out \(as the trace timed it\)/);
  const told = await whatif(path, '--tps', '75', '--keep-window');
  assert.match(told.stdout, /at 75 tokens\/s out \(as told\) .* windows that stay open/);
});

test('a built-in scenario is played by its name, as many rollouts as asked for, against any design', async () => {
  const { code, stdout, stderr } = await whatif('single', '--rollouts', '2', '--against', 'replay-ws');
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^Drawn: 2 rollouts, field by field, by seed 1/m);
  assert.match(stdout, /profile bare\. .* --fixed-ms or --server tells what yours costs\./);
  assert.match(stdout, /│ against replay-ws +│/);
});

test('a file at fault is named and the others are played; with nothing to play it ends with exit code 1', async (t) => {
  const path = folder(t, { 'notes.txt': 'buy beans', 'broken.jsonl': '{"messages":[]}\n' });
  const some = await whatif(path);
  assert.equal(some.code, 0);
  assert.match(some.stderr, /^left out: .*broken\.jsonl: line 1: messages: /m);
  assert.match(some.stderr, /^left out: .*notes\.txt: line 1: expected JSON or JSON lines/m);
  for (const [word, sentence] of [
    [join(path, 'notes.txt'), /^long-response: .*notes\.txt: line 1: expected JSON or JSON lines/],
    [join(path, 'nowhere'), /nowhere: neither a file nor one of terminal, coding-replay, /],
  ] as const) {
    const none = await whatif(word);
    assert.equal(none.code, 1);
    assert.equal(none.stdout, '');
    assert.match(none.stderr, sentence);
    assert.doesNotMatch(none.stderr, /at .*\.js:\d+/, 'no stack trace');
  }
});

test('wrong words are refused with a sentence and exit code 1', async () => {
  for (const [words, sentence] of [
    [[], /missing required argument 'path'/],
    [['single', '--fixed-ms', 'much'], /Expected a number of milliseconds from 0 up, got "much"/],
    [['single', '--fixed-ms', '1', '--profile', 'bare'], /cannot be used with option '--profile <name>'/],
    [['single', '--server', 'http://127.0.0.1:1', '--fixed-ms', '1'], /cannot be used with/],
    [['single', '--against', 'pigeon'], /Allowed choices are replay-http pre-sprint, /],
    [['single', '--profile', 'no-such'], /no service profile "no-such"/],
    [['single', '--server', 'http://127.0.0.1:1'], /127\.0\.0\.1:1\/v1\/responses: connect ECONNREFUSED/],
  ] as const) {
    const { code, stderr } = await whatif(...words);
    assert.equal(code, 1, words.join(' '));
    assert.match(stderr, sentence);
  }
});
