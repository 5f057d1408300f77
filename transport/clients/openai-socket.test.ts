/** The `openai` package over WebSocket: `ResponsesWS`, and its sessions with lanes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { OpenAI } from 'openai';
import {
  ResponsesWebSocketSession,
  type ResponsesWebSocketLane,
} from 'openai/lib/responses/responses-websocket-session';
import { ResponsesWS } from 'openai/resources/responses/ws';
import type { WebSocketError } from 'openai/resources/responses/internal-base';
import type { Response, ResponseInput } from 'openai/resources/responses/responses';

import { expectedReceipts, inEachShape, Service, shapes } from './testing/service.js';
import { answer, greeting, prompt, run, story, tools, turns } from './testing/task.js';

const firstTokenMs = 10;

async function opened(socket: ResponsesWS): Promise<void> {
  for await (const { type } of socket.stream()) if (type === 'open') return;
}

function socketTo(service: Service, design: string | null): ResponsesWS {
  const defaultHeaders = { 'x-response-design': design };
  return new ResponsesWS(new OpenAI({ baseURL: service.url, apiKey: 'key', defaultHeaders }));
}

/** Sends a create and reads to the terminal event of its Response. */
async function turn(socket: ResponsesWS, fields: object): Promise<Response> {
  const events = socket.stream();
  socket.send({ type: 'response.create', model: 'm', tools, ...fields });
  for await (const event of events) {
    if (event.type === 'error') throw event.error;
    if (event.type === 'close') throw new Error(`closed with ${event.code}`);
    if (event.type === 'message' && event.message.type === 'response.completed')
      return event.message.response;
  }
  throw new Error('the socket closed');
}

function textOf({ output }: Response): string {
  return output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : part.refusal))
    .join('');
}

function outputsOf(response: Response): ResponseInput {
  return response.output.flatMap((item) =>
    item.type === 'function_call'
      ? [
          {
            type: 'function_call_output' as const,
            call_id: item.call_id,
            output: run(item.name, item.arguments),
          },
        ]
      : [],
  );
}

/** Runs the task by `previous_response_id`, from a parent where there is one. */
async function converse(socket: ResponsesWS, parent?: Response): Promise<Response> {
  let response = await turn(socket, { previous_response_id: parent?.id, input: prompt, store: false });
  for (let outputs = outputsOf(response); outputs.length > 0; outputs = outputsOf(response))
    response = await turn(socket, { previous_response_id: response.id, input: outputs, store: false });
  socket.close();
  return response;
}

inEachShape('ResponsesWS continues by previous_response_id to the answer (P84)', async (service, design) => {
  assert.equal(textOf(await converse(socketTo(service, design))), answer);
  assert.deepEqual(service.seen, story);
  assert.deepEqual(await service.receipts(), expectedReceipts(design, turns));
  assert.equal(service.sockets.length, 1);
  assert.deepEqual(service.requests, []);
});

for (const design of shapes)
  test(`${design}: a client that chooses no design is served in the server's own`, async () => {
    await using service = await Service.start({ design });
    assert.equal(textOf(await converse(socketTo(service, null))), answer);
    assert.deepEqual(await service.receipts(), expectedReceipts(design, turns));
  });

inEachShape('ResponsesWS reports an error with its code, and the socket goes on', async (service, design) => {
  const socket = socketTo(service, design);
  const refused = new Promise<WebSocketError>((resolve) => {
    socket.once('error', resolve);
  });
  socket.send({ type: 'response.create', model: 'unserved', input: prompt });
  const { message, error } = await refused;
  assert.equal(message, 'No model "unserved" is served here.');
  assert.ok(error && 'error' in error);
  assert.deepEqual([error.status, error.error.code], [404, 'model_not_found']);
  assert.equal(textOf(await turn(socket, { input: greeting })), greeting);
  socket.close();
});

inEachShape('ResponsesWS warms up, and goes on from there', async (service, design) => {
  const socket = socketTo(service, design);
  const warm = await turn(socket, { generate: false, input: greeting, store: false });
  assert.deepEqual(warm.output, []);
  assert.equal(textOf(await converse(socket, warm)), answer);
  assert.deepEqual(service.seen, [`user: ${greeting}`, ...story]);
  // In the shim the work of the warm-up is the rollout's own.
  const { pre, post } = expectedReceipts(design, turns);
  const more = design === 'shim' ? 0 : 1;
  assert.deepEqual(await service.receipts(), { pre: pre + more, post: post + more });
});

/** Runs the task on one lane. */
async function runLane(lane: ResponsesWebSocketLane): Promise<string> {
  lane.create({ model: 'm', tools, input: prompt, store: false });
  let response = await lane.finalResponse();
  for (let outputs = outputsOf(response); outputs.length > 0; outputs = outputsOf(response)) {
    lane.create({ model: 'm', tools, previous_response_id: response.id, input: outputs, store: false });
    response = await lane.finalResponse();
  }
  return response.output_text;
}

inEachShape(
  'three lanes of one socket run at the same time, each by itself',
  async (service, design) => {
    const socket = socketTo(service, design);
    await opened(socket);
    const session = new ResponsesWebSocketSession(socket, {
      maxLanes: 3,
      maxBufferedEvents: 1000,
      maxBufferedBytes: 1_000_000,
    });
    const running = Promise.all(['a', 'b', 'c'].map((id) => runLane(session.lane(id))));
    for (let step = 0; step < turns; step++) {
      // No turn ends before all three have begun.
      for (let lane = 0; lane < 3; lane++) await service.turnBegun();
      await service.lab.clock.advance(firstTokenMs);
    }
    assert.deepEqual(await running, [answer, answer, answer]);
    session.close();
    socket.close();
    assert.deepEqual(service.stories, [story, story, story]);
    const { pre, post } = expectedReceipts(design, turns);
    assert.deepEqual(await service.receipts(), { pre: 3 * pre, post: 3 * post });
    assert.equal(service.sockets.length, 1);
  },
  { firstTokenMs },
);
