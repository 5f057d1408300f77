import { test } from 'node:test';
import assert from 'node:assert/strict';

import { demoScript, exampleOf } from './demo.js';
import { assistant, call, entry, openingOf, output, transcriptOf, turnOn, user } from './testing/turns.js';
import type { Item } from '../protocol/items.js';

const parameters = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    depth: { type: 'integer' },
    all: { type: 'boolean' },
    globs: { type: 'array', items: { type: 'string' } },
    order: { enum: ['name', 'size'] },
    where: { type: 'object', properties: { host: { type: ['string', 'null'] } }, required: ['host'] },
    skipped: { type: 'string' },
  },
  required: ['path', 'depth', 'all', 'globs', 'order', 'where'],
};
const tools = [
  { type: 'custom', name: 'patch' },
  { type: 'namespace', name: 'shell', tools: [{ type: 'function', name: 'ls', parameters }] },
  { type: 'function', name: 'cat' },
];

function demo(items: readonly Item[], request: Record<string, unknown> = {}, toolChoice = {}) {
  const transcript = transcriptOf(...items.map((item) => entry(item, 1)));
  return demoScript(turnOn(transcript, toolChoice), openingOf(request)).items;
}

test('the first function tool is called with an example of its required arguments', () => {
  assert.deepEqual(demo([user('list my files')], { tools }), [
    {
      type: 'function_call',
      name: 'ls',
      namespace: 'shell',
      arguments: JSON.stringify({
        path: 'demo',
        depth: 1,
        all: true,
        globs: [],
        order: 'name',
        where: { host: 'demo' },
      }),
    },
  ]);
  assert.deepEqual(demo([user('read it')], { tools }, { toolChoice: { type: 'function', name: 'cat' } }), [
    { type: 'function_call', name: 'cat', namespace: undefined, arguments: '{}' },
  ]);
});

test('what a tool answered is said, and the next question calls again', () => {
  const asked = [user('list'), call('a'), call('b'), output('a', 'one.txt')];
  const parts: Item = {
    type: 'function_call_output',
    call_id: 'b',
    output: [
      { type: 'input_image', image_url: 'data:,' },
      { type: 'input_text', text: 'two.txt' },
    ],
  };
  const answer = { type: 'message', text: 'The tool answered: one.txt\ntwo.txt' };
  assert.deepEqual(demo([...asked, parts], { tools }), [answer]);
  const [next] = demo([...asked, parts, assistant(answer.text), user('again')], { tools });
  assert.equal(next?.type, 'function_call');
});

test('without a tool the last user message is repeated, and a long one is cut between characters', () => {
  const heard = (items: readonly Item[], request = {}, settings = {}) => demo(items, request, settings)[0];
  assert.deepEqual(heard([user('one'), assistant('?'), user('two')]), {
    type: 'message',
    text: 'You said: two',
  });
  assert.deepEqual(heard([user('no tools')], { tools }, { toolChoice: 'none' }), {
    type: 'message',
    text: 'You said: no tools',
  });
  assert.deepEqual(heard([]), { type: 'message', text: 'You said: ' });
  assert.deepEqual(heard([user(`a${'😀'.repeat(2000)}`)]), {
    type: 'message',
    text: `You said: a${'😀'.repeat(999)}…`,
  });
});

test('an example is found for every kind of schema, a schema that contains itself included', () => {
  const loop: Record<string, unknown> = { type: 'object', required: ['next'] };
  loop['properties'] = { next: loop };
  assert.ok(JSON.stringify(exampleOf(loop)).length < 200);
  const schemas = [
    true,
    { const: 7 },
    { type: 'null' },
    { anyOf: [{ type: 'number' }] },
    { required: ['a'], properties: {} },
  ];
  assert.deepEqual(
    schemas.map((schema) => exampleOf(schema)),
    ['demo', 7, null, 1, { a: 'demo' }],
  );
});

test('where JSON is asked for, the demo says an example of it', () => {
  const city = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
  const schema = {
    type: 'object',
    properties: {
      city: { $ref: '#/$defs/city' },
      next: { anyOf: [{ $ref: '#/$defs/city' }, { type: 'null' }] },
    },
    required: ['city', 'next'],
    $defs: { city },
  };
  const text = { format: { type: 'json_schema', name: 'x', schema } };
  assert.deepEqual(demo([user('where?')], { text }), [
    { type: 'message', text: '{"city":{"name":"demo"},"next":{"name":"demo"}}' },
  ]);
  assert.deepEqual(demo([user('where?')], { text: { format: { type: 'json_object' } } }), [
    { type: 'message', text: '{"text":"You said: where?"}' },
  ]);
  const endless = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } };
  assert.equal(exampleOf(endless), null);
});
