/** The `openai` package over HTTP: JSON bodies, server-sent events and the helpers on top of them. */
import assert from 'node:assert/strict';

import { BadRequestError, NotFoundError, OpenAI } from 'openai';
import { ResponsesToolRunner } from 'openai/helpers/responses-tool-runner';
import type { Response, ResponseInput, ResponseStreamEvent } from 'openai/resources/responses/responses';

import { say, turn } from '../../engine/testing/lab.js';
import { expectedReceipts, inEachShape, type Service } from './testing/service.js';
import { announcement, answer, prompt, run, story, tools, turns } from './testing/task.js';

type Fetch = typeof globalThis.fetch;

function clientOf(service: Service, design: string, fetch: Fetch = globalThis.fetch): OpenAI {
  const defaultHeaders = { 'x-response-design': design };
  return new OpenAI({ baseURL: service.url, apiKey: 'key', maxRetries: 0, defaultHeaders, fetch });
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

type Fields = Pick<OpenAI.Responses.ResponseCreateParams, 'input' | 'previous_response_id'>;

/** Runs the task by `previous_response_id`; `ask` is one request. */
async function converse(ask: (fields: Fields) => Promise<Response>): Promise<Response> {
  let response = await ask({ input: prompt });
  for (let outputs = outputsOf(response); outputs.length > 0; outputs = outputsOf(response))
    response = await ask({ previous_response_id: response.id, input: outputs });
  return response;
}

async function checkPosts(service: Service, design: string): Promise<void> {
  assert.deepEqual(service.seen, story);
  assert.deepEqual(await service.receipts(), expectedReceipts(design, turns));
  assert.deepEqual(service.requests, Array<string>(turns).fill('POST /v1/responses'));
  assert.equal(service.sockets.length, 0);
}

inEachShape('create answers with JSON, by previous_response_id to the answer', async (service, design) => {
  const { responses } = clientOf(service, design);
  const response = await converse((fields) => responses.create({ model: 'm', tools, ...fields }));
  assert.equal(response.output_text, answer);
  await checkPosts(service, design);
});

async function lastOf(events: AsyncIterable<ResponseStreamEvent>): Promise<Response> {
  const numbers: number[] = [];
  for await (const event of events) {
    numbers.push(event.sequence_number);
    if (event.type !== 'response.completed') continue;
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index),
    );
    return event.response;
  }
  throw new Error('the stream ended without a terminal event');
}

inEachShape('create streams, by previous_response_id to the answer', async (service, design) => {
  const { responses } = clientOf(service, design);
  const response = await converse(async (fields) =>
    lastOf(await responses.create({ model: 'm', tools, stream: true, ...fields })),
  );
  assert.equal(response.output.length, 1);
  await checkPosts(service, design);
});

inEachShape(
  'the stream helper builds text with calls, a call alone and text alone (B45)',
  async (service, design) => {
    const { responses } = clientOf(service, design);
    const texts: string[] = [];
    const response = await converse(async (fields) => {
      const stream = responses.stream({ model: 'm', tools, ...fields });
      let text = '';
      stream.on('response.output_text.delta', ({ delta }) => {
        text += delta;
      });
      const final = await stream.finalResponse();
      texts.push(text);
      return final;
    });
    assert.deepEqual(texts, [announcement, '', answer]);
    assert.equal(response.output_text, answer);
    await checkPosts(service, design);
  },
);

const runner = new ResponsesToolRunner({
  functions: tools.map((tool) => ({ tool, execute: (args) => run(tool.name, JSON.stringify(args)) })),
});

for (const stream of [false, true])
  inEachShape(
    `the tool runner sends the full history, ${stream ? 'streaming' : 'for JSON'}`,
    async (service, design) => {
      const client = clientOf(service, design);
      const response = await runner.run(client, { model: 'm', input: prompt, store: false }, { stream });
      assert.equal(response.output_text, answer);
      await checkPosts(service, design);
    },
  );

/** A `fetch` whose bodies come in pieces of 1 to 7 bytes. */
const recut: Fetch = async (url, init) => {
  const response = await fetch(url, init);
  let length = 0;
  const body = response.body?.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        for (let at = 0; at < chunk.length; at += length) {
          length = (length % 7) + 1;
          controller.enqueue(chunk.slice(at, at + length));
        }
      },
    }),
  );
  return new globalThis.Response(body ?? null, { status: response.status, headers: response.headers });
};

const awkward = 'one\r\ntwo\n\nthree\rfour\u2028five\u2029😀 data: event: \n';

inEachShape(
  'a stream cut into pieces of 1 to 7 bytes is the same stream (B74)',
  async (service, design) => {
    const texts: string[] = [];
    for (const fetch of [globalThis.fetch, recut]) {
      const { responses } = clientOf(service, design, fetch);
      const types: string[] = [];
      const stream = responses.stream({ model: 'm', input: prompt });
      stream.on('event', ({ type }) => void types.push(type));
      texts.push((await stream.finalResponse()).output_text, types.join(' '));
    }
    assert.deepEqual(texts, [awkward, texts[1], awkward, texts[1]]);
    assert.ok(texts[1]?.startsWith('response.created response.in_progress'));
  },
  { script: () => turn(say(awkward)) },
);

inEachShape('a refused create is an error of the class that its status has', async (service, design) => {
  const { responses } = clientOf(service, design);
  for (const [fields, Class, code] of [
    [{ model: 'unserved' }, NotFoundError, 'model_not_found'],
    [{ previous_response_id: 'resp_none' }, BadRequestError, 'previous_response_not_found'],
    [{ max_output_tokens: -1 }, BadRequestError, 'invalid_value'],
  ] as const)
    for (const stream of [false, true])
      await assert.rejects(responses.create({ model: 'm', input: prompt, stream, ...fields }), (error) => {
        assert.ok(error instanceof Class);
        assert.equal(error.code, code);
        return true;
      });
  assert.deepEqual(service.lab.turns, []);
});
