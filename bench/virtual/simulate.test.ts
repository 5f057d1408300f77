import { createHash } from 'node:crypto';
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { builtinScenarios, type Scenario } from '../../scenarios/index.js';
import { prototype, shipped, virtualArms } from './arm.js';
import { playVirtual, type VirtualCell } from './rollout.js';
import { simulate } from './simulate.js';
import { testCell } from './testing/cell.js';

const cell = testCell();
const numbers = [5, 0, 3, 1];

test('a cell played twice, here and in one thread and in two, gives the same to the last bit', async () => {
  const arms = [shipped, prototype, ...virtualArms.filter(({ name }) => name === 'chain-ws ahead')];
  const played = await Promise.all([0, 0, 1, 2].map((threads) => simulate(cell, arms, numbers, { threads })));
  for (const again of played) assert.deepEqual(again, played[0]);
  assert.deepEqual(
    [...(played[0] ?? [])].map(([name, rollouts]) => [name, rollouts.length]),
    arms.map(({ name }) => [name, numbers.length]),
  );
});

test('the rollouts come in the order that was asked for', async () => {
  const alone = await Promise.all(numbers.map((rollout) => playVirtual(cell, shipped, rollout)));
  const { [0]: first } = [...(await simulate(cell, [shipped], numbers, { threads: 2 })).values()];
  assert.deepEqual(
    first?.map(({ e2e_ms }) => e2e_ms),
    alone.map(({ e2e_ms }) => e2e_ms),
  );
});

test('a scenario of one’s own goes over to a thread whole', async () => {
  const terminal = builtinScenarios.get('terminal');
  assert.ok(terminal);
  const scenario: Scenario = { ...terminal, name: 'own', rollouts: terminal.rollouts?.slice(0, 3) };
  const own: VirtualCell = { ...cell, scenario };
  const [here, there] = await Promise.all(
    [0, 1].map((threads) => simulate(own, [prototype], [0, 1, 2], { threads })),
  );
  assert.deepEqual(there, here);
});

test('what every arm does in one small cell is as it was when it was looked at', async () => {
  const played = await simulate(cell, virtualArms, [0, 1], { threads: 0 });
  const told = [...played].map(([name, rollouts]) => [
    name,
    rollouts.map(({ status, e2e_ms, turns, stage_runs }) => [
      status,
      e2e_ms,
      turns.map(
        ({ first_event_ms, overhead_ms, ms, input_tokens, cached_tokens, output_tokens, bytes_up }) => [
          first_event_ms,
          overhead_ms,
          ms,
          input_tokens,
          cached_tokens,
          output_tokens,
          bytes_up,
        ],
      ),
      stage_runs,
    ]),
  ]);
  const hash = createHash('sha256').update(JSON.stringify(told)).digest('hex');
  // A change of behaviour changes it: say in the commit what changed, and put the new one here.
  assert.equal(hash, 'c5adb10b4260809179d98c53ffec6c772b2840a836097878779b5de29e399904');
});

test('no turn of the event loop after a timer lets as much settle as three', async () => {
  const [none, once, thrice] = await Promise.all(
    [0, 1, 3].map((settleRounds) => simulate({ ...cell, settleRounds }, virtualArms, [0, 1], { threads: 0 })),
  );
  assert.deepEqual(once, none);
  assert.deepEqual(thrice, none);
});

test('an abort ends the work with its reason, in threads too', async () => {
  const many = Array.from({ length: 20 }, (_, rollout) => rollout);
  for (const threads of [0, 1]) {
    const ending = new AbortController();
    const reason = new Error('enough');
    const playing = simulate(cell, [shipped], many, {
      threads,
      signal: ending.signal,
      onProgress: () => ending.abort(reason),
    });
    await assert.rejects(playing, reason);
  }
});

test('a fault in a thread is the fault of the call', async () => {
  const broken: VirtualCell = { ...cell, decodeTokensPerSecond: -1 };
  await assert.rejects(simulate(broken, [shipped], [0], { threads: 1 }), /decodeTokensPerSecond/);
});

test('progress counts every rollout of every arm, and two arms of one name are refused', async () => {
  const told: [number, number][] = [];
  await simulate(cell, [shipped, prototype], [0, 1], { onProgress: (...at) => told.push(at) });
  assert.deepEqual(told, [
    [1, 4],
    [2, 4],
    [3, 4],
    [4, 4],
  ]);
  await assert.rejects(simulate(cell, [shipped, shipped], [0]), RangeError);
});
