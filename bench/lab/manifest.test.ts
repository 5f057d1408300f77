import assert from 'node:assert/strict';
import { test } from 'node:test';

import { builtinScenarios } from '../../scenarios/index.js';
import { builtinProfiles } from '../service/profile.js';
import { labManifest, scenarioHash } from './manifest.js';
import { differences } from './result-files.js';

const [scenario, profile] = [builtinScenarios.get('single'), builtinProfiles.get('hosted')];
assert.ok(scenario !== undefined && profile !== undefined);
const run = {
  set: 'quick',
  seed: 1,
  command: 'lab',
  rttMethod: 'loopback',
  scenarios: [scenario],
  profiles: [profile],
  parameters: { blocks: 12 },
};

test('a manifest names machine, settings of TCP, and every scenario and cost by what is in it', () => {
  const made = labManifest(run);
  assert.match(made.scenarios['single'] ?? '', /^[0-9a-f]{64}$/);
  assert.deepEqual(made.profiles['hosted'], profile);
  assert.ok(made.cores >= 1);
  assert.equal(typeof made.sysctls, 'object');
});

test('two runs of the same are resumable, whenever they were made; another scenario or cost is named', () => {
  const made = labManifest(run);
  assert.deepEqual(differences(made, { ...labManifest(run), made_at: 'later', command: 'lab --resume' }), []);
  const dearer = { ...profile, history_share: 0.5 };
  assert.match(
    differences(made, labManifest({ ...run, profiles: [dearer] })).join(),
    /^profiles\.hosted was \{.+, is \{/,
  );
  const other = { ...scenario, question: 'Another?' };
  assert.notEqual(scenarioHash(other), scenarioHash(scenario));
  assert.match(
    differences(made, labManifest({ ...run, scenarios: [other] })).join(),
    /^scenarios\.single was/,
  );
});
