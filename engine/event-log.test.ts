import { test } from 'node:test';
import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import * as fc from 'fast-check';

import { VirtualClock } from './clock.js';
import { EventLog } from './event-log.js';
import { ProtocolError } from './protocol/errors.js';

const wordLog = (bytesMax = Infinity) => new EventLog<string>({ bytesMax, bytesOf: (entry) => entry.length });

/** A reader as a session is one: it takes what there is, then waits, with nothing awaited between the two (L3). */
function follow(log: EventLog<string>, from = 0): { readonly seen: string[]; readonly ended: boolean } {
  const reader = { seen: [] as string[], ended: false };
  let next = from;
  const read = (): void => {
    const entries = log.from(next);
    reader.seen.push(...entries);
    next += entries.length;
    if (log.sealed && next >= log.next) reader.ended = true;
    else log.whenBeyond(next, read);
  };
  read();
  return reader;
}

test('entries are numbered from 0 without a gap (L1)', () => {
  const log = wordLog();
  assert.deepEqual([log.first, log.next], [0, 0]);
  assert.deepEqual(
    ['a', 'b', 'c'].map((entry) => log.push(entry)),
    [0, 1, 2],
  );
  assert.deepEqual([log.first, log.next], [0, 3]);
  assert.deepEqual(log.from(1), ['b', 'c']);
  assert.deepEqual(log.from(0, 2), ['a', 'b']);
  assert.deepEqual(log.from(3), []);
});

test('the oldest entries go first when the bytes are over the bound, and their numbers are not used again (L1, L2)', () => {
  const log = wordLog(10);
  for (const entry of ['aaaa', 'bbbb', 'cc']) log.push(entry);
  assert.deepEqual([log.first, log.bytes], [0, 10]);
  assert.equal(log.push('d'), 3);
  assert.deepEqual([log.first, log.next, log.bytes], [1, 4, 7]);
  assert.deepEqual(log.from(1), ['bbbb', 'cc', 'd']);
});

test('a reader older than what is kept gets replay_expired, which says where to go on (L2, B30)', () => {
  const log = wordLog(4);
  for (const entry of ['aa', 'bb', 'cc']) log.push(entry);
  assert.throws(
    () => log.from(0),
    (fault) =>
      fault instanceof ProtocolError &&
      fault.code === 'replay_expired' &&
      fault.status === 410 &&
      fault.param === 'starting_after' &&
      /\b1\b/.test(fault.message),
  );
  assert.deepEqual(log.from(log.first), ['bb', 'cc']);
});

test('the newest entry is kept however long it is (L2)', () => {
  const log = wordLog(4);
  log.push('aa');
  log.push('b'.repeat(100));
  assert.deepEqual([log.first, log.next, log.bytes], [1, 2, 100]);
  log.push('c');
  assert.deepEqual(log.from(2), ['c']);
});

test('what the bound has dropped is let go of, few long entries too (L2)', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const log = new EventLog<{ readonly bytes: number }>({ bytesMax: 100, bytesOf: (entry) => entry.bytes });
  const pushed: WeakRef<object>[] = [];
  const push = (): void => {
    const entry = { bytes: 60 };
    pushed.push(new WeakRef(entry));
    log.push(entry);
  };
  for (let index = 0; index < 10; index++) push();
  assert.deepEqual([log.first, log.bytes], [9, 60]);
  await new VirtualClock().breathe(); // What a turn of the loop has touched is not collected in it.
  collect();
  const held = pushed.filter((entry) => entry.deref() !== undefined).length;
  assert.ok(held <= 3, `of ten entries, one of them kept, ${held} are in memory`);
});

test('a waiter is called once, when its entry exists (L3)', () => {
  const log = wordLog();
  let calls = 0;
  log.whenBeyond(1, () => calls++);
  assert.equal(log.waiting, 1);
  log.push('a');
  assert.equal(calls, 1, 'a push wakes every waiter; one that came too early waits again');
  assert.equal(log.waiting, 0);
  log.push('b');
  assert.equal(calls, 1);
});

test('a wait for what is there, or will never be, ends at once (L3)', () => {
  const log = wordLog();
  log.push('a');
  let calls = 0;
  log.whenBeyond(0, () => calls++);
  assert.equal(calls, 1);
  log.seal();
  log.whenBeyond(7, () => calls++);
  assert.equal(calls, 2);
  assert.equal(log.waiting, 0);
});

test('who leaves a wait is not called, and leaving twice changes nothing', () => {
  const log = wordLog();
  const leave = log.whenBeyond(0, () => assert.fail('called after it left'));
  let calls = 0;
  log.whenBeyond(0, () => calls++);
  leave();
  leave();
  assert.equal(log.waiting, 1);
  log.push('a');
  leave();
  assert.equal(calls, 1);
});

test('the seal wakes every waiter, and a sealed log takes nothing more', () => {
  const log = wordLog();
  log.push('a');
  const reader = follow(log);
  log.seal();
  log.seal();
  assert.deepEqual(reader, { seen: ['a'], ended: true });
  assert.throws(() => log.push('b'), /sealed/);
  assert.deepEqual(follow(log, 1), { seen: [], ended: true });
});

test('a slow reader holds nothing up and, within the bound, misses nothing (L4)', () => {
  const log = wordLog(1000);
  const quick = follow(log);
  for (let index = 0; index < 600; index++) log.push('x');
  const slow = follow(log);
  for (let index = 0; index < 400; index++) log.push('y');
  log.seal();
  assert.equal(quick.seen.length, 1000);
  assert.deepEqual(slow, quick);
});

test('a reader that joins in a waiter of another is not lost (L3)', () => {
  const log = wordLog();
  const readers: ReturnType<typeof follow>[] = [];
  log.whenBeyond(0, () => readers.push(follow(log, 1)));
  log.push('a');
  log.push('b');
  assert.deepEqual(readers[0]?.seen, ['b']);
});

test('a log agrees with a plain array under every mix of pushes, reads and readers', () => {
  const act = fc.oneof(
    fc.record({ act: fc.constant('push'), length: fc.nat({ max: 9 }) }),
    fc.record({ act: fc.constant('read'), length: fc.nat({ max: 400 }) }),
    fc.record({ act: fc.constant('follow'), length: fc.constant(0) }),
  );
  fc.assert(
    fc.property(fc.array(act, { maxLength: 400 }), fc.integer({ min: 1, max: 200 }), (acts, bytesMax) => {
      const log = wordLog(bytesMax);
      const all: string[] = [];
      const readers: { readonly from: number; readonly seen: string[] }[] = [];
      for (const { act: kind, length } of acts) {
        if (kind === 'push') {
          all.push(String(all.length).padEnd(length, '.'));
          assert.equal(log.push(all.at(-1) ?? ''), all.length - 1);
        } else if (kind === 'follow') readers.push({ from: log.first, seen: follow(log, log.first).seen });
        else if (length < log.first) assert.throws(() => log.from(length), ProtocolError);
        else assert.deepEqual(log.from(length, 5), all.slice(length, length + 5));
        const kept = all.slice(log.first);
        const bytes = kept.reduce((sum, entry) => sum + entry.length, 0);
        assert.equal(log.bytes, bytes);
        assert.ok(bytes <= bytesMax || kept.length === 1, 'the bound holds');
        assert.ok(
          log.first === 0 || bytes + (all[log.first - 1]?.length ?? 0) > bytesMax,
          'nothing is dropped early',
        );
      }
      for (const { from, seen } of readers) assert.deepEqual(seen, all.slice(from));
    }),
    { seed: 61, numRuns: 150 },
  );
});
