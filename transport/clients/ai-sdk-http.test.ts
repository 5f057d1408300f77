/** The AI SDK over HTTP. */
import assert from 'node:assert/strict';

import { generateText, streamText } from 'ai';

import { say, turn } from '../../engine/testing/lab.js';
import { httpModel, noted, task, textOf } from './testing/ai-sdk.js';
import { expectedReceipts, inEachShape, type Service } from './testing/service.js';
import { announcement, answer, prompt, story, storyWithoutReasoning, turns } from './testing/task.js';

function checkPosts(service: Service): void {
  assert.deepEqual(service.requests, Array<string>(turns).fill('POST /v1/responses'));
  assert.equal(service.sockets.length, 0);
}

inEachShape('the AI SDK generates from JSON, with references to stored items', async (service, design) => {
  const { model } = httpModel(service, design);
  assert.equal((await generateText({ ...task, model })).text, answer);
  assert.deepEqual(service.seen, story);
  assert.deepEqual(await service.receipts(), expectedReceipts(design, turns));
  checkPosts(service);
});

for (const store of [true, false])
  inEachShape(`the AI SDK streams over HTTP, with store:${store}`, async (service, design) => {
    const { model } = httpModel(service, design);
    const { errors, onError } = noted();
    const result = streamText({ ...task, model, providerOptions: { openai: { store } }, onError });
    assert.equal(await textOf(result), `${announcement}${answer}`);
    assert.deepEqual(errors, []);
    assert.deepEqual(service.seen, store || design === 'shim' ? story : storyWithoutReasoning);
    assert.deepEqual(await service.receipts(), expectedReceipts(design, turns));
    checkPosts(service);
  });

inEachShape(
  'the AI SDK ends where a response is incomplete',
  async (service, design) => {
    const { model } = httpModel(service, design);
    const result = streamText({ model, prompt, maxOutputTokens: 2, maxRetries: 0 });
    assert.equal(await textOf(result), 'Too long');
    assert.equal(await result.finishReason, 'length');
  },
  { script: () => turn(say('Too long an answer!!')) },
);

inEachShape(
  'the AI SDK ends where a response has failed',
  async (service, design) => {
    const { model } = httpModel(service, design);
    const { errors, onError } = noted();
    const result = streamText({ model, prompt, maxRetries: 0, onError });
    assert.equal(await textOf(result), 'Too long');
    assert.equal(errors.length, 1);
    assert.equal(await result.finishReason, 'error');
  },
  {
    script: () => ({
      ...turn(say('Too long an answer!!')),
      failAfterTokens: { tokens: 2, fault: new Error('x') },
    }),
  },
);
