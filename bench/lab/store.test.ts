import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

import { openStore } from './store.js';
import { sampleManifest, sampleRollout, sampleSummary, sampleTurn } from './testing/samples.js';

function folder(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'results-'));
  t.after(() => rmSync(dir, { recursive: true }));
  return dir;
}

const options = { manifest: sampleManifest };
const read = (dir: string, name: string): string => readFileSync(join(dir, name), 'utf8');

test('a row stands in its file as soon as its unit is added, rounded to a microsecond', (t) => {
  const dir = folder(t);
  const store = openStore(dir, options);
  store.add('bare/0', [sampleRollout], [sampleTurn]);
  const row: unknown = JSON.parse(read(dir, 'rollouts.jsonl'));
  assert.deepEqual(row, { unit: 'bare/0', unit_rollouts: 1, ...sampleRollout, e2e_ms: 12.346 });
  assert.match(read(dir, 'turns.jsonl'), /^\{"unit":"bare\/0",.*\}\n$/);
  assert.deepEqual(store.rows().rollouts, [row]);
});

test('a resumed run has the units that are there, and takes no unit twice', (t) => {
  const dir = folder(t);
  openStore(dir, options).add('bare/0', [sampleRollout], [sampleTurn]);
  const store = openStore(dir, { ...options, resume: true });
  assert.equal(store.has('bare/0'), true);
  assert.equal(store.has('bare/1'), false);
  assert.deepEqual(store.dropped, []);
  assert.throws(() => store.add('bare/0', [sampleRollout]), /"bare\/0" has been measured/);
  store.add('bare/1', [sampleRollout], [sampleTurn]);
  assert.equal(openStore(dir, { ...options, resume: true }).rows().turns.length, 2);
});

test('a line that a kill tore is dropped on resume, with a sentence, and its unit is measured again', (t) => {
  const dir = folder(t);
  openStore(dir, options).add('bare/0', [sampleRollout], [sampleTurn]);
  appendFileSync(join(dir, 'turns.jsonl'), `${JSON.stringify({ unit: 'bare/1', ...sampleTurn })}\n`);
  appendFileSync(join(dir, 'rollouts.jsonl'), '{"unit":"bare/1","unit_roll');
  const store = openStore(dir, { ...options, resume: true });
  assert.deepEqual(store.dropped, [
    'rollouts.jsonl: the last line was cut off, and is left out.',
    'bare/1: was cut off, and is measured again.',
  ]);
  store.add('bare/1', [sampleRollout], [sampleTurn]);
  assert.deepEqual(openStore(dir, { ...options, resume: true }).dropped, []);
});

test('a unit of several rollouts counts as done only with all of them', (t) => {
  const dir = folder(t);
  openStore(dir, options).add('block/0', [sampleRollout, { ...sampleRollout, arm: 'chain-ws' }]);
  const [first = ''] = read(dir, 'rollouts.jsonl').split('\n');
  rmSync(join(dir, 'rollouts.jsonl'));
  appendFileSync(join(dir, 'rollouts.jsonl'), `${first}\n`);
  const store = openStore(dir, { ...options, resume: true });
  assert.equal(store.has('block/0'), false);
  assert.deepEqual(store.rows().rollouts, []);
});

test('a line in the middle that is no row is an error that names file, line and field', (t) => {
  const dir = folder(t);
  openStore(dir, options).add('bare/0', [sampleRollout]);
  appendFileSync(join(dir, 'rollouts.jsonl'), '{"unit":7}\n');
  assert.throws(
    () => openStore(dir, { ...options, resume: true }),
    /rollouts\.jsonl: line 2: unit: Invalid input/,
  );
});

test('a run of another commit or with other parameters is not resumed, and what differs is named', (t) => {
  const dir = folder(t);
  openStore(dir, options).add('bare/0', [sampleRollout]);
  const manifest = { ...sampleManifest, commit: 'def', parameters: { blocks: 30 }, command: 'another' };
  assert.throws(
    () => openStore(dir, { manifest, resume: true }),
    /can't be resumed: commit was "abc", is "def"; parameters\.blocks was 12, is 30\./,
  );
});

test('an unfinished result is not overwritten unasked, a finished one is made anew', (t) => {
  const dir = folder(t);
  const store = openStore(dir, options);
  store.add('bare/0', [sampleRollout]);
  assert.throws(() => openStore(dir, options), /go on with --resume/);
  store.finish({ ...sampleSummary, partial: true });
  assert.throws(() => openStore(dir, options), /go on with --resume/);
  store.finish(sampleSummary);
  assert.deepEqual(openStore(dir, options).rows(), { rollouts: [], turns: [] });
  assert.equal(existsSync(join(dir, 'summary.json')), false);
});

test('finishing writes the summary, both tables as CSV and the dictionary, and no half of a file', (t) => {
  const dir = folder(t);
  const store = openStore(dir, options);
  store.add('bare/0', [sampleRollout], [sampleTurn]);
  store.finish(sampleSummary);
  const [head, row] = read(dir, 'rollouts.csv').split('\n');
  assert.match(head ?? '', /^unit,unit_rollouts,engine,/);
  assert.match(row ?? '', /^bare\/0,1,real,loopback,/);
  assert.match(read(dir, 'turns.csv'), /^unit,scenario,arm,/);
  assert.match(read(dir, 'DICTIONARY.md'), /`frontier\[\]\.points\[\]\.residual_ms`/);
  assert.match(read(dir, 'summary.json'), /"tokens_per_second": 65/);
  assert.equal(existsSync(join(dir, 'summary.json.part')), false);
});

test('a summary with a field that the dictionary does not know is refused', (t) => {
  const store = openStore(folder(t), options);
  const [bare] = sampleSummary.bare ?? [];
  assert.ok(bare !== undefined);
  const more = { ...bare, mood: 'good' };
  assert.throws(() => store.finish({ ...sampleSummary, bare: [more] }), /bare\.0: Unrecognized key: "mood"/);
});
