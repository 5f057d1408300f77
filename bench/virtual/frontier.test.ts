import { test } from 'node:test';
import assert from 'node:assert/strict';

import { double, assert as holds, property, record } from 'fast-check';

import { frontier, frontierSection, frontierText, thresholdMs } from './frontier.js';
import { testCell } from './testing/cell.js';

const open = {
  rttMs: 20,
  bytesPerSecond: Infinity,
  restartsAfterIdle: false,
  connection: 'kept',
  tls: false,
} as const;
const near = (left: number | undefined, right: number, within = 1e-6): void =>
  assert.ok(Math.abs((left ?? Number.NaN) - right) <= within, `${left} and ${right}`);

test('each turn after the first of a rollout saves the residual and the admission, and no more', async () => {
  const section = await frontierSection(testCell({ network: open, toolScale: 0.5 }), {
    rollouts: 2,
    residualsMs: [0, 40],
    admissionsMs: [0, 15],
  });
  assert.equal(section.points.length, 4);
  for (const {
    residual_ms,
    admission_ms,
    ms_per_turn,
    relative,
    chain_ms_per_turn,
    ...point
  } of section.points) {
    near(ms_per_turn, (-(residual_ms + admission_ms) * 5) / 7);
    near(relative, ms_per_turn / chain_ms_per_turn);
    assert.ok(Math.abs(point.relative_at_true_tool_time) <= Math.abs(relative), 'true tools take longer');
  }
});

test('the threshold is where the gain is 5 %, wherever the points of the axis lie', async () => {
  const cell = testCell({ network: open });
  const at = async (residualsMs: readonly number[]) =>
    frontierSection(cell, { rollouts: 2, residualsMs, admissionsMs: [0] });
  const coarse = (await at([0, 200])).threshold_ms;
  const fine = (await at([0, 20, 40, 60])).threshold_ms;
  assert.ok(coarse !== null && fine !== null);
  near(coarse, fine);
  near((await at([coarse])).points[0]?.relative, -0.05, 1e-9);
  assert.equal((await at([0, 5])).threshold_ms, null);
});

test('where both times are straight lines the threshold is exact', () => {
  const cases = record({
    turn: double({ min: 50, max: 3000, noNaN: true }),
    saved: double({ min: 0, max: 2, noNaN: true }),
    share: double({ min: 0.5, max: 1, noNaN: true }),
  });
  holds(
    property(cases, ({ turn, saved, share }) => {
      const points = [0, 10, 50, 200].map((residual_ms) => {
        const chain_ms_per_turn = turn + residual_ms;
        const ms_per_turn = -saved - share * residual_ms;
        const relative = ms_per_turn / chain_ms_per_turn;
        return {
          residual_ms,
          admission_ms: 0,
          chain_ms_per_turn,
          ms_per_turn,
          relative,
          relative_at_true_tool_time: relative,
        };
      });
      const exact = (0.05 * turn - saved) / (share - 0.05);
      const found = thresholdMs(points);
      if (exact > 200) assert.equal(found, null);
      else near(found ?? Number.NaN, Math.max(0, exact), 1e-6);
    }),
  );
});

test('a window that restarts after idle time makes a create wait for its own bytes, and the gain is there without a residual', async () => {
  const network = { ...open, restartsAfterIdle: true };
  const scenario = { ...testCell().scenario, instructions_tokens: 4000, tools_bytes: 15_000 };
  // Four of the seven turns come after a tool that is longer than the window lasts.
  const section = await frontierSection(testCell({ scenario, network, toolScale: 20 }), {
    rollouts: 2,
    residualsMs: [0],
    admissionsMs: [0],
  });
  assert.ok((section.points[0]?.ms_per_turn ?? 0) <= (-20 * 4) / 7);
});

test('the frontier goes over every speed, tells its progress over all, and prints each point', async () => {
  const told: number[] = [];
  const sections = await frontier(
    testCell({ network: open, toolScale: 0.1 }),
    {
      rollouts: 1,
      residualsMs: [0, 100],
      admissionsMs: [0, 30],
      onProgress: (done, of) => told.push(done / of),
    },
    [65, 4000],
  );
  assert.deepEqual(
    sections.map(({ tokens_per_second }) => tokens_per_second),
    [65, 4000],
  );
  assert.deepEqual(
    told,
    [1, 2, 3, 4, 5, 6, 7, 8].map((done) => done / 8),
  );
  const [slow, fast] = sections.map(frontierText);
  assert.match(slow ?? '', /admission 30 ms/);
  assert.match(slow ?? '', /at true tool time/);
  assert.match(fast ?? '', /passes 5\.0 % at a residual of/);
});
