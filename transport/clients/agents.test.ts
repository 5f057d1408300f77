/** `@openai/agents`, over WebSocket and over HTTP. */
import assert from 'node:assert/strict';

import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import { OpenAI } from 'openai';

import { grownOld, shortLived } from './testing/global-socket.js';
import { expectedReceipts, inEachShape, type Service } from './testing/service.js';
import {
  announcement,
  answer,
  count,
  greeting,
  greetingStory,
  parameters,
  prompt,
  read,
  story,
  turns,
} from './testing/task.js';

// The tracer would post to the network.
setTracingDisabled(true);

/** @param beforeCount is awaited when the second of the rollout's three turns has called its tool. */
const agentThat = (beforeCount: () => Promise<void>): Agent =>
  new Agent({
    name: 'comparer',
    instructions: 'Be brief.',
    model: 'm',
    tools: [
      tool({
        name: 'read',
        description: 'Reads a file.',
        parameters: parameters.read,
        strict: true,
        execute: async (input) => read(input as { path: string }),
      }),
      tool({
        name: 'count',
        description: 'Counts characters.',
        parameters: parameters.count,
        strict: true,
        execute: async (input) => {
          await beforeCount();
          return count(input as { text: string });
        },
      }),
    ],
  });
const agent = agentThat(async () => {});

function socketProvider({ host }: Service, design: string): OpenAIProvider {
  return new OpenAIProvider({
    apiKey: 'key',
    websocketBaseURL: `ws://${host}/v1?design=${design}`,
    useResponses: true,
    useResponsesWebSocket: true,
  });
}

function httpProvider({ url }: Service, design: string): OpenAIProvider {
  const defaultHeaders = { 'x-response-design': design };
  const openAIClient = new OpenAI({ baseURL: url, apiKey: 'key', maxRetries: 0, defaultHeaders });
  return new OpenAIProvider({ openAIClient, useResponses: true });
}

function checkOneSocket(service: Service): void {
  assert.equal(service.sockets.length, 1);
  assert.deepEqual(service.requests, []);
}

/** What each create names as its parent, and how many items it brings. */
function outlineOf({ creates }: Service): unknown[] {
  return creates.map(({ previous_response_id: parent, input }) => [parent, (input as unknown[]).length]);
}

inEachShape('agents send the full history over one socket (P84)', async (service, design) => {
  const provider = socketProvider(service, design);
  const result = await new Runner({ modelProvider: provider }).run(agent, prompt);
  await provider.close();
  assert.equal(result.finalOutput, answer);
  assert.deepEqual(outlineOf(service), [
    [undefined, 1],
    [undefined, 7],
    [undefined, 9],
  ]);
  assert.deepEqual(service.seen, story);
  assert.deepEqual(await service.receipts(), expectedReceipts(design, turns));
  checkOneSocket(service);
});

inEachShape('agents stream the full history over one socket', async (service, design) => {
  const provider = socketProvider(service, design);
  const result = await new Runner({ modelProvider: provider }).run(agent, prompt, { stream: true });
  let text = '';
  for await (const piece of result.toTextStream()) text += piece;
  await result.completed;
  await provider.close();
  assert.equal(text, `${announcement}${answer}`);
  assert.equal(result.finalOutput, answer);
  assert.deepEqual(service.seen, story);
  assert.deepEqual(await service.receipts(), expectedReceipts(design, turns));
  checkOneSocket(service);
});

inEachShape('agents chain by previous_response_id over one socket', async (service, design) => {
  const provider = socketProvider(service, design);
  const runner = new Runner({ modelProvider: provider });
  const greeted = await runner.run(agent, greeting);
  assert.ok(greeted.lastResponseId);
  const result = await runner.run(agent, prompt, { previousResponseId: greeted.lastResponseId });
  await provider.close();
  assert.equal(result.finalOutput, answer);
  const [first, second] = result.rawResponses.map(({ responseId }) => responseId);
  assert.deepEqual(outlineOf(service), [
    [undefined, 1],
    [greeted.lastResponseId, 1],
    [first, 2],
    [second, 1],
  ]);
  assert.deepEqual(service.seen, [...greetingStory, ...story]);
  const { pre, post } = expectedReceipts(design, turns);
  assert.deepEqual(await service.receipts(), { pre: pre + 1, post: post + 1 });
  checkOneSocket(service);
});

inEachShape(
  'agents go on over a second socket where the first grows old between two turns',
  async (service, design) => {
    const provider = socketProvider(service, design);
    const delayed = agentThat(() => grownOld(service));
    const result = await new Runner({ modelProvider: provider }).run(delayed, prompt);
    await provider.close();
    assert.equal(result.finalOutput, answer);
    assert.deepEqual(service.seen, story);
    assert.deepEqual(await service.receipts(), expectedReceipts(design, turns));
    assert.equal(service.sockets.length, 2);
  },
  shortLived,
);

function checkPosts(service: Service, posts: number): void {
  assert.deepEqual(service.requests, Array<string>(posts).fill('POST /v1/responses'));
  assert.equal(service.sockets.length, 0);
}

inEachShape('agents send the full history over HTTP, for JSON', async (service, design) => {
  const modelProvider = httpProvider(service, design);
  const result = await new Runner({ modelProvider }).run(agent, prompt);
  assert.equal(result.finalOutput, answer);
  assert.deepEqual(service.seen, story);
  assert.deepEqual(await service.receipts(), expectedReceipts(design, turns));
  checkPosts(service, turns);
});

inEachShape('agents chain by previous_response_id over HTTP, streaming', async (service, design) => {
  const runner = new Runner({ modelProvider: httpProvider(service, design) });
  const greeted = await runner.run(agent, greeting);
  assert.ok(greeted.lastResponseId);
  const previousResponseId = greeted.lastResponseId;
  const result = await runner.run(agent, prompt, { stream: true, previousResponseId });
  await result.completed;
  assert.equal(result.finalOutput, answer);
  assert.deepEqual(service.seen, [...greetingStory, ...story]);
  const { pre, post } = expectedReceipts(design, turns);
  assert.deepEqual(await service.receipts(), { pre: pre + 1, post: post + 1 });
  checkPosts(service, 1 + turns);
});
