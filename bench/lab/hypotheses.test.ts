import { test } from 'node:test';
import assert from 'node:assert/strict';

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { manifest } from '../manifest.js';
import { judge, speeds } from './hypotheses.js';
import { judgeClaims } from './published.js';
import type { Difference, LabSummary, ProfileSection, Verdict } from './sections.js';

const empty: LabSummary = {
  version: 1,
  set: 'quick',
  manifest: manifest('test'),
  seed: 1,
  partial: false,
};

function verdict(summary: Partial<LabSummary>, id: string): Verdict {
  return judge({ ...empty, ...summary }).find((one) => one.id === id) ?? assert.fail(id);
}

const difference = (parts: Partial<Difference>): Difference => ({
  engine: 'real',
  scenario: 'anchor-large',
  profile: 'bare',
  tokens_per_second: 4000,
  rtt_ms: 0,
  left: 'replay-ws',
  right: 'replay-http',
  rollouts: 12,
  turns: 60,
  ms_per_turn: { blocks: 12, mean: 0, median: 0, interval: { low: -0.5, high: 0.5 }, p_value: 0.4 },
  relative: 0,
  relative_at_true_tool_time: 0,
  smallest_detectable_ms_per_turn: 0.3,
  ...parts,
});

function profiles(scenario: string, gains: readonly number[]): ProfileSection[] {
  const mean = { overhead_ms_per_turn: 0, first_token_ms: 0, bytes_up_per_turn: 0, ratio: 1 };
  return speeds.map((tokens_per_second, at) => ({
    scenario,
    profile: 'hosted',
    tokens_per_second,
    rtt_ms: 50,
    restarts_after_idle: false,
    rollouts: 1,
    arms: [
      { arm: 'replay-http', e2e_ms: 200, ...mean },
      { arm: 'chain-http', e2e_ms: 100, ...mean },
      { arm: 'chain-ws', e2e_ms: 100 * (1 - (gains[at] ?? 0)), ...mean },
      { arm: 'append-ws', e2e_ms: 100 * (1 - (gains[at] ?? 0)), ...mean },
    ],
    difference: difference({}),
  }));
}

test('without its section a hypothesis is undecided, and none is left out', () => {
  assert.deepEqual(
    judge(empty).map(({ id, verdict: said }) => [id, said]),
    ['H1', 'H2', 'H3', 'H4', 'H5', 'H6', 'H7', 'H8'].map((id) => [id, 'undecided']),
  );
});

test('every registered hypothesis has a rule, and every rule is registered', () => {
  const file = fileURLToPath(new URL('../../../bench/HYPOTHESES.md', import.meta.url));
  const registered = [...readFileSync(file, 'utf8').matchAll(/^\| (H\d) /gm)].map(([, id]) => id);
  assert.deepEqual(
    registered,
    judge(empty).map(({ id }) => id),
  );
});

test('H1 needs 15 % just where it was said to be, and nowhere else', () => {
  const slow = profiles('claim-mean', [0.01, 0.01, 0.01, 0.01]);
  const at = (gains: readonly number[]) =>
    verdict({ profiles: [...profiles('claim-regime', gains), ...slow] }, 'H1').verdict;
  assert.equal(at([0.02, 0.1, 0.2, 0.3]), 'supported');
  assert.equal(at([0.02, 0.16, 0.2, 0.3]), 'refuted');
  assert.equal(at([0.02, 0.1, 0.1, 0.3]), 'refuted');
});

test('H2 is an equivalence: supported inside ±1 ms, refuted outside, undecided across', () => {
  const at = (low: number, high: number) => {
    const ms_per_turn = { blocks: 12, mean: 0, median: 0, interval: { low, high }, p_value: 0.01 };
    return verdict({ bare: [difference({ ms_per_turn })] }, 'H2').verdict;
  };
  assert.deepEqual(
    [at(-0.9, 0.9), at(1.1, 2), at(0.5, 1.5), at(-3, -1.2)],
    ['supported', 'refuted', 'undecided', 'refuted'],
  );
});

test('H3 tells windows that restart from those that do not', () => {
  const section = (restarts_after_idle: boolean, spread_ms: number) => ({
    factor: 'rtt_ms' as const,
    restarts_after_idle,
    points: [],
    spread_ms,
  });
  const found = verdict({ invariance: [section(false, 0), section(true, 50)] }, 'H3');
  assert.equal(found.verdict, 'refuted');
  assert.match(found.because, /it holds with open windows/);
  assert.equal(verdict({ invariance: [section(false, 0), section(true, 0.5)] }, 'H3').verdict, 'supported');
});

test('H4 wants a curve that falls through the stated places; beyond the axis counts as above', () => {
  const at = (thresholds: readonly (number | null)[]) =>
    verdict(
      {
        frontier: speeds.map((tokens_per_second, index) => ({
          scenario: 'claim-regime',
          tokens_per_second,
          rtt_ms: 50,
          tool_scale: 1,
          restarts_after_idle: false,
          rollouts: 1,
          points: [],
          threshold_ms: thresholds[index] ?? null,
        })),
      },
      'H4',
    ).verdict;
  assert.equal(at([null, 60, 22, 15]), 'supported');
  assert.equal(at([150, 60, 50, 15]), 'refuted');
  assert.equal(at([150, 10, 22, 15]), 'refuted');
});

test('p-values are adjusted over the hypotheses that have one', () => {
  const found = judge({ ...empty, bare: [difference({})] });
  assert.equal(found.find(({ id }) => id === 'H2')?.p_adjusted, 0.4);
  assert.ok(found.every(({ id, p_adjusted }) => id === 'H2' || p_adjusted === null));
});

test('a published number inside the range over assumed services is reproduced, outside it is not', () => {
  const at = (gains: readonly number[]) =>
    judgeClaims({ ...empty, profiles: profiles('claim-regime', gains) }).map((one) => one.verdict);
  // chain-ws takes 60 of replay-http's 200 ms at 1,000 tokens/s, and 60 of chain-http's 100.
  assert.deepEqual(at([0, 0, 0.4, 0]).slice(0, 2), ['not reproduced', 'not reproduced']);
  assert.deepEqual(at([0, 0, 0.2, 0]).slice(0, 2), ['not reproduced', 'reproduced']);
  assert.deepEqual(
    judgeClaims(empty).map((one) => one.verdict),
    Array(3).fill('not comparable'),
  );
});
