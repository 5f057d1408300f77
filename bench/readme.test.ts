import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { rolloutFields } from './schema/rows.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const lab = readFileSync(join(root, 'bench', 'README.md'), 'utf8');

test('the block that embeds the engine runs as it stands in the README', async (t) => {
  const block = /```js\n([\s\S]*?)```/.exec(readme)?.[1];
  assert.ok(block !== undefined, 'the README has a js block');
  assert.ok(block.trim().split('\n').length <= 13, 'it is about twelve lines long');
  // Inside the package, so that the block's import finds it by its own name.
  const folder = mkdtempSync(join(root, 'dist', 'readme-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'block.mjs'), block);
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'block.mjs')]);
  assert.equal(stdout, 'The sum is 5.\n');
});

test('the README names both commands within its first screen', () => {
  const firstScreen = readme.split('\n').slice(0, 30).join('\n');
  assert.match(firstScreen, /npm ci && npm run compare/);
  assert.match(firstScreen, /npm ci && npm test/);
});

test('every file and folder that a README links to exists', () => {
  for (const [path, text] of [
    ['README.md', readme],
    ['bench/README.md', lab],
  ] as const)
    for (const [, target] of text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g))
      if (target !== undefined && !target.startsWith('http')) statSync(join(root, dirname(path), target));
});

test('every example that the README of the lab runs has been compiled', () => {
  const examples = [...lab.matchAll(/^node (?:--test )?(dist\/\S+\.js)/gm)].map(([, path = '']) => path);
  assert.ok(examples.length >= 5);
  for (const path of examples) statSync(join(root, path));
});

test('the Python in the README of the lab reads fields that the rows have', () => {
  const block = /```python\n([\s\S]*?)```/.exec(lab)?.[1];
  assert.ok(block !== undefined, 'it has a Python block');
  const fields = rolloutFields.map(({ path }) => path);
  const read = [...block.matchAll(/"([a-z_0-9]+)"/g)].map(([, field = '']) => field);
  assert.ok(read.length >= 10);
  for (const field of read) assert.ok(fields.includes(field), field);
});
