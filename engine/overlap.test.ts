import { test } from 'node:test';
import assert from 'node:assert/strict';

import { overlapOf, type KnownHistory } from './overlap.js';
import type { Item } from './protocol/items.js';

const user = (content: string): Item => ({ type: 'message', role: 'user', content });
const says = (text: string, id?: string): Item => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
  ...(id === undefined ? {} : { id }),
});
const calls = (call_id: string, args = '{}'): Item => ({
  type: 'function_call',
  call_id,
  name: 'f',
  arguments: args,
});
const answers = (call_id: string, output = 'x'): Item => ({ type: 'function_call_output', call_id, output });
const thinks = (text: string, encrypted_content?: string): Item => ({
  type: 'reasoning',
  summary: [{ type: 'summary_text', text }],
  encrypted_content,
});

/** A turn of two calls is owed, after one that was answered. */
const known: KnownHistory = {
  items: [user('hi'), calls('a'), answers('a'), says('so'), calls('b'), calls('c')],
  newestTurn: 3,
  owed: ['b', 'c'],
};
const before = known.items.slice(0, 3);

test('the whole history with every answer lacks nothing', () => {
  const history = [...known.items, answers('c'), answers('b')];
  assert.deepEqual(overlapOf(history, known), { beyond: [6, 7], unseen: 0 });
});

test('messages may follow where nothing is lacked (H3)', () => {
  const history = [...known.items, answers('b'), answers('c'), user('and?')];
  assert.deepEqual(overlapOf(history, known), { beyond: [6, 7, 8], unseen: 0 });
  assert.equal(overlapOf([...before, says('so'), user('and?')], known), null);
});

test('the end of the newest turn may be lacked, and nothing before it (H2)', () => {
  assert.deepEqual(overlapOf(before, known), { beyond: [], unseen: 3 });
  assert.deepEqual(overlapOf([...before, says('so')], known), { beyond: [], unseen: 2 });
  assert.deepEqual(overlapOf([...before, says('so'), calls('b'), answers('b')], known), {
    beyond: [5],
    unseen: 1,
  });
  assert.equal(overlapOf([user('hi')], known), null);
  assert.equal(overlapOf([], known), null);
});

test('every call that was seen is answered, none that was not, and none twice (H3, H4)', () => {
  assert.equal(overlapOf(known.items, known), null);
  assert.equal(overlapOf([...known.items, answers('b')], known), null);
  assert.equal(overlapOf([...before, says('so'), answers('b')], known), null);
  assert.equal(overlapOf([...known.items, answers('b'), answers('c'), answers('d')], known), null);
  assert.equal(overlapOf([...known.items, answers('b'), answers('c'), answers('c')], known), null);
});

test('an earlier answer has to be there as it was given (H1)', () => {
  const rest = [says('so'), calls('b'), calls('c'), answers('b'), answers('c')];
  assert.equal(overlapOf([user('hi'), calls('a'), answers('a', 'y'), ...rest], known), null);
  assert.equal(overlapOf([user('hi'), calls('a'), ...rest], known), null);
  assert.notEqual(
    overlapOf([user('hi'), calls('a'), ...rest, answers('a')], known),
    null,
    'wherever it stands',
  );
});

test('ids, status and annotations do not matter, words do', () => {
  const said: KnownHistory = { items: [user('hi'), says('so', 'msg_1')], newestTurn: 1, owed: [] };
  const seen = (item: object): Item => ({ ...user('x'), role: 'assistant', ...item });
  for (const item of [
    seen({ content: 'so' }),
    seen({ content: [{ type: 'output_text', text: 'so', annotations: [1] }], id: 'm' }),
  ])
    assert.deepEqual(overlapOf([user('hi'), item, user('and?')], said), { beyond: [2], unseen: 0 });
  assert.equal(overlapOf([user('hi'), says('no'), user('and?')], said), null);
  assert.equal(overlapOf([user('hi'), { ...calls('a'), call_id: 'z' }], known), null);
  assert.equal(overlapOf([user('hi'), calls('a', '{"p":1}'), answers('a')], known), null);
});

test('the encrypted content of reasoning is compared where both have it', () => {
  const thought: KnownHistory = {
    items: [user('hi'), thinks('t', 'secret'), calls('a')],
    newestTurn: 1,
    owed: ['a'],
  };
  for (const [secret, same] of [
    [undefined, true],
    ['secret', true],
    ['other', false],
  ] as const) {
    const overlap = overlapOf([user('hi'), thinks('t', secret), calls('a'), answers('a')], thought);
    assert.equal(overlap !== null, same, secret);
  }
  assert.equal(overlapOf([user('hi'), thinks('u'), calls('a'), answers('a')], thought), null);
});

test('other kinds of items are compared as they are, but for id and status', () => {
  const opaque = (fields: object): Item => ({ type: 'web_search_call', opaque: true, ...fields });
  const searched: KnownHistory = {
    items: [user('hi'), opaque({ id: 'ws_1', status: 'completed', action: { query: 'q' } })],
    newestTurn: 1,
    owed: [],
  };
  assert.notEqual(overlapOf([user('hi'), opaque({ action: { query: 'q' } }), user('x')], searched), null);
  assert.equal(overlapOf([user('hi'), opaque({ action: { query: 'r' } }), user('x')], searched), null);
});
