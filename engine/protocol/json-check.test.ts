import { test } from 'node:test';
import assert from 'node:assert/strict';

import { jsonCheckFor } from './json-check.js';

const closed = { type: 'object', additionalProperties: false } as const;
const person = {
  ...closed,
  properties: {
    name: { type: 'string' },
    age: { type: ['integer', 'null'] },
    tags: { $ref: '#/$defs/tags' },
  },
  required: ['name', 'age'],
  $defs: { tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, maxItems: 2 } },
} as const;

type Schema = Parameters<typeof jsonCheckFor>[0];
const check = (schema: unknown, value: unknown): string | null => jsonCheckFor(schema as Schema)(value);

test('what the schema allows passes, and a fault is named by its place', () => {
  assert.equal(check(person, { name: 'Ann', age: 3, tags: ['a', 'b'] }), null);
  assert.equal(check(person, { name: 'Ann', age: null }), null);
  assert.match(check(person, { name: 5, age: 3 }) ?? '', /^name: .*string/);
  assert.match(check(person, { name: 'Ann' }) ?? '', /^age/);
  assert.match(check(person, { name: 'Ann', age: 1, x: 1 }) ?? '', /"x"/);
  assert.match(check(person, { name: 'Ann', age: 1, tags: ['a', 'c'] }) ?? '', /^tags\[1\]/);
  assert.match(check(person, { name: 'Ann', age: 1, tags: ['a', 'a', 'a'] }) ?? '', /^tags/);
  assert.match(check(person, []) ?? '', /object/);
});

test('a fault within a union is named by the branch that got furthest', () => {
  const schema = {
    anyOf: [
      { ...closed, properties: { kind: { const: 'a' }, n: { type: 'number' } }, required: ['kind', 'n'] },
      { type: 'null' },
    ],
  };
  assert.match(check(schema, { kind: 'a', n: 'x' }) ?? '', /^n: .*number/);
  assert.equal(check(schema, null), null);
});

test('a schema may contain itself', () => {
  const list = {
    ...closed,
    properties: { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } },
    required: ['next'],
  };
  assert.equal(check(list, { next: { next: null } }), null);
  assert.match(check(list, { next: { next: 3 } }) ?? '', /^next\.next/);
  const tree = {
    $ref: '#/definitions/t',
    definitions: { t: { type: 'array', items: { $ref: '#/definitions/t' } } },
  };
  assert.equal(check(tree, [[], [[]]]), null);
  assert.notEqual(check(tree, [[1]]), null);
});

test('a check that does not end is cut off, by regular expression or by unions that multiply (V1)', () => {
  const evil = jsonCheckFor({ type: 'string', pattern: '^(a+)+$' });
  assert.equal(evil('aaa'), null);
  assert.match(evil(`${'a'.repeat(64)}b`, 20) ?? '', /longer than 20 ms/);
  const node = {
    ...closed,
    properties: { x: { anyOf: [{ $ref: '#/$defs/n' }, { $ref: '#/$defs/n' }, { type: 'null' }] } },
    required: ['x'],
  };
  const tree = jsonCheckFor({ ...node, $defs: { n: node } } as Schema);
  let value: unknown = { x: 5 };
  for (let depth = 0; depth < 40; depth++) value = { x: value };
  assert.match(tree(value, 20) ?? '', /longer than 20 ms/);
  assert.equal(tree({ x: { x: null } }), null, 'and the next one is made as ever');
});

test('a value that is nested deeper than the stack is not checked, and says so', () => {
  const list = jsonCheckFor({ type: 'array', items: { $ref: '#' } });
  let value: unknown[] = [];
  for (let depth = 0; depth < 100_000; depth++) value = [value];
  assert.match(list(value) ?? '', /nested too deep/);
});

test('patterns are checked, of texts, of names and of what the names hold', () => {
  assert.notEqual(check({ type: 'string', pattern: '^a+$' }, 'b'), null);
  assert.notEqual(check({ patternProperties: { '^x': { type: 'number' } } }, { xa: 'n' }), null);
  assert.notEqual(check({ propertyNames: { pattern: '^a' } }, { b: 1 }), null);
  assert.equal(check({ propertyNames: { pattern: '^a' } }, { a: 1 }), null);
  assert.throws(() => check({ type: 'string', pattern: '(' }, 'x'), /regular expression/);
});

for (const schema of [
  { not: { type: 'string' } },
  { if: { type: 'string' }, else: { minLength: 1 } },
  { type: 'object', dependentRequired: { a: ['b'] } },
  { type: 'object', unevaluatedProperties: false },
  { type: 'object', properties: { a: { $ref: 'https://a.example/s.json' } } },
  { type: 'object', properties: { a: { $ref: '#/properties/b' }, b: {} } },
])
  test(`a schema that cannot be checked is not passed over: ${JSON.stringify(schema)} (V2)`, () => {
    assert.throws(() => jsonCheckFor(schema as Schema), /support|not found/);
  });

test('what the converter would get wrong is left unchecked (V3)', () => {
  assert.equal(check({ enum: [{ a: 1 }, 'x'] }, { a: 1 }), null);
  assert.equal(check({ const: [1] }, [1]), null);
  assert.equal(check({ type: 'string', format: 'uri-reference' }, '/a'), null);
  assert.notEqual(check({ type: 'string', format: 'date' }, 'tomorrow'), null);
});

test('a keyword without a type binds values of its type alone, and a default fills nothing in (V4)', () => {
  const named = { properties: { a: { type: 'string' } }, required: ['a'] };
  assert.notEqual(check(named, {}), null);
  assert.equal(check(named, 5), null);
  assert.notEqual(check({ minLength: 3 }, 'ab'), null);
  assert.equal(check({ minLength: 3 }, 1), null);
  assert.equal(check({}, { any: [1, null] }), null);
  const filled = { type: 'object', properties: { a: { type: 'string', default: 'x' } }, required: ['a'] };
  assert.notEqual(check(filled, {}), null);
});

test('a schema is made into a check once, and its id does not meet that of another', () => {
  const [one, two] = [
    { $id: 's', id: 's', type: 'string' },
    { $id: 's', id: 's', type: 'number' },
  ];
  assert.equal(jsonCheckFor(one as Schema), jsonCheckFor(one as Schema));
  assert.equal(check(two, 1), null);
  assert.equal(check(one, 'x'), null);
});
