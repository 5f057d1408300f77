/** The `openai` package on the routes of a single response, over HTTP. */
import assert from 'node:assert/strict';

import { NotFoundError, OpenAI } from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';

import { inEachShape, type Service } from './testing/service.js';
import { announcement, greeting, prompt, tools } from './testing/task.js';

function routesOf(service: Service, design: string): OpenAI.Responses {
  const defaultHeaders = { 'x-response-design': design };
  return new OpenAI({ baseURL: service.url, apiKey: 'key', maxRetries: 0, defaultHeaders }).responses;
}

async function numbersOf(events: AsyncIterable<ResponseStreamEvent>): Promise<number[]> {
  const numbers: number[] = [];
  for await (const event of events) numbers.push(event.sequence_number);
  return numbers;
}

const from = (start: number, end: number): number[] =>
  Array.from({ length: end - start }, (_, index) => start + index);

inEachShape('a response is replayed by its id, whole and from a place (B29)', async (service, design) => {
  const responses = routesOf(service, design);
  const { id } = await responses.create({ model: 'm', tools, input: prompt });
  const whole = await numbersOf(await responses.retrieve(id, { stream: true }));
  assert.deepEqual(whole, from(0, whole.length));
  const rest = await numbersOf(await responses.retrieve(id, { stream: true, starting_after: 5 }));
  assert.deepEqual(rest, from(6, whole.length));
  assert.equal((await responses.retrieve(id)).output_text, announcement);
});

inEachShape(
  'the stream helper resumes by id, with and without a cursor (B29, B45)',
  async (service, design) => {
    const responses = routesOf(service, design);
    const { id } = await responses.create({ model: 'm', tools, input: prompt });
    for (const place of [{}, { starting_after: 5 }]) {
      const stream = responses.stream({ response_id: id, ...place });
      const numbers: number[] = [];
      stream.on('event', ({ sequence_number: number }) => void numbers.push(number));
      const final = await stream.finalResponse();
      assert.equal(final.output_text, announcement);
      assert.equal(final.output.length, 4);
      assert.equal(numbers[0], 'starting_after' in place ? 6 : 0);
    }
  },
);

inEachShape('what a response was asked can be listed', async (service, design) => {
  const responses = routesOf(service, design);
  const { id } = await responses.create({ model: 'm', input: greeting });
  const items = [];
  for await (const item of responses.inputItems.list(id)) items.push(item);
  assert.equal(items.length, 1);
  const [item] = items;
  assert.ok(item?.type === 'message');
  assert.deepEqual([item.role, item.content], ['user', [{ type: 'input_text', text: greeting }]]);
});

inEachShape('a request is counted as it will be billed', async (service, design) => {
  const responses = routesOf(service, design);
  const asked = { model: 'm', tools, input: greeting, instructions: 'Be brief.' };
  const counted = await responses.inputTokens.count(asked);
  assert.equal(counted.object, 'response.input_tokens');
  assert.equal(counted.input_tokens, (await responses.create(asked)).usage?.input_tokens);
});

inEachShape('a deleted response is gone', async (service, design) => {
  const responses = routesOf(service, design);
  const { id } = await responses.create({ model: 'm', input: greeting });
  await responses.delete(id);
  await assert.rejects(responses.retrieve(id), NotFoundError);
});

inEachShape(
  'a response that runs is cancelled by its id',
  async (service, design) => {
    const responses = routesOf(service, design);
    const types: string[] = [];
    for await (const event of await responses.create({ model: 'm', input: greeting, stream: true })) {
      types.push(event.type);
      if (event.type === 'response.created')
        assert.equal((await responses.cancel(event.response.id)).status, 'cancelled');
      if (event.type === 'response.incomplete')
        assert.equal(event.response.incomplete_details?.reason, 'cancelled');
    }
    assert.equal(types.at(-1), 'response.incomplete');
    assert.deepEqual(await service.receipts(), { pre: 1, post: 1 });
  },
  { firstTokenMs: 1000 },
);

inEachShape('a conversation is compacted, and goes on from there', async (service, design) => {
  const responses = routesOf(service, design);
  const { id } = await responses.create({ model: 'm', input: greeting });
  const compacted = await responses.compact({ model: 'm', previous_response_id: id });
  assert.equal(compacted.object, 'response.compaction');
  assert.equal(compacted.output.at(-1)?.type, 'compaction');
  const input = [...compacted.output, { role: 'user' as const, content: greeting }];
  assert.equal(
    (await responses.create({ model: 'm', input: input as OpenAI.Responses.ResponseInput })).output_text,
    greeting,
  );
});
