import { test } from 'node:test';
import assert from 'node:assert/strict';

import { VirtualClock } from '../../engine/index.js';
import { DelayLine, type Link } from './delay-line.js';

interface Bench {
  readonly clock: VirtualClock;
  readonly line: DelayLine<string>;
  /** `entry@ms`, as they left. */
  readonly left: string[];
  takes: boolean;
}

function benchOf(link: Link): Bench {
  const clock = new VirtualClock();
  const left: string[] = [];
  const bench: Bench = {
    clock,
    left,
    takes: true,
    line: new DelayLine(clock, link, (entry) => {
      left.push(`${entry}@${clock.now()}`);
      return bench.takes;
    }),
  };
  return bench;
}

test('what enters leaves after the delay, in order, each at its own time', async () => {
  const { clock, line, left } = benchOf({ delayMs: 25, bytesPerSecond: Infinity });
  line.push('a', 10);
  line.push('b', 10);
  await clock.advance(10);
  line.push('c', 10);
  await clock.advance(14.9);
  assert.deepEqual(left, []);
  assert.equal(line.bytes, 30);
  await clock.runToIdle();
  assert.deepEqual(left, ['a@25', 'b@25', 'c@35']);
  assert.equal(line.bytes, 0);
});

test('a rate lets one entry out after the other, and is idle time gone', async () => {
  const { clock, line, left } = benchOf({ delayMs: 5, bytesPerSecond: 1000 });
  line.push('a', 10);
  line.push('b', 20);
  await clock.advance(100);
  line.push('c', 1);
  await clock.runToIdle();
  assert.deepEqual(left, ['a@15', 'b@35', 'c@106']);
});

test('an entry is due by the time at which it came, and not before the one before it', async () => {
  const { clock, line, left } = benchOf({ delayMs: 10, bytesPerSecond: 1000 });
  line.push('late', 5, 50);
  line.push('behind', 5, 40);
  await clock.runToIdle();
  assert.deepEqual(left, ['late@65', 'behind@70']);
  line.push('read late', 5, 62);
  await clock.runToIdle();
  assert.deepEqual(left.at(-1), 'read late@77');
});

test('nothing leaves while the far end takes nothing, and nothing is lost', async () => {
  const bench = benchOf({ delayMs: 10, bytesPerSecond: Infinity });
  bench.takes = false;
  for (const entry of ['a', 'b', 'c']) bench.line.push(entry, 1);
  await bench.clock.runToIdle();
  assert.deepEqual(bench.left, ['a@10']);
  assert.equal(bench.line.bytes, 2);
  bench.takes = true;
  bench.line.resume();
  await bench.clock.runToIdle();
  assert.deepEqual(bench.left, ['a@10', 'b@10', 'c@10']);
});

test('one timer is set at a time, and none is left behind by the end', () => {
  const { clock, line, left } = benchOf({ delayMs: 10, bytesPerSecond: Infinity });
  for (const entry of ['a', 'b', 'c']) line.push(entry, 1);
  assert.equal(clock.pending, 1);
  line[Symbol.dispose]();
  line.push('d', 1);
  line.resume();
  assert.equal(clock.pending, 0);
  assert.equal(line.bytes, 0);
  assert.deepEqual(left, []);
});
