import { test } from 'node:test';
import assert from 'node:assert/strict';

import { twinArm } from '../arms.js';
import { virtualArm } from '../virtual/arm.js';
import { playVirtual } from '../virtual/rollout.js';
import { virtualCellOf } from './anchors.js';
import type { MeasuredRollout } from './difference.js';
import { networkCells, type NetworkCell } from './network-cells.js';
import { networkSections, networkText } from './network-sections.js';

const cells = networkCells(1, 'full');
const named = (name: string): NetworkCell =>
  cells.find((cell) => cell.name === name) ?? assert.fail(`there is no cell ${name}`);

/** Rows as a machine that costs nothing would measure them. */
async function idealRows(cell: NetworkCell): Promise<MeasuredRollout[]> {
  const virtual = await virtualCellOf(cell, 1, {});
  return Promise.all(
    cell.arms.map(async (arm) => {
      const played = await playVirtual(virtual, virtualArm(arm === twinArm ? 'append-ws' : arm), 0);
      return { ...played, arm, block: 0, rollout: 0, connect_ms: 100 };
    }),
  );
}

async function gainOf(name: string): Promise<number> {
  const cell = named(name);
  const rows = await idealRows(cell);
  const [section] = await networkSections([cell], () => rows, 1, {});
  const [measured, virtual] =
    section?.differences.filter(({ left, right }) => left === 'append-ws' && right === 'chain-ws') ?? [];
  assert.ok(measured !== undefined && virtual !== undefined);
  assert.deepEqual([measured.engine, virtual.engine], ['real', 'virtual']);
  assert.ok(Math.abs(measured.ms_per_turn.mean - virtual.ms_per_turn.mean) < 1e-9);
  return virtual.ms_per_turn.mean;
}

test('the grid predicts no difference where tools are quick or windows stay open, and a round trip where they restart', async () => {
  for (const rttMs of [2, 200]) {
    assert.ok(Math.abs(await gainOf(`grid, RTT ${rttMs}, tools 20 ms`)) < 1e-6);
    assert.ok(Math.abs(await gainOf(`grid, RTT ${rttMs}, tools 400 ms, no restart`)) < 1e-6);
  }
  assert.ok((await gainOf('grid, RTT 50, tools 400 ms')) <= -50 / 2);
});

test('a section tells every arm and comparison of its cell, and cold beside warm', async () => {
  const cell = named('bare, tools 20 ms');
  const rows = await idealRows(cell);
  const [section] = await networkSections([cell], () => rows, 1, {});
  assert.ok(section);
  assert.deepEqual(
    section.overhead.map(({ arm }) => arm),
    cell.arms.filter((arm) => arm !== twinArm),
  );
  assert.equal(section.differences.filter(({ engine }) => engine === 'real').length, 6);
  assert.equal(section.differences.filter(({ engine }) => engine === 'virtual').length, 5);
  for (const { cold_ms, warm_ms } of section.cold) assert.ok(Math.abs(cold_ms - warm_ms - 100) < 1e-9);
  assert.match(networkText([section]), /bare, tools 20 ms/);
});

test('a cell of which nothing was measured has no section, and every cell has a name of its own', async () => {
  assert.deepEqual(await networkSections(cells, () => [], 1, {}), []);
  assert.equal(new Set(cells.map(({ name }) => name)).size, cells.length);
});
