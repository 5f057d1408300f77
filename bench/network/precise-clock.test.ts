import { test } from 'node:test';
import assert from 'node:assert/strict';

import { VirtualClock } from '../../engine/index.js';
import { PreciseClock } from './precise-clock.js';
import type { Alarm } from './waking-thread.js';

/** An alarm on a virtual clock, which a test can make early. */
class HandAlarm implements Alarm {
  readonly clock = new VirtualClock();
  /** What it was set to, in ms from then. */
  readonly set: number[] = [];
  ended = false;
  onWake: () => void = () => undefined;

  wakeAfter(ms: number): void {
    this.set.push(ms);
    this.clock.after(ms, () => this.onWake());
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.ended = true;
    return Promise.resolve();
  }
}

interface Bench {
  readonly alarm: HandAlarm;
  readonly precise: PreciseClock;
  /** `name@ms`, as they fired. */
  readonly fired: string[];
  /** Turns of the event loop, 0.125 ms each. */
  readonly turns: () => number;
  readonly set: (name: string, ms: number) => Disposable;
}

function benchOf(): Bench {
  const alarm = new HandAlarm();
  const { clock } = alarm;
  let turns = 0;
  const precise = new PreciseClock(alarm, clock, (callback) => {
    turns++;
    clock.after(0.125, callback);
  });
  const fired: string[] = [];
  const set = (name: string, ms: number): Disposable =>
    precise.after(ms, () => fired.push(`${name}@${clock.now()}`));
  return { alarm, precise, fired, turns: () => turns, set };
}

test('timers fire when they are due, in order of due time and then of setting', async () => {
  const { alarm, set, fired } = benchOf();
  set('late', 10.5);
  set('early', 2.25);
  set('with it', 2.25);
  assert.equal(fired.length, 0);
  await alarm.clock.runToIdle();
  assert.deepEqual(
    fired.map((each) => each.replace(/@.*/, '')),
    ['early', 'with it', 'late'],
  );
  for (const [index, due] of [2.25, 2.25, 10.5].entries()) {
    const at = Number(fired[index]?.replace(/.*@/, ''));
    assert.ok(at >= due && at < due + 0.125, `due at ${due}, fired at ${at}`);
  }
});

test('the alarm is set for shortly before the first timer alone, anew only where an earlier one comes', () => {
  const { alarm, set } = benchOf();
  for (const ms of [10, 20, 5, 7, Infinity]) set('any', ms);
  assert.deepEqual(alarm.set, [9.7, 4.7]);
});

test('the event loop turns for the last of it only, and not at all for what is far', async () => {
  const { alarm, set, turns } = benchOf();
  set('it', 10);
  await alarm.clock.advance(9.69);
  assert.equal(turns(), 0);
  await alarm.clock.runToIdle();
  assert.equal(turns(), 3);
});

test('a timer that is due at once needs no alarm, and never fires while it is set', async () => {
  const { alarm, set, fired } = benchOf();
  set('past', -1);
  set('now', 0);
  assert.equal(fired.length, 0);
  await alarm.clock.runToIdle();
  assert.deepEqual([alarm.set, fired], [[], ['past@0.125', 'now@0.125']]);
});

test('an alarm that is early is set again, and nothing fires before it is due', async () => {
  const { alarm, set, fired } = benchOf();
  set('it', 10.25);
  await alarm.clock.advance(4.25);
  alarm.onWake();
  assert.equal(fired.length, 0);
  assert.equal(alarm.set.length, 2);
  await alarm.clock.runToIdle();
  assert.equal(fired.length, 1);
  assert.ok(alarm.clock.now() >= 10.25);
});

test('a timer that was disposed never fires, and those behind it do', async () => {
  const { alarm, set, fired } = benchOf();
  const gone = set('gone', 5);
  set('kept', 8);
  gone[Symbol.dispose]();
  await alarm.clock.runToIdle();
  assert.equal(fired.length, 1);
  assert.match(fired[0] ?? '', /^kept@8/);
});

test('a clock that was disposed ends its alarm, and fires nothing more', async () => {
  const { alarm, precise, set, fired } = benchOf();
  set('never', 5);
  set('nor this', 0);
  await precise[Symbol.asyncDispose]();
  await alarm.clock.runToIdle();
  assert.deepEqual([alarm.ended, fired], [true, []]);
});
