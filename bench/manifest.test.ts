import { test } from 'node:test';
import assert from 'node:assert/strict';

import { commandText } from './manifest.js';

test('the words that make a result again hold no key', () => {
  assert.equal(commandText('x', ['compare', '--key', 'sk-1', '--seed', '2']), 'x compare --key … --seed 2');
  assert.equal(commandText('x', ['--key=sk-1']), 'x --key=…');
});
