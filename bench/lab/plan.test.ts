import { test } from 'node:test';
import assert from 'node:assert/strict';

import { blocksMinForInterval } from '../statistics.js';
import { plans } from './plan.js';
import { orderOf } from './real.js';

test('cells and tasks have names of their own, and every cell has the blocks that an interval needs', () => {
  for (const { bare, transports, anchors, virtual } of Object.values(plans)) {
    const cells = [...bare, transports, ...anchors];
    const names = [...cells, ...virtual].map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    for (const { blocks } of cells) assert.ok(blocks >= blocksMinForInterval);
  }
});

test('eight to ten anchors, some fitted, most held out, both kinds of path and of profile among the held out', () => {
  for (const { anchors } of Object.values(plans)) {
    assert.ok(anchors.length >= 8 && anchors.length <= 10);
    const held = anchors.filter(({ heldOut }) => heldOut);
    assert.ok(held.length >= 5 && held.length < anchors.length);
    assert.deepEqual([...new Set(held.map(({ path }) => path))].toSorted(), ['loopback', 'relay']);
    assert.ok(
      held.some(({ profile }) => profile === 'bare') && held.some(({ profile }) => profile === 'hosted'),
    );
  }
});

test('the arms of a block come in an order that seed and block choose, the same every time', () => {
  const [cell] = plans.quick.bare;
  assert.ok(cell !== undefined);
  const orders = Array.from({ length: 12 }, (_, block) => orderOf(cell, 1, block).join());
  assert.ok(new Set(orders).size > 1);
  assert.deepEqual(
    orders,
    Array.from({ length: 12 }, (_, block) => orderOf(cell, 1, block).join()),
  );
  assert.deepEqual(orderOf(cell, 1, 0).toSorted(), [...cell.arms].toSorted());
});
