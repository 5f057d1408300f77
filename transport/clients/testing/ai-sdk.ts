/** The AI SDK as both of its test files use it. */
import assert from 'node:assert/strict';

import { createOpenAI } from '@ai-sdk/openai';
import { createWebSocketFetch } from '@vercel/ai-sdk-openai-websocket-fetch';
import { isStepCount, jsonSchema, tool, type StepResult, type ToolSet } from 'ai';

import type { Service } from './service.js';
import { count, parameters, prompt, read } from './task.js';

// It would write to the console that reasoning without encrypted content is not sent back.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

export const tools = {
  read: tool({
    description: 'Reads a file.',
    inputSchema: jsonSchema<{ path: string }>(parameters.read),
    execute: read,
  }),
  count: tool({
    description: 'Counts characters.',
    inputSchema: jsonSchema<{ text: string }>(parameters.count),
    execute: count,
  }),
};

/** The task, to its end. */
export const task = { prompt, tools, stopWhen: isStepCount(5), maxRetries: 0 };

/** A model whose streams go over one socket. The design is chosen in the URL, since it sends no headers of its own. */
export function socketModel({ host, url }: Service, design: string) {
  const fetch = createWebSocketFetch({ url: `ws://${host}/v1/responses?design=${design}` });
  const model = createOpenAI({ baseURL: url, apiKey: 'key', fetch }).responses('m');
  return { model, [Symbol.dispose]: () => fetch.close() };
}

export function httpModel({ url }: Service, design: string) {
  const headers = { 'x-response-design': design };
  const model = createOpenAI({ baseURL: url, apiKey: 'key', headers }).responses('m');
  return { model, [Symbol.dispose]: () => undefined };
}

export async function textOf(result: { readonly textStream: AsyncIterable<string> }): Promise<string> {
  let text = '';
  for await (const piece of result.textStream) text += piece;
  return text;
}

/** Errors come beside the stream, which then just ends. */
export function noted() {
  const errors: unknown[] = [];
  return { errors, onError: ({ error }: { error: unknown }) => void errors.push(error) };
}

/** The id of the response behind a step. */
export function responseIdOf({ providerMetadata }: Pick<StepResult<ToolSet>, 'providerMetadata'>): string {
  const id = providerMetadata?.['openai']?.['responseId'];
  assert.ok(typeof id === 'string');
  return id;
}
