import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

import { parseTrace } from '../schema/trace.js';
import { drawFigures, drawingTools } from './figures.js';
import { figuresOf } from './figures-specs.js';
import { colours } from './figures-style.js';
import { waterfall } from './figures-waterfall.js';
import { openStore } from './store.js';
import { sampleManifest, sampleSummary } from './testing/samples.js';
import { chromeTrace, type Span } from './trace.js';

const cell = {
  engine: 'virtual',
  scenario: 'terminal',
  profile: 'hosted',
  tokens_per_second: 1000,
  rtt_ms: 50,
  rollout: 0,
} as const;

function spans(overheadMs: number): Span[] {
  return [1, 2, 3].flatMap((turn) => [
    { name: 'upload', lane: 'network', turn, start_ms: turn * 400, ms: 25 },
    { name: 'safety', lane: 'service', turn, start_ms: turn * 400 + 25, ms: overheadMs },
    { name: 'decode', lane: 'model', turn, start_ms: turn * 400 + 25 + overheadMs, ms: 200 },
    { name: 'tools', lane: 'client', turn, start_ms: turn * 400 + 250 + overheadMs, ms: 100 },
  ]);
}

const trace = chromeTrace(cell, [
  { arm: 'chain-ws', spans: spans(20) },
  { arm: 'append-ws', spans: spans(2) },
]);

function result(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'figures-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const store = openStore(dir, { manifest: sampleManifest });
  store.finish(sampleSummary);
  store.write('trace.json', trace);
  return dir;
}

test('a result has a figure for each section that can be drawn, and one for its trace', async (t) => {
  const dir = result(t);
  const paths = await drawFigures(dir);
  assert.deepEqual(readdirSync(join(dir, 'figures')).sort(), [
    'frontier.svg',
    'gain.svg',
    'ladder.svg',
    'shapley.svg',
    'waterfall.svg',
  ]);
  assert.equal(paths.length, 5);
});

test('the same files give the same bytes, whatever was drawn before', async (t) => {
  const dir = result(t);
  const read = (): string[] =>
    readdirSync(join(dir, 'figures')).map((name) => readFileSync(join(dir, 'figures', name), 'utf8'));
  await drawFigures(dir);
  const first = read();
  await drawFigures(dir);
  assert.deepEqual(read(), first);
});

test('a figure is drawn in colours that have a dark counterpart, and says what is real in it', async (t) => {
  const dir = result(t);
  const known = new Set<string>(Object.values(colours).map(({ light }) => light));
  for (const path of await drawFigures(dir)) {
    const svg = readFileSync(path, 'utf8');
    for (const [, colour = ''] of svg.matchAll(/(?:fill|stroke)="(#[^"]+)"/g))
      assert.ok(known.has(colour), `${path}: ${colour}`);
    assert.match(svg, /^<svg role="img" aria-label="[^"]+" /);
    assert.match(svg, /<style>@media \(prefers-color-scheme: dark\)/);
    assert.match(svg, /simulated/);
    assert.doesNotMatch(svg, /NaN|undefined/);
  }
});

test('a summary without sections has no figure, and a directory without anything says what it needs', async (t) => {
  const { version, set, manifest, seed, partial } = sampleSummary;
  assert.deepEqual(figuresOf({ version, set, manifest, seed, partial }), []);
  const dir = mkdtempSync(join(tmpdir(), 'figures-'));
  t.after(() => rmSync(dir, { recursive: true }));
  await assert.rejects(drawFigures(dir), /has nothing to draw: it needs a summary\.json/);
});

test('where the packages that draw are not installed, one sentence says so', async () => {
  await assert.rejects(
    drawingTools(() => Promise.reject(new Error('Cannot find package'))),
    /^Error: figures are drawn by vega and vega-lite, which are not installed here: run npm ci without --omit=dev$/,
  );
});

test('the waterfall shows the turns after the first, each design from the same moment', () => {
  const figure = waterfall(parseTrace(JSON.parse(trace), 'trace.json'));
  assert.equal(figure.title, 'Where the time goes: turns 2 to 3 of one rollout');
  const text = JSON.stringify(figure.spec);
  assert.match(text, /"arm":"append-ws","lane":"network","kind":"network","turn":2,"from":0,"to":25/);
  assert.match(text, /"arm":"chain-ws","lane":"network","kind":"network","turn":2,"from":0,"to":25/);
});
