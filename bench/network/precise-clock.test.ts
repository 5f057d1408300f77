import { test } from 'node:test';
import assert from 'node:assert/strict';

import { VirtualClock } from '../../engine/index.js';
import { PreciseClock } from './precise-clock.js';

/** A virtual clock whose turns of the event loop take 0.25 ms each. */
function benchOf(): { clock: VirtualClock; precise: PreciseClock; turns: () => number } {
  const clock = new VirtualClock();
  let turns = 0;
  const precise = new PreciseClock(
    clock,
    (callback) => {
      turns++;
      clock.after(0.25, callback);
    },
    1.5,
  );
  return { clock, precise, turns: () => turns };
}

test('a timer fires when it is due, and the event loop is polled for the last of it only', async () => {
  const { clock, precise, turns } = benchOf();
  const fired: number[] = [];
  assert.equal(precise.after(10, () => fired.push(clock.now())).due, 10);
  await clock.advance(8.4);
  assert.equal(turns(), 0);
  await clock.runToIdle();
  assert.deepEqual(fired, [10]);
  assert.equal(turns(), 6);
});

test('a timer that is due within the last of it sets none below, and still never fires while it is set', async () => {
  const { clock, precise, turns } = benchOf();
  const fired: number[] = [];
  precise.after(-1, () => fired.push(clock.now()));
  precise.after(1, () => fired.push(clock.now()));
  assert.deepEqual(fired, []);
  await clock.runToIdle();
  assert.deepEqual(fired, [0.25, 1]);
  assert.equal(turns(), 1 + 4);
});

test('a timer that was disposed never fires, and stops polling', async () => {
  const { clock, precise, turns } = benchOf();
  const fired: string[] = [];
  const early = precise.after(10, () => fired.push('early'));
  const polling = precise.after(10, () => fired.push('polling'));
  early[Symbol.dispose]();
  await clock.advance(8.5);
  polling[Symbol.dispose]();
  await clock.runToIdle();
  assert.deepEqual(fired, []);
  assert.equal(turns(), 1);
});
