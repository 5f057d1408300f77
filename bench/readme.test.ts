import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

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

test('every file and folder the README links to exists', () => {
  for (const [, target] of readme.matchAll(/\]\(([^)#]+)\)/g))
    if (target !== undefined && !target.startsWith('http')) readFileSyncOrFolder(join(root, target));
});

function readFileSyncOrFolder(path: string): void {
  try {
    readFileSync(path);
  } catch (fault) {
    if (!(fault instanceof Error) || !('code' in fault) || fault.code !== 'EISDIR') throw fault;
  }
}
