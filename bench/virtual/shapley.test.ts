import { test } from 'node:test';
import assert from 'node:assert/strict';

import { array, assert as holds, double, integer, property } from 'fast-check';

import { hasBit, shapley, type Mask } from './shapley.js';

const count = 5;
const near = (left: number, right: number): void =>
  assert.ok(Math.abs(left - right) < 1e-6, `${left} and ${right}`);
const games = array(double({ min: -1000, max: 1000, noNaN: true }), {
  minLength: 2 ** count,
  maxLength: 2 ** count,
});
const switches = integer({ min: 0, max: count - 1 });
const gainOf = (values: readonly number[]) => (mask: Mask) => values[mask] ?? 0;

/** The average over every order, gone through one by one. */
function overOrders(value: (mask: Mask) => number): number[] {
  const added = Array.from({ length: count }, () => 0);
  let orders = 0;
  const go = (mask: Mask, order: readonly number[]): void => {
    if (order.length < count) {
      for (let at = 0; at < count; at++) if (!hasBit(mask, at)) go(mask | (1 << at), [...order, at]);
      return;
    }
    orders++;
    let set = 0;
    for (const at of order) {
      added[at] = (added[at] ?? 0) + value(set | (1 << at)) - value(set);
      set |= 1 << at;
    }
  };
  go(0, []);
  assert.equal(orders, 120);
  return added.map((sum) => sum / orders);
}

test('the shares are the averages over all 120 orders, and sum to the whole gain', () => {
  holds(
    property(games, (values) => {
      const value = gainOf(values);
      const shares = shapley(count, value);
      overOrders(value).forEach((share, at) => near(shares[at] ?? Number.NaN, share));
      near(
        shares.reduce((sum, share) => sum + share, 0),
        value(2 ** count - 1) - value(0),
      );
    }),
  );
});

test('a switch that changes nothing gets nothing', () => {
  holds(
    property(games, switches, (values, idle) => {
      const value = (mask: Mask): number => gainOf(values)(mask & ~(1 << idle));
      near(shapley(count, value)[idle] ?? Number.NaN, 0);
    }),
  );
});

test('switches that can stand for each other get the same', () => {
  holds(
    property(games, switches, switches, (values, left, right) => {
      const value = (mask: Mask): number => {
        // Of the two, only how many are set is told.
        const both = [left, right].filter((at) => hasBit(mask, at)).length;
        const rest = mask & ~(1 << left) & ~(1 << right);
        return gainOf(values)(rest) * (1 + both);
      };
      const shares = shapley(count, value);
      near(shares[left] ?? Number.NaN, shares[right] ?? Number.NaN);
    }),
  );
});
