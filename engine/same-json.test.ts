import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assert as always, jsonValue, property } from 'fast-check';

import { isSameJson } from './same-json.js';

test('two JSON values are the same where they are written the same', () => {
  always(
    property(jsonValue(), jsonValue(), (one, other) => {
      assert.equal(isSameJson(one, other), JSON.stringify(one) === JSON.stringify(other));
      assert.ok(isSameJson(one, JSON.parse(JSON.stringify(one))));
    }),
  );
});

test('fields in another order, a list beside an object and null beside an object are not the same', () => {
  assert.equal(isSameJson({ a: 1, b: [2] }, { a: 1, b: [2] }), true);
  assert.equal(isSameJson({ a: 1, b: 2 }, { b: 2, a: 1 }), false);
  assert.equal(isSameJson({ a: 1 }, { a: 1, b: 2 }), false);
  assert.equal(isSameJson([], {}), false);
  assert.equal(isSameJson(null, {}), false);
  assert.equal(isSameJson(['x'], { 0: 'x' }), false);
});
