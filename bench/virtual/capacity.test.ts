import assert from 'node:assert/strict';
import { test } from 'node:test';

import { mean } from 'simple-statistics';

import { deferred, VirtualClock } from '../../engine/index.js';
import { draw, generatorFor } from '../../scenarios/random.js';
import { Workers } from '../service/backend.js';
import { playAlone } from './alone.js';
import { prototype, shipped, virtualArm, type VirtualArm } from './arm.js';
import { arrivalTimes } from './arrivals.js';
import {
  capacityText,
  highestRateMet,
  meetsBound,
  prototypePlaceGivenBack,
  sweepCapacity,
  theoreticalCapacity,
} from './capacity.js';
import { playOpenLoop } from './open-loop.js';
import { VirtualServer } from './server.js';
import { cpuProfile, smallCell, smallScenario } from './testing.js';

const never = new AbortController().signal;

test('one worker, Poisson arrivals and exponential work wait as long as Pollaczek and Khinchine say', async () => {
  const clock = new VirtualClock();
  const workers = new Workers(clock, 1);
  const random = generatorFor('exponential', 1);
  const waits: number[] = [];
  const over = deferred<void>();
  const count = 4000;
  for (const at of arrivalTimes('poisson', { count, ratePerSecond: 50, seed: 1 })) {
    const burnMs = -10 * Math.log(1 - draw({ p: [0, 100], v: [0, 1] }, random));
    clock.after(at, () => {
      void workers.burn(burnMs, never).then(() => {
        waits.push(clock.now() - at - burnMs);
        if (waits.length === count) over.resolve();
      });
    });
  }
  await clock.runUntil(over.promise);
  // M/M/1 at half load, 10 ms of work: ρ/(1 − ρ) · 10 ms.
  assert.ok(mean(waits) > 8 && mean(waits) < 12, `${mean(waits)} ms`);
});

function loaded(arm: VirtualArm, turns: number, toolMs: number, slots = 100) {
  const cell = smallCell(smallScenario(turns, toolMs), cpuProfile(80, 20));
  const server = new VirtualServer({ cell, arm, workers: 1, slots });
  return {
    cell,
    server,
    play: (arrivalsMs: readonly number[], drainMsMax = 600_000) =>
      playOpenLoop({ cell, arm, server, arrivalsMs, drainMsMax }),
  };
}

test('creates of constant work on one processor wait as long as Pollaczek and Khinchine say', async () => {
  const { cell, play } = loaded(shipped, 1, 0);
  const arrived = await play(arrivalTimes('poisson', { count: 400, ratePerSecond: 5, seed: 1 }));
  const alone = await playAlone(cell, shipped, 0);
  const waitMs = mean(arrived.map(({ e2eMs }) => e2eMs)) - alone.e2eMs;
  // M/D/1 at half load, 100 ms of work: ρ/(2(1 − ρ)) · 100 ms.
  assert.ok(waitMs > 35 && waitMs < 65, `${waitMs} ms`);
});

test('equal rollouts end in the order in which they arrived, and alone one takes what it takes on an idle server', async () => {
  const { cell, play } = loaded(prototype, 3, 50);
  const arrivalsMs = [0, 10, 20, 5000];
  const arrived = await play(arrivalsMs);
  assert.deepEqual(
    arrived.map((one) => [one.scheduledAt, one.status, one.ttftMs.length]),
    arrivalsMs.map((at) => [at, 'completed', 3]),
  );
  const ends = arrived.map(({ scheduledAt, e2eMs }) => scheduledAt + e2eMs);
  assert.deepEqual(
    [...ends].sort((a, b) => a - b),
    ends,
  );
  const alone = await playAlone(cell, prototype, 3);
  assert.ok(Math.abs((arrived[3]?.e2eMs ?? 0) - alone.e2eMs) < 1e-6);
});

test('a server that stalls shows in the latency of all that the schedule had arrive meanwhile', async () => {
  const { cell, server, play } = loaded(shipped, 1, 0);
  server.clock.after(1000, () => void server.workers.burn(5000, never));
  const arrived = await play([0, 1500, 3000, 20_000]);
  const { e2eMs } = await playAlone(cell, shipped, 0);
  const lateMs = arrived.map((one) => Math.round(one.e2eMs - e2eMs));
  assert.deepEqual(lateMs, [0, 4500, 3100, 0]);
  const firstTokenMs = arrived.map(({ ttftMs }) => Math.round(ttftMs[0] ?? 0));
  assert.equal((firstTokenMs[1] ?? 0) - (firstTokenMs[0] ?? 0), 4500);
});

for (const arm of [
  shipped,
  prototype,
  prototypePlaceGivenBack,
  virtualArm('append-ws early'),
  virtualArm('replay-http'),
])
  test(`${arm.name}: nothing is left when a run is over, though it was over too soon`, async () => {
    const { server, play } = loaded(arm, 5, 700, 2);
    const arrivalsMs = arrivalTimes('poisson', { count: 30, ratePerSecond: 10, seed: 1 });
    const arrived = await play(arrivalsMs, 2000);
    const unfinished = arrived.filter(({ status }) => status === 'unfinished');
    assert.ok(unfinished.length > 0, `${unfinished.length} unfinished`);
    for (const { scheduledAt, e2eMs } of unfinished) assert.ok(Math.abs(scheduledAt + e2eMs - 5000) < 1e-6);
    assert.equal(arrived.length, 30);
    assert.equal(server.engine.liveCount, 0);
    assert.equal(server.clock.pending, 0);
    assert.equal(server.slots?.free, 2);
    assert.equal(server.scripts.size, 0);
  });

test('a place that is held while tools run is a place that others wait for', async () => {
  const arrivalsMs = arrivalTimes('poisson', { count: 20, ratePerSecond: 1, seed: 1 });
  const worst = async (arm: VirtualArm) => {
    const { server, play } = loaded(arm, 4, 2000, 2);
    const arrived = await play(arrivalsMs);
    return { e2eMs: Math.max(...arrived.map(({ e2eMs }) => e2eMs)), heldMs: server.slots?.heldMs ?? 0 };
  };
  const held = await worst(prototype);
  const given = await worst(prototypePlaceGivenBack);
  assert.ok(held.heldMs > 20 * 3 * 2000);
  assert.equal(given.heldMs, 0);
  assert.ok(held.e2eMs > 3 * given.e2eMs, `${held.e2eMs} and ${given.e2eMs} ms`);
});

test('capacity is what the scarcer of CPU and slots allows', () => {
  const alone = [
    { cpuMs: 100, slotMs: 1000 },
    { cpuMs: 300, slotMs: 3000 },
  ];
  assert.equal(theoreticalCapacity(alone, { workers: 1, slots: 100 }), 5);
  assert.equal(theoreticalCapacity(alone, { workers: 1, slots: 4 }), 2);
});

test('a rollout meets the bounds with its 95th turn of a hundred and its end, or not at all', () => {
  const bound = { ttftMsMax: 100, e2eFactorMax: 1.5 };
  const one = { status: 'completed', e2eMs: 1500, ttftMs: [...Array<number>(20).fill(100), 900] };
  assert.equal(meetsBound(one, 1000, bound), true);
  assert.equal(meetsBound({ ...one, ttftMs: [100, 900] }, 1000, bound), false);
  assert.equal(meetsBound(one, 999, bound), false);
  assert.equal(meetsBound({ ...one, status: 'unfinished' }, 1000, bound), false);
});

test('the highest rate that was met counts, not the sum of what was met', () => {
  const points = [
    { offered_per_second: 1, attainment: 1 },
    { offered_per_second: 2, attainment: 0.9 },
    { offered_per_second: 3, attainment: 0.89 },
  ];
  assert.equal(highestRateMet(points), 2);
  assert.equal(highestRateMet(points, 1), 1);
  assert.equal(highestRateMet([]), 0);
});

test('a sweep has a line for each design and rate, meets the bounds under light load, and is the same again', async () => {
  const cell = smallCell(smallScenario(3, 200), cpuProfile(80, 20));
  const bound = { ttftMsMax: 400, e2eFactorMax: 1.5 };
  const load = {
    cell,
    workers: 1,
    slots: 8,
    arrivals: 'recorded',
    measured: 20,
    discarded: 5,
    bound,
  } as const;
  const points = await sweepCapacity(load, [shipped, prototype], [0.05, 3]);
  assert.deepEqual(
    points.map(({ arm, offered_per_second }) => [arm, Math.round(1000 * offered_per_second)]),
    [
      ['chain-ws', 167],
      ['chain-ws', 10_000],
      ['append-ws', 167],
      ['append-ws', 10_000],
    ],
  );
  const [light, heavy] = points;
  assert.ok((light?.attainment ?? 0) > (heavy?.attainment ?? 1));
  assert.ok((light?.e2e_ms.p95 ?? Infinity) < (heavy?.e2e_ms.p95 ?? 0));
  assert.equal(
    capacityText(points)
      .split('\n')
      .filter((line) => line.includes('-ws')).length,
    4,
  );
  assert.deepEqual(await sweepCapacity(load, [shipped, prototype], [0.05, 3]), points);
});

test('a sweep of rollouts that use nothing is refused', async () => {
  const cell = smallCell(smallScenario(1, 0), cpuProfile(0, 0));
  const bound = { ttftMsMax: 400, e2eFactorMax: 1.5 };
  const load = {
    cell,
    workers: 1,
    slots: Infinity,
    arrivals: 'poisson',
    measured: 1,
    discarded: 0,
    bound,
  } as const;
  await assert.rejects(sweepCapacity(load, [shipped], [1]), /neither workers nor slots/);
});
