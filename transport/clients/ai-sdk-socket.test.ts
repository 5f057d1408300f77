/** The AI SDK over WebSocket, by way of `@vercel/ai-sdk-openai-websocket-fetch`. */
import assert from 'node:assert/strict';

import { streamText } from 'ai';

import { noted, responseIdOf, socketModel, task, textOf } from './testing/ai-sdk.js';
import { expectedReceipts, inEachShape, type Service } from './testing/service.js';
import {
  announcement,
  answer,
  greeting,
  greetingStory,
  story,
  storyWithoutReasoning,
  turns,
} from './testing/task.js';

function checkOneSocket(service: Service): void {
  assert.equal(service.sockets.length, 1);
  assert.deepEqual(service.requests, []);
}

inEachShape('the AI SDK streams over one socket, with store:false', async (service, design) => {
  using socket = socketModel(service, design);
  const { errors, onError } = noted();
  const providerOptions = { openai: { store: false } };
  const result = streamText({ ...task, model: socket.model, providerOptions, onError });
  assert.equal(await textOf(result), `${announcement}${answer}`);
  assert.deepEqual(errors, []);
  // It sends no reasoning back. The shim needs none: its loop still holds what it sampled.
  assert.deepEqual(service.seen, design === 'shim' ? story : storyWithoutReasoning);
  assert.deepEqual(await service.receipts(), expectedReceipts(design, turns));
  checkOneSocket(service);
});

inEachShape(
  'the AI SDK streams over one socket, with references to stored items',
  async (service, design) => {
    using socket = socketModel(service, design);
    const { errors, onError } = noted();
    const result = streamText({ ...task, model: socket.model, onError });
    assert.equal(await textOf(result), `${announcement}${answer}`);
    assert.deepEqual(errors, []);
    assert.deepEqual(
      service.creates.map(
        (create) =>
          (create['input'] as { type?: string }[]).filter(({ type }) => type === 'item_reference').length,
      ),
      [0, 2, 2],
    );
    assert.deepEqual(service.seen, story);
    assert.deepEqual(await service.receipts(), expectedReceipts(design, turns));
    checkOneSocket(service);
  },
);

inEachShape('the AI SDK forks from one parent at each step of a rollout', async (service, design) => {
  using socket = socketModel(service, design);
  const { errors, onError } = noted();
  const greeted = streamText({ model: socket.model, prompt: greeting, maxRetries: 0, onError });
  assert.equal(await textOf(greeted), greeting);
  const previousResponseId = responseIdOf(await greeted.finalStep);
  const providerOptions = { openai: { previousResponseId } };
  const result = streamText({ ...task, model: socket.model, providerOptions, onError });
  assert.equal(await textOf(result), `${announcement}${answer}`);
  assert.deepEqual(errors, []);
  assert.deepEqual(
    service.creates.map(({ previous_response_id: parent }) => parent),
    [undefined, previousResponseId, previousResponseId, previousResponseId],
  );
  // It takes the reasoning for a part of the parent, which it is not, and leaves it out.
  const told = design === 'shim' ? story : storyWithoutReasoning;
  assert.deepEqual(service.seen, [...greetingStory, ...told]);
  const { pre, post } = expectedReceipts(design, turns);
  assert.deepEqual(await service.receipts(), { pre: pre + 1, post: post + 1 });
  checkOneSocket(service);
});

inEachShape(
  'the AI SDK can name a parent at each step, and send only what is new',
  async (service, design) => {
    using socket = socketModel(service, design);
    const { errors, onError } = noted();
    const result = streamText({
      ...task,
      model: socket.model,
      onError,
      prepareStep: ({ steps, messages }) => {
        const parent = steps.at(-1);
        if (parent === undefined) return {};
        const providerOptions = { openai: { previousResponseId: responseIdOf(parent) } };
        return { messages: messages.slice(-1), providerOptions };
      },
    });
    assert.equal(await textOf(result), `${announcement}${answer}`);
    assert.deepEqual(errors, []);
    assert.deepEqual(
      service.creates.map((create) => (create['input'] as unknown[]).length),
      [1, 2, 1],
    );
    assert.deepEqual(service.seen, story);
    assert.deepEqual(await service.receipts(), expectedReceipts(design, turns));
    checkOneSocket(service);
  },
);
