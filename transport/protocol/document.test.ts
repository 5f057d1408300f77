import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { limitTable } from '../../engine/index.js';
import { errorCodes } from '../../engine/protocol/errors.js';

const document = readFileSync(new URL('../../../transport/PROTOCOL.md', import.meta.url), 'utf8');

test('PROTOCOL.md names every limit and every error code', () => {
  const missing = [...Object.keys(limitTable), ...Object.keys(errorCodes)].filter(
    (name) => !document.includes(name),
  );
  assert.deepEqual(missing, []);
});

test('PROTOCOL.md says the status of every error code', () => {
  for (const [code, [status]] of Object.entries(errorCodes))
    assert.match(document, new RegExp(`\`${code}\`.*\\b${status}\\b`), code);
});

test('PROTOCOL.md has a section for every event of a native socket', () => {
  for (const type of [
    'create',
    'append',
    'cancel',
    'attach',
    'processed',
    'done',
    'append.accepted',
    'append.failed',
    'attached',
  ])
    assert.ok(document.includes(`\`response.${type}\``), type);
});
