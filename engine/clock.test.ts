import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { deferred, SystemClock, systemClock, VirtualClock } from './clock.js';
import type { TimeSource } from './system-timer.js';

const forever = new AbortController().signal;

/** A process whose time a test moves: `setTimeout` as Node has it, 32-bit bound included. */
class HandTime implements TimeSource {
  ms = 1000;
  armed: { due: number; bound: number; fire: () => void; keepsAlive: boolean }[] = [];
  bounds: number[] = [];

  now = (): number => this.ms;
  unixMs = (): number => 1_750_000_000_000 + this.ms;

  arm(ms: number, fire: () => void, keepsAlive: boolean): Disposable {
    const bound = ms > 2 ** 31 - 1 ? 1 : ms;
    const entry = { due: this.ms + bound, bound, fire, keepsAlive };
    this.bounds.push(bound);
    this.armed.push(entry);
    return {
      [Symbol.dispose]: () => {
        this.armed = this.armed.filter((other) => other !== entry);
      },
    };
  }

  /** Fires the earliest, `earlyMs` before it is due. */
  fireNext(earlyMs = 0): void {
    const [next] = this.armed.sort((one, other) => one.due - other.due);
    assert.ok(next);
    this.armed = this.armed.filter((other) => other !== next);
    this.ms = Math.max(this.ms, next.due - earlyMs);
    next.fire();
  }
}

test('a deferred is settled from outside', async () => {
  const [kept, broken] = [deferred<number>(), deferred<number>()];
  kept.resolve(7);
  assert.equal(await kept.promise, 7);
  const fault = new Error('broken');
  broken.reject(fault);
  await assert.rejects(broken.promise, fault);
});

test('the system clock arms again until a bound above 2^31 ms is reached', () => {
  const time = new HandTime();
  const fired: number[] = [];
  const timer = new SystemClock(time).after(2 ** 32 + 500, () => fired.push(time.ms));
  assert.equal(timer.due, 1000 + 2 ** 32 + 500);
  time.fireNext();
  time.fireNext();
  assert.deepEqual(fired, []);
  time.fireNext();
  assert.deepEqual(fired, [1000 + 2 ** 32 + 500]);
  assert.deepEqual(time.bounds, [2 ** 31 - 1, 2 ** 31 - 1, 502]);
  assert.deepEqual(time.armed, []);
});

test('the system clock never calls back early', () => {
  const time = new HandTime();
  const fired: number[] = [];
  new SystemClock(time).after(9.25, () => fired.push(time.ms));
  time.fireNext(3);
  assert.deepEqual(fired, []);
  time.fireNext();
  assert.deepEqual(fired, [1010]);
  assert.deepEqual(time.bounds, [10, 3]);
});

test('an endless bound sets no timer, a negative one is due now, and a bound that is no number is refused', () => {
  const time = new HandTime();
  const clock = new SystemClock(time);
  const fired: string[] = [];
  assert.equal(clock.after(Infinity, () => fired.push('never')).due, Infinity);
  assert.deepEqual(time.armed, []);
  assert.equal(clock.after(-5, () => fired.push('now')).due, 1000);
  time.fireNext();
  assert.deepEqual(fired, ['now']);
  assert.throws(() => clock.after(NaN, () => {}), RangeError);
  assert.throws(() => new VirtualClock().after(NaN, () => {}), RangeError);
});

test('a disposed timer does not fire, and disposing it again or after it fired does nothing', () => {
  const time = new HandTime();
  const clock = new SystemClock(time);
  const fired: string[] = [];
  const disposed = clock.after(5, () => fired.push('disposed'));
  disposed[Symbol.dispose]();
  disposed[Symbol.dispose]();
  assert.deepEqual(time.armed, []);
  const kept = clock.after(5, () => fired.push('kept'));
  time.fireNext();
  kept[Symbol.dispose]();
  assert.deepEqual(fired, ['kept']);
});

test('a deadline lets the process end and a sleep keeps it alive', async () => {
  const time = new HandTime();
  const clock = new SystemClock(time);
  const deadline = clock.after(1, () => {});
  const sleep = clock.sleep(1, forever);
  assert.deepEqual(
    time.armed.map(({ keepsAlive }) => keepsAlive),
    [false, true],
  );
  deadline[Symbol.dispose]();
  time.fireNext();
  await sleep;
});

test('a sleep leaves no timer and no listener, whether it ends, is aborted, or was aborted before', async () => {
  const time = new HandTime();
  const virtual = new VirtualClock();
  for (const clock of [new SystemClock(time), virtual]) {
    const controller = new AbortController();
    const { signal } = controller;
    const left = () => [time.armed.length, virtual.pending, getEventListeners(signal, 'abort').length];
    const ends = clock.sleep(10, signal);
    if (clock === virtual) await virtual.advance(10);
    else time.fireNext();
    await ends;
    assert.deepEqual(left(), [0, 0, 0]);
    const reason = new Error('enough');
    const aborted = [clock.sleep(10, signal), clock.sleep(Infinity, signal)];
    controller.abort(reason);
    for (const sleep of aborted) await assert.rejects(sleep, reason);
    await assert.rejects(clock.sleep(10, signal), reason);
    assert.deepEqual(left(), [0, 0, 0]);
  }
});

test('the system clock reads monotonic milliseconds and whole seconds, and breathes', async () => {
  const time = new HandTime();
  const clock = new SystemClock(time);
  assert.deepEqual([clock.now(), clock.unixSeconds()], [1000, 1_750_000_001]);
  const order: string[] = [];
  setImmediate(() => order.push('the loop turned'));
  await systemClock.breathe();
  order.push('breathed');
  assert.deepEqual(order, ['the loop turned', 'breathed']);
  assert.ok(systemClock.now() <= systemClock.now());
});

test('virtual time moves only by hand', async () => {
  const clock = new VirtualClock({ unixSecondsStart: 500 });
  let fired = 0;
  clock.after(0, () => fired++);
  await clock.breathe();
  assert.deepEqual([clock.now(), clock.unixSeconds(), fired, clock.pending], [0, 500, 0, 1]);
  await clock.advance(0);
  assert.deepEqual([clock.now(), fired, clock.pending], [0, 1, 0]);
  await clock.advance(2999.5);
  assert.deepEqual([clock.now(), clock.unixSeconds()], [2999.5, 502]);
});

test('virtual timers fire in order of due time, then of setting, and see their own due time', async () => {
  const clock = new VirtualClock();
  const order: string[] = [];
  const set = (name: string, ms: number) => clock.after(ms, () => order.push(`${name}@${clock.now()}`));
  set('late', 30);
  set('first of ten', 10);
  set('second of ten', 10);
  set('early', 5);
  clock.after(10, () => set('set while firing', 0));
  set('third of ten', 10);
  await clock.advance(29.9);
  assert.deepEqual(order, [
    'early@5',
    'first of ten@10',
    'second of ten@10',
    'third of ten@10',
    'set while firing@10',
  ]);
  await clock.advance(0.1);
  assert.equal(order.at(-1), 'late@30');
});

test('all that a virtual timer made runnable runs before the next one, breathing included', async () => {
  const clock = new VirtualClock();
  const order: string[] = [];
  const work = async (name: string) => {
    await clock.sleep(10, forever);
    order.push(`${name} woke`);
    for (let step = 0; step < 20; step++) await clock.breathe();
    order.push(`${name} breathed`);
    await Promise.resolve();
    setImmediate(() => setImmediate(() => order.push(`${name} ended`)));
  };
  const both = [work('one'), work('two')];
  await clock.advance(10);
  await Promise.all(both);
  assert.deepEqual(order, ['one woke', 'one breathed', 'one ended', 'two woke', 'two breathed', 'two ended']);
});

test('a virtual clock that settles for less still waits for whoever breathes, and for every promise', async () => {
  for (const settleRounds of [0, 1]) {
    const order: string[] = [];
    const clock = new VirtualClock({ settleRounds });
    const work = async (name: string) => {
      await clock.sleep(10, forever);
      for (let step = 0; step < 20; step++) await clock.breathe();
      for (let step = 0; step < 100; step++) await Promise.resolve();
      order.push(`${name} breathed`);
    };
    const both = [work('one'), work('two')];
    await clock.advance(10);
    assert.deepEqual(order, ['one breathed', 'two breathed']);
    await Promise.all(both);
  }
});

test('a virtual clock that needs no turn of the loop gives the process one every 256 timers', async () => {
  const clock = new VirtualClock({ settleRounds: 0 });
  let turnedAt = -1;
  setImmediate(() => (turnedAt = clock.now()));
  for (let at = 1; at <= 300; at++) clock.after(at, () => undefined);
  await clock.advance(300);
  assert.ok(turnedAt > 0 && turnedAt <= 256, String(turnedAt));
});

test('a virtual clock that needs no turn of the loop lets promises settle first, also when moved by a callback of the loop', async () => {
  const clock = new VirtualClock({ settleRounds: 0 });
  const settled = new Promise<string>((resolve, reject) => {
    setImmediate(() => {
      const deep = async (depth: number): Promise<string> => (depth === 0 ? 'settled' : deep(depth - 1));
      clock.runUntil(deep(20)).then(resolve, reject);
    });
  });
  assert.equal(await settled, 'settled');
});

test('a virtual timer can unset another that is due at the same time', async () => {
  const clock = new VirtualClock();
  const order: string[] = [];
  const first = clock.sleep(10, forever).then(() => second[Symbol.dispose]());
  const second = clock.after(10, () => order.push('second'));
  await clock.advance(10);
  await first;
  assert.deepEqual([order, clock.pending], [[], 0]);
});

test('runUntil moves time as far as the promise needs, and names a wait that nothing ends', async () => {
  const clock = new VirtualClock();
  const task = (async () => {
    await clock.sleep(2 ** 40, forever);
    await clock.sleep(0.5, forever);
    return 'done';
  })();
  clock.after(2 ** 41, () => assert.fail('time moved too far'));
  assert.equal(await clock.runUntil(task), 'done');
  assert.deepEqual([clock.now(), clock.pending], [2 ** 40 + 0.5, 1]);
  const fault = new Error('broken');
  await assert.rejects(clock.runUntil(Promise.reject(fault)), fault);
  await assert.rejects(new VirtualClock().runUntil(deferred<void>().promise), /no timer is set/);
});

test('runToIdle fires everything, and the clock is moved by one hand at a time', async () => {
  const clock = new VirtualClock();
  const ticks: number[] = [];
  const tick = () => {
    ticks.push(clock.now());
    if (ticks.length < 3) clock.after(100, tick);
  };
  clock.after(100, tick);
  const running = clock.runToIdle();
  await assert.rejects(clock.advance(1), /being moved already/);
  await running;
  assert.deepEqual(ticks, [100, 200, 300]);
});

test('20,000 virtual timers in any order fire in order, and the unset ones leave nothing', async () => {
  const clock = new VirtualClock();
  const fired: number[] = [];
  const timers = Array.from({ length: 20_000 }, (_, index) => {
    const due = (index * 7919) % 20_011;
    return clock.after(due, () => fired.push(due));
  });
  for (const [index, timer] of timers.entries()) if (index % 20 !== 0) timer[Symbol.dispose]();
  assert.equal(clock.pending, 1000);
  await clock.runToIdle();
  const expected = Array.from({ length: 1000 }, (_, index) => (index * 20 * 7919) % 20_011);
  assert.deepEqual(
    fired,
    expected.sort((one, other) => one - other),
  );
  for (let round = 0; round < 20_000; round++) clock.after(1000, () => {})[Symbol.dispose]();
  assert.equal(clock.pending, 0);
});
