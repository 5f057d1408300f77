import { test } from 'node:test';
import assert from 'node:assert/strict';

import { randomId } from './random-id.js';

test('ids carry 128 random bits and never repeat, however many are drawn', () => {
  const ids = Array.from({ length: 1_000 }, () => randomId('resp'));
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /^resp_[0-9a-f]{32}$/);
});
