import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import assert from 'node:assert/strict';

import { builtin, type RealCell } from './cells.js';
import type { Plan } from './plan.js';
import { labText } from './report.js';
import { runLab, type LabOptions } from './run-lab.js';

const cell: RealCell = {
  name: 'tiny',
  scenario: builtin('single'),
  profile: 'bare',
  decodeTokensPerSecond: 1_000_000,
  prefillTokensPerSecond: 10_000_000,
  toolScale: 0,
  rttMs: 0,
  path: 'loopback',
  arms: ['append-ws', 'chain-ws'],
  blocks: 2,
};

/** Two measured cells and two sections, one of them played as often as it is asked for. */
function tiny(played: string[]): Plan {
  const task = (name: string, spread_ms: number) => ({
    name,
    section: 'invariance' as const,
    seconds: 1,
    run: async () => {
      played.push(name);
      return [{ factor: 'rtt_ms', restarts_after_idle: name === 'restarts', points: [], spread_ms }];
    },
  });
  return {
    bare: [cell],
    transports: { ...cell, name: 'transports', arms: ['replay-ws', 'replay-http'], blocks: 1 },
    anchors: [],
    network: [],
    virtual: [task('open', 0), task('restarts', 50)],
  };
}

function optionsIn(t: TestContext, played: string[], more: Partial<LabOptions> = {}): LabOptions {
  const dir = mkdtempSync(join(tmpdir(), 'lab-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const { signal } = new AbortController();
  return { set: 'quick', plan: tiny(played), dir: join(dir, 'result'), signal, command: 'test', ...more };
}

const linesOf = (dir: string, name: string): string[] =>
  readFileSync(join(dir, name), 'utf8').trimEnd().split('\n');

test('a run measures what its plan holds, writes every row, and judges what it reached', async (t) => {
  const played: string[] = [];
  const options = optionsIn(t, played);
  const told: number[] = [];
  const summary = await runLab({ ...options, onProgress: (done) => told.push(done) });
  assert.equal(linesOf(options.dir, 'rollouts.jsonl').length, 2 * 2 + 2);
  assert.deepEqual(
    summary.bare?.map(({ left, right, rollouts }) => [left, right, rollouts]),
    [
      ['append-ws', 'chain-ws', 2],
      ['replay-ws', 'replay-http', 1],
    ],
  );
  assert.equal(summary.hypotheses?.find(({ id }) => id === 'H3')?.verdict, 'refuted');
  assert.equal(
    summary.hypotheses?.find(({ id }) => id === 'H2')?.verdict,
    'undecided',
    'one block is too few',
  );
  assert.deepEqual(played, ['open', 'restarts']);
  assert.ok(!existsSync(join(options.dir, 'tasks.jsonl')), 'nothing of the run itself is left');
  assert.deepEqual(
    told,
    told.toSorted((a, b) => a - b),
  );
  assert.match(labText(summary), /H3 REFUTED/);
});

test('a run that is ended keeps what it has, and goes on from there without doing anything twice', async (t) => {
  const played: string[] = [];
  const interrupted = new AbortController();
  const options = optionsIn(t, played, { signal: interrupted.signal });
  const partial = await runLab({
    ...options,
    onProgress: (_, __, doing) => {
      if (doing === 'open') interrupted.abort();
    },
  });
  assert.equal(partial.partial, true);
  assert.deepEqual(played, ['open']);
  const measured = linesOf(options.dir, 'rollouts.jsonl');
  const { signal } = new AbortController();
  await assert.rejects(runLab({ ...options, signal }), /--resume/);
  await assert.rejects(runLab({ ...options, signal, resume: true, seed: 2 }), /seed/);
  const whole = await runLab({ ...options, signal, resume: true });
  assert.equal(whole.partial, false);
  assert.deepEqual(played, ['open', 'restarts']);
  assert.deepEqual(linesOf(options.dir, 'rollouts.jsonl'), measured);
  assert.equal(whole.invariance?.length, 2);
});
