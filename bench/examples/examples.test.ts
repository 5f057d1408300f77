import assert from 'node:assert/strict';
import { test } from 'node:test';

import { profileNamed } from '../service/profile.js';
import { prototype, shipped } from '../virtual/arm.js';
import { example as profileExample, exampleCosts, exampleText, meteredAhead } from './profile.js';
import { example as workExample } from './work.js';

test('the example profile is read from its file, and its arm lies between the prototype and the shipped design', async () => {
  const { modules } = await profileNamed(exampleCosts);
  assert.equal(modules.residual?.full.wait_ms, 12);
  const perTurn = await profileExample(exampleCosts, 2);
  const [append = NaN, chain = NaN, ahead = NaN] = [prototype, shipped, meteredAhead].map(({ name }) =>
    perTurn.get(name),
  );
  assert.ok(append < ahead && ahead < chain, `${append} < ${ahead} < ${chain}`);
  assert.deepEqual(await profileExample(exampleCosts, 2), perTurn, 'virtual time has no noise');
  assert.match(exampleText(perTurn), /chain-ws, metered ahead/);
});

test('the example piece of work waits, goes by what is remembered, or does not run, as a rollout is bound to it', async () => {
  assert.deepEqual(await workExample('full'), { ms: 25, runs: 1 });
  assert.deepEqual(await workExample('cached'), { ms: 0, runs: 1 });
  assert.deepEqual(await workExample('absent'), { ms: 0, runs: 0 });
  await assert.rejects(workExample('full', 'other'), { code: 'model_not_found', param: 'model' });
});
