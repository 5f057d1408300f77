import assert from 'node:assert/strict';
import { test } from 'node:test';

import { checkSampler, Engine } from '../index.js';
import { backwardsSampler } from './sampler.js';
import { guardedEngine } from './stage.js';

test('the example stage refuses a card number before the Response exists and lets other text pass', async () => {
  await using engine = guardedEngine();
  await assert.rejects(engine.create({ model: 'm', input: 'pay with 4111 1111 1111 1111' }), {
    code: 'invalid_prompt',
    param: 'input[0]',
  });
  assert.equal(engine.stageRuns['post.bill'], undefined);
  const response = await engine.create({ model: 'm', input: 'hello' });
  const { outcome, stage_runs } = await response.settled;
  assert.deepEqual(outcome, { status: 'completed' });
  assert.equal(stage_runs['pre.no-card-numbers']?.runs, 1);
});

test('the example sampler keeps the sampler contract', async () => {
  await checkSampler(() => backwardsSampler);
});

test('the example sampler answers through the engine', async () => {
  await using engine = new Engine({ sampler: backwardsSampler });
  const response = await engine.create({ model: 'backwards', input: 'one two three' });
  let text = '';
  for await (const event of response) if (event.type === 'response.output_text.done') text = event.text;
  assert.equal(text, 'three two one');
});
