import { test } from 'node:test';
import assert from 'node:assert/strict';

import { MemoryStore } from './memory-store.js';
import type { StoredResponse } from './ports.js';
import type { Bill } from './stages.js';

const stored = (id: string, credential = 'key'): StoredResponse => ({
  id,
  credential,
  previous_response_id: null,
  inherited: 0,
  request: { model: 'm', input: [] },
  items: [],
  status: 'completed',
});

const bill = (id: string): Bill => ({
  response_id: id,
  credential: 'key',
  model: 'm',
  uncached_input_tokens: 3,
  cached_input_tokens: 100,
  output_tokens: 2,
  reasoning_tokens: 1,
  status: 'completed',
});

test('what is saved is loaded and removed by its own credential alone (P43)', async () => {
  const store = new MemoryStore();
  await store.save(stored('r1'));
  assert.deepEqual(await store.load('r1', 'key'), stored('r1'));
  assert.equal(await store.load('r1', 'other'), null);
  assert.equal(await store.load('r2', 'key'), null);
  assert.equal(await store.remove('r1', 'other'), false);
  assert.equal(store.size, 1);
  assert.equal(await store.remove('r1', 'key'), true);
  assert.equal(await store.remove('r1', 'key'), false);
  assert.equal(await store.load('r1', 'key'), null);
});

test('a Response saved again replaces itself and takes no second place', async () => {
  const store = new MemoryStore({ responsesMax: 2 });
  await store.save(stored('r1'));
  await store.save(stored('r2'));
  await store.save({ ...stored('r1'), status: 'failed' });
  assert.equal(store.size, 2);
  assert.equal((await store.load('r1', 'key'))?.status, 'failed');
});

test('the oldest Responses go first when there are too many (B127)', async () => {
  const store = new MemoryStore({ responsesMax: 3 });
  for (const id of ['r1', 'r2', 'r3', 'r4', 'r5']) await store.save(stored(id));
  assert.equal(store.size, 3);
  const found = await Promise.all(['r1', 'r2', 'r3', 'r4', 'r5'].map((id) => store.load(id, 'key')));
  assert.deepEqual(
    found.map((response) => response?.id ?? null),
    [null, null, 'r3', 'r4', 'r5'],
  );
});

test('old bills are forgotten, what they came to is not', async () => {
  const store = new MemoryStore({ billsMax: 2 });
  for (const id of ['r1', 'r2', 'r3']) await store.charge(bill(id));
  assert.deepEqual(
    store.bills.map((each) => each.response_id),
    ['r2', 'r3'],
  );
  assert.deepEqual(store.billed, { count: 3, uncached_input_tokens: 9, output_tokens: 6 });
});
