import { test } from 'node:test';
import assert from 'node:assert/strict';

import { SettingsKeys } from './settings.js';

const keys = new SettingsKeys();
const settingsKey = (create: object): string => keys.of({ ...create });

const create = { model: 'm', tools: [{ type: 'function', name: 'f' }], temperature: 1 };

test('what a create says for itself is no setting, and neither is what nobody reads', () => {
  const key = settingsKey(create);
  for (const own of [
    { input: 'hi' },
    { previous_response_id: 'resp_1' },
    { generate: false },
    { metadata: { a: 'b' } },
    { client_metadata: { a: 1 } },
    { stream: true },
    { stream_options: {} },
    { unknown: 1 },
    { instructions: null },
    { instructions: undefined },
  ])
    assert.equal(settingsKey({ ...create, ...own }), key, JSON.stringify(own));
});

test('anything else is', () => {
  const different = [
    {},
    { model: 'n' },
    { tools: [{ type: 'function', name: 'g' }] },
    { tools: [] },
    { temperature: 0 },
    { instructions: 'x' },
    { store: false },
    { prompt_cache_key: 'k' },
    { include: ['reasoning.encrypted_content'] },
    { conversation: 'c' },
    { background: true },
  ].map((change) => settingsKey({ ...create, ...change }));
  assert.equal(new Set(different).size, different.length);
});
