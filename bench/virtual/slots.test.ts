import assert from 'node:assert/strict';
import { test } from 'node:test';

import { VirtualClock } from '../../engine/index.js';
import { Slots } from './slots.js';

function slotsOf(count: number) {
  const clock = new VirtualClock();
  return { clock, slots: new Slots({ clock, count, held: 'per-turn', ttlMs: Infinity }) };
}
const never = new AbortController().signal;

test('who comes first gets the slot first, and one who gave up is passed over', async () => {
  const { clock, slots } = slotsOf(1);
  const order: string[] = [];
  const gone = new AbortController();
  const take = async (name: string, signal = never) => {
    await slots.take(name, signal);
    order.push(name);
  };
  await take('a');
  const waiting = [take('b'), assert.rejects(take('c', gone.signal), /gone/), take('d')];
  gone.abort(new Error('gone'));
  await clock.advance(0);
  assert.deepEqual(order, ['a']);
  slots.give();
  await clock.advance(0);
  assert.deepEqual(order, ['a', 'b']);
  slots.give();
  await Promise.all(waiting);
  assert.deepEqual(order, ['a', 'b', 'd']);
  slots.give();
  assert.equal(slots.free, 1);
});

test('a held slot is nobody else’s, costs its time, and is its holder’s again at once', async () => {
  const { clock, slots } = slotsOf(1);
  await slots.take('a', never);
  slots.hold('a', Infinity);
  let other = false;
  const waiting = slots.take('b', never).then(() => (other = true));
  await clock.advance(500);
  assert.equal(other, false);
  await slots.take('a', never);
  assert.equal(slots.heldMs, 500);
  slots.give();
  await waiting;
  slots.give();
  assert.equal(slots.free, 1);
});

test('a hold that expires gives the slot to whoever waits, and letting go of nothing gives nothing', async () => {
  const { clock, slots } = slotsOf(1);
  await slots.take('a', never);
  slots.hold('a', 200);
  const waiting = slots.take('b', never);
  await clock.advance(200);
  await waiting;
  assert.equal(slots.heldMs, 200);
  slots.letGo('a');
  assert.equal(slots.free, 0);
  slots.give();
  assert.equal(slots.free, 1);
  assert.equal(clock.pending, 0);
});

test('no slots at all are refused', () => {
  assert.throws(() => slotsOf(0), RangeError);
});
