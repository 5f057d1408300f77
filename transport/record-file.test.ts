import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { test, type TestContext } from 'node:test';

import { openRecording, Recording } from './record-file.js';
import type { RecordedTurn } from './record-lines.js';

const line = (turn: number): RecordedTurn => ({ type: 'turn', turn }) as RecordedTurn;
const startedAt = new Date('2001-02-03T04:05:06.789Z');

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'recording-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

function complaints() {
  const sentences: string[] = [];
  return {
    sentences,
    options: { text: false, startedAt, complain: (said: string) => void sentences.push(said) },
  };
}

function linesOf(text: string): unknown[] {
  return text
    .split('\n')
    .filter((each) => each !== '')
    .map((each): unknown => JSON.parse(each));
}

const header = {
  format: 'long-response-recording',
  version: 1,
  started_at: '2001-02-03T04:05:06.789Z',
  text: false,
};

test('a file has its header, then its lines in order, and is gone on with, after a line that was cut short too', async (t) => {
  const path = join(folder(t), 'one.jsonl');
  const { sentences, options } = complaints();
  const first = openRecording(path, options);
  for (const turn of [1, 2]) first?.add(() => line(turn));
  await first?.[Symbol.asyncDispose]();
  assert.equal(statSync(path).mode & 0o777, 0o600, 'nobody else reads it');
  const whole = readFileSync(path, 'utf8');
  assert.deepEqual(linesOf(whole), [header, line(1), line(2)]);
  writeFileSync(path, `${whole}{"type":"tu`);
  const second = openRecording(path, { ...options, text: true });
  second?.add(() => line(3));
  await second?.[Symbol.asyncDispose]();
  const [cut, ...after] = readFileSync(path, 'utf8').slice(whole.length).split('\n');
  assert.equal(cut, '{"type":"tu');
  assert.deepEqual(linesOf(after.join('\n')), [{ ...header, text: true }, line(3)]);
  assert.deepEqual(sentences, []);
});

test('a directory, or a name that ends in a slash, gets a file of its own', async (t) => {
  const path = `${join(folder(t), 'deep', 'er')}/`;
  const { options } = complaints();
  for (const each of [path, path.slice(0, -1)])
    await openRecording(each, { ...options, startedAt: new Date(startedAt.getTime() + each.length) })?.[
      Symbol.asyncDispose
    ]();
  const files = readdirSync(path);
  assert.equal(files.length, 2);
  for (const file of files) assert.match(file, /^recording-2001-02-03T04-05-06-\d+Z-\d+\.jsonl$/);
});

test('a file that cannot be made is told in one sentence, and nothing else happens', async (t) => {
  const path = join(folder(t), 'file');
  writeFileSync(path, 'in the way');
  const { sentences, options } = complaints();
  for (const each of [join(path, 'under.jsonl'), join(path, 'under/')]) {
    const recording = openRecording(each, options);
    recording?.add(() => line(1));
    await recording?.[Symbol.asyncDispose]();
    await new Promise(setImmediate);
  }
  assert.equal(sentences.length, 2);
  for (const sentence of sentences)
    assert.match(sentence, /^recording to .*file.under.* ended: E(?:NOTDIR|EXIST)/);
});

test('a disk that is full ends the recording with one sentence, and what comes after costs nothing', async () => {
  const { sentences, options } = complaints();
  const disk = new Writable({
    write: (_chunk, _encoding, done) => done(new Error('ENOSPC: no space left on device, write')),
  });
  const recording = new Recording(disk, 'disk.jsonl', options);
  let made = 0;
  const add = (): void =>
    recording.add(() => {
      made++;
      return line(made);
    });
  await new Promise(setImmediate);
  add();
  await recording[Symbol.asyncDispose]();
  assert.deepEqual(sentences, ['recording to disk.jsonl ended: ENOSPC: no space left on device, write']);
  assert.equal(made, 0);
});

test('a disk that is slow costs lines, which are counted, and never a wait', async () => {
  const { sentences, options } = complaints();
  const written: string[] = [];
  let release = (): void => undefined;
  let held = true;
  const disk = new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      written.push(chunk);
      if (held) release = done;
      else done();
    },
  });
  const recording = new Recording(disk, 'disk.jsonl', options);
  const big = 'x'.repeat(17 * 1024 * 1024);
  recording.add(() => ({ ...line(0), model: big }));
  await new Promise(setImmediate);
  for (let turn = 1; turn <= 10_003; turn++) recording.add(() => line(turn));
  await new Promise(setImmediate);
  assert.equal(written.length, 1, 'the header, which the disk has not taken yet');
  held = false;
  release();
  await recording[Symbol.asyncDispose]();
  const lines = linesOf(written.slice(1).join('')) as RecordedTurn[];
  assert.deepEqual(sentences, ['recording to disk.jsonl: the disk is too slow, turns are left out']);
  assert.equal(lines.filter(({ type }) => type === 'turn').length, 10_001);
  assert.deepEqual(
    lines.filter(({ type }) => type !== 'turn'),
    [{ type: 'dropped', turns: 3 }],
  );
});

test('a line that cannot be made is left out, and the next one is written', async (t) => {
  const path = join(folder(t), 'one.jsonl');
  const { sentences, options } = complaints();
  const recording = openRecording(path, options);
  recording?.add(() => {
    throw new Error('odd');
  });
  recording?.add(() => line(2));
  await recording?.[Symbol.asyncDispose]();
  assert.deepEqual(linesOf(readFileSync(path, 'utf8')), [header, line(2)]);
  assert.deepEqual(sentences, [`recording to ${path}: a turn is left out: Error: odd`]);
});
