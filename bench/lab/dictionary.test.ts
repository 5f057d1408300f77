import assert from 'node:assert/strict';
import { test } from 'node:test';

import { describedFiles, dictionary } from './dictionary.js';

test('every field of every file has a unit and a meaning', () => {
  for (const { file, fields } of describedFiles) {
    assert.ok(fields.length > 10, `${file} has fields`);
    for (const { path, unit, about } of fields) {
      assert.ok(unit.trim() !== '', `${file} ${path} has a unit`);
      assert.ok(about.trim() !== '', `${file} ${path} has a meaning`);
    }
  }
});

test('a field that carries its unit in its name has that unit', () => {
  for (const { path, unit } of describedFiles.flatMap(({ fields }) => fields))
    if (path.endsWith('_ms')) assert.match(unit, /^ms/, path);
});

test('the formulas of metrics, and what no other tool has, are in fields that the rows have', () => {
  const rows = describedFiles.slice(0, 2).flatMap(({ fields }) => fields.map(({ path }) => path));
  const [, tail = ''] = dictionary().split('## Metrics under');
  const [, beside = ''] = tail.split('What no other tool has');
  for (const [, names = ''] of beside.matchAll(/`([^`]+)`/g))
    for (const name of names.split(' / ')) assert.ok(rows.includes(name), name);
  assert.match(tail, /\(last_token_ms − first_token_ms\) \/ \(output_tokens − 1\)/);
});

test('the dictionary is Markdown with a table for each file', () => {
  const text = dictionary();
  for (const { file } of describedFiles) assert.ok(text.includes(`## ${file}\n`));
  assert.match(text, /\| `e2e_ms` \| ms \|/);
});
