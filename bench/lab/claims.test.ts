import assert from 'node:assert/strict';
import { test } from 'node:test';

import { resultsBlock } from './claims-block.js';
import { allowed, unread } from './claims-rules.js';
import { blockFaults, faultsIn, fieldOf, withBlock, type Results } from './claims.js';
import { sampleSummary } from './testing/samples.js';

const results: Results = new Map([['quick', sampleSummary]]);
const marks = (content: string): string => `# x\n\n<!-- results -->\n${content}<!-- /results -->\n`;

test('a number with the field that it came from passes, to as many decimals as it is written with', () => {
  const lines = [
    'It needs 34<!-- quick:frontier[tokens_per_second=1000].threshold_ms --> ms,',
    'or 34.0 ms<!-- quick:frontier[2].threshold_ms -->, or 0.03 s<!-- quick:frontier[2].threshold_ms -->.',
    'It is faster by 1.10<!-- quick:bare[tokens_per_second=4000].ms_per_turn.mean --> ms,',
    'which is −3.1 %<!-- quick:bare[tokens_per_second=4000].relative -->.',
  ];
  assert.deepEqual(faultsIn(lines.join('\n'), results), []);
});

test('a number that differs from its field is named with its line and what the field says', () => {
  assert.deepEqual(faultsIn('one\n\n3.20<!-- quick:bare[0].ms_per_turn.mean --> ms\n', results), [
    'README.md:3: 3.20: quick:bare[0].ms_per_turn.mean is -1.10; correct the number, or cite the field that it came from.',
  ]);
});

test('a sign that is turned round is a fault', () => {
  assert.match(faultsIn('+1.1<!-- quick:bare[0].ms_per_turn.mean -->', results)[0] ?? '', /is -1\.1;/);
});

test('a citation of a run or a field that is not there says so', () => {
  const [run = '', field = '', alone = ''] = faultsIn(
    '1<!-- full:bare[0].relative --> 2<!-- quick:bare[9].relative -->, <!-- quick:bare[0].relative -->',
    results,
  );
  assert.match(run, /^README\.md:1: 1: there is no bench\/results\/full\/summary\.json; commit/);
  assert.match(field, /^README\.md:1: 2: quick:bare\[9\]\.relative is no number/);
  assert.match(alone, /has no number before it/);
});

test('a number without a citation is named with its line and both ways out', () => {
  const [fault = '', ...more] = faultsIn('A resume takes\n250 µs here.', results);
  assert.deepEqual(more, []);
  assert.match(fault, /^README\.md:2: 250: no result is cited\. .*<!-- quick:FIELD -->.*claims-rules\.ts\.$/);
});

test('numbers that measure nothing pass by a rule', () => {
  const lines = [
    'Node 20, 22 or 24; `openai` 7.59.0; glibc 2.38 or newer; HTTP/1.1 and HTTP 404.',
    '1. The first step; the loop goes to 4. About o200k, P81, H1, SHA-256 and p95.',
    'A rollout of 21 turns at 65, 250, 1,000 and 4,000 tokens/s, at turn 10, 100 and 1,000.',
    '| chain | 1 · n − 1 · 1 | n · 0 · n |',
    '| `terminal` | 950 real ones, up to 530,000 tokens | a gain of 40 %? |',
    'See [this](bench/results/2) and https://example.com/v1/2.',
    '```sh\nsleep 10\n```',
    '<!-- a comment of 7 words -->',
    'The 95 % interval; the published claims of 40 %, 20 % and 45 %; where it passes 5 %.',
  ];
  assert.deepEqual(faultsIn(lines.join('\n'), results), []);
});

test('a rate in the words of a setting is still held to a result', () => {
  assert.match(faultsIn('It plays 300 rollouts a second.', results)[0] ?? '', /300: no result is cited/);
});

test('every rule has a reason and looks through the whole text', () => {
  for (const { pattern, because } of [...unread, ...allowed]) {
    assert.ok(because.length > 3);
    assert.ok(pattern.flags.includes('g'), String(pattern));
  }
});

test('a field is found by place and by what stands in it', () => {
  assert.equal(fieldOf(sampleSummary, 'bare[1].tokens_per_second'), 250);
  assert.equal(fieldOf(sampleSummary, 'bare[scenario=terminal,tokens_per_second=4000].left'), 'append-ws');
  assert.equal(fieldOf(sampleSummary, 'bare[0].toString'), undefined);
  assert.equal(fieldOf(sampleSummary, 'nothing.at.all'), undefined);
});

test('the block is generated from the summary, and its numbers need no citation', () => {
  const generated = resultsBlock(sampleSummary);
  const readme = withBlock(marks('old\n'), generated);
  assert.equal(readme, marks(generated));
  assert.deepEqual(blockFaults(readme, generated), []);
  assert.deepEqual(faultsIn(readme, results), []);
  assert.match(generated, /\| terminal, 4,000 tokens\/s \| real \| −1\.10 \(−1\.30 to −0\.90\) \|/);
  assert.match(
    generated,
    /Work done ahead while tools run would save the shipped design 14\.00 ms a turn, 70 %/,
  );
});

test('a second result stands beside the first with its finding alone', () => {
  const generated = resultsBlock({ ...sampleSummary, set: 'full' }, sampleSummary);
  assert.equal(generated.split('| terminal, 4,000 tokens/s | real |').length, 3);
  assert.match(
    generated,
    /The full set, made [^]*\*\*The same, found by another run\.\*\* The quick set, made /,
  );
  assert.equal(generated.split('Shapley').length, resultsBlock(sampleSummary).split('Shapley').length);
});

test('a block that was edited, that is missing, or that has no result behind it is a fault', () => {
  const generated = resultsBlock(sampleSummary);
  assert.match(blockFaults(marks('1.10 ms\n'), generated)[0] ?? '', /is not that of .*--write/);
  assert.match(blockFaults('# x\n', generated)[0] ?? '', /put <!-- results -->/);
  assert.match(blockFaults(marks('1.10 ms\n'), null)[0] ?? '', /has no bench\/results\/quick/);
  assert.deepEqual(blockFaults('# x\n', null), []);
  assert.deepEqual(blockFaults(marks(''), null), []);
});
