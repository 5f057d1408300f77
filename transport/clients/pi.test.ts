/**
 * `@mariozechner/pi-ai` over WebSocket: `store:false`, and only what is new behind `previous_response_id`. It names a
 * header `session_id`, and uWebSockets.js leaves a request unanswered that has an underscore in the name of a header,
 * so here it meets node:http.
 */
import assert from 'node:assert/strict';

import type { AssistantMessage, Context, Message, Model, Transport } from '@mariozechner/pi-ai';
import {
  closeOpenAICodexWebSocketSessions,
  streamOpenAICodexResponses,
} from '@mariozechner/pi-ai/openai-codex-responses';

import { nodeAdapter } from '../testing/adapters.js';
import { grownOld, shortLived } from './testing/global-socket.js';
import { expectedReceipts, inEachShape, type Service } from './testing/service.js';
import { answer, parameters, prompt, run, story, tools, turns } from './testing/task.js';

/** A key of three parts, of which the middle one names an account; nobody checks the signature. */
const apiKey = [
  'e30',
  btoa(JSON.stringify({ 'https://api.openai.com/auth': { chatgpt_account_id: 'a' } })),
  's',
].join('.');

function modelAt({ url }: Service): Model<'openai-codex-responses'> {
  return {
    id: 'm',
    name: 'm',
    api: 'openai-codex-responses',
    provider: 'lab',
    baseUrl: url,
    reasoning: true,
    input: ['text'],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 100_000,
    maxTokens: 10_000,
  };
}

interface Asked {
  readonly design: string;
  readonly transport: Transport;
  /** Awaited before the second of the rollout's three turns is answered. */
  readonly beforeCount?: () => Promise<void>;
}

/** Runs the agent loop that pi's own package runs, to the answer. */
async function converse(
  service: Service,
  { design, transport, beforeCount }: Asked,
): Promise<AssistantMessage> {
  const model = modelAt(service);
  const sessionId = `${design} ${transport}`;
  const messages: Message[] = [{ role: 'user', content: prompt, timestamp: 0 }];
  const context: Context = {
    systemPrompt: 'Be brief.',
    messages,
    tools: tools.map(({ name, description }) => ({
      name,
      description,
      parameters: parameters[name as keyof typeof parameters] as never,
    })),
  };
  for (;;) {
    const headers = { 'x-response-design': design };
    const stream = streamOpenAICodexResponses(model, context, { apiKey, sessionId, headers, transport });
    const message = await stream.result();
    assert.equal(message.errorMessage, undefined);
    assert.notEqual(message.stopReason, 'error');
    messages.push(message);
    const calls = message.content.filter((part) => part.type === 'toolCall');
    if (calls.length === 0) return message;
    if (calls.length === 1) await beforeCount?.();
    for (const { id, name, arguments: args } of calls)
      messages.push({
        role: 'toolResult',
        toolCallId: id,
        toolName: name,
        content: [{ type: 'text', text: run(name, JSON.stringify(args)) }],
        isError: false,
        timestamp: 0,
      });
  }
}

/** How each create names a parent, and how many items it brings. */
function outlineOf({ creates }: Service): unknown[] {
  return creates.map(({ previous_response_id: parent, input }) => [
    typeof parent,
    (input as unknown[]).length,
  ]);
}

const deltas = [
  ['undefined', 1],
  ['string', 2],
  ['string', 1],
];
const histories = [
  ['undefined', 1],
  ['undefined', 7],
  ['undefined', 9],
];

for (const [transport, outline] of [
  ['auto', deltas],
  ['websocket-cached', deltas],
  ['websocket', histories],
] as const)
  inEachShape(
    `pi sends ${outline === deltas ? 'only what is new' : 'the full history'} with transport ${transport}`,
    async (service, design) => {
      const last = await converse(service, { design, transport });
      closeOpenAICodexWebSocketSessions();
      assert.deepEqual(
        last.content.map((part) => (part.type === 'text' ? part.text : part.type)),
        [answer],
      );
      assert.deepEqual(outlineOf(service), outline);
      assert.ok(service.creates.every(({ store }) => store === false));
      assert.deepEqual(service.seen, story);
      assert.deepEqual(await service.receipts(), expectedReceipts(design, turns));
      assert.deepEqual(
        service.sockets.map(({ handshake }) => handshake.path),
        ['/v1/codex/responses'],
      );
      assert.deepEqual(service.requests, []);
    },
    { adapter: nodeAdapter, keys: [apiKey] },
  );

inEachShape(
  'pi goes on over a second socket, with the full history, where the first grows old between two turns',
  async (service, design) => {
    await converse(service, { design, transport: 'auto', beforeCount: () => grownOld(service) });
    closeOpenAICodexWebSocketSessions();
    assert.deepEqual(outlineOf(service), [
      ['undefined', 1],
      ['string', 2],
      ['undefined', 9],
    ]);
    assert.deepEqual(service.seen, story);
    assert.deepEqual(await service.receipts(), expectedReceipts(design, turns));
    assert.equal(service.sockets.length, 2);
    assert.deepEqual(service.requests, []);
  },
  { ...shortLived, adapter: nodeAdapter, keys: [apiKey] },
);

inEachShape(
  'pi streams over HTTP, with the full history',
  async (service, design) => {
    const last = await converse(service, { design, transport: 'sse' });
    assert.deepEqual(
      last.content.map((part) => (part.type === 'text' ? part.text : part.type)),
      [answer],
    );
    assert.deepEqual(service.seen, story);
    assert.deepEqual(await service.receipts(), expectedReceipts(design, turns));
    assert.deepEqual(service.requests, Array<string>(turns).fill('POST /v1/codex/responses'));
    assert.equal(service.sockets.length, 0);
  },
  { adapter: nodeAdapter, keys: [apiKey] },
);
