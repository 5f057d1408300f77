/** Whole rollouts through an engine, with a mock server of another make behind it. */
import { LLMock } from '@copilotkit/aimock';
import { test, type TestContext } from 'node:test';
import assert from 'node:assert/strict';

import { systemClock } from '../../clock.js';
import { Engine } from '../../engine.js';
import type { ServerEvent } from '../../protocol/server-events.js';
import { unitTokenizer } from '../../testing/lab.js';
import { playing, recording, sse } from './testing/recorded.js';
import { responsesAll, responsesReasoningText } from './testing/responses-streams.js';
import { upstreamSampler, type UpstreamOptions } from './upstream.js';

const apis = ['chat', 'responses'] as const;

async function behind(t: TestContext, options: Partial<UpstreamOptions> = {}) {
  const mock = new LLMock({ port: 0, host: '127.0.0.1', chunkSize: 4 });
  await mock.start();
  const sampler = upstreamSampler({ url: `${mock.url}/v1`, clock: systemClock, retryMs: 0, ...options });
  t.after(async () => {
    await sampler[Symbol.asyncDispose]();
    await mock.stop();
  });
  return { mock, engine: new Engine({ sampler, tokenizer: unitTokenizer }) };
}

interface SampledCall {
  readonly type: string;
  readonly call_id: string;
  readonly name: string;
  readonly arguments?: string;
  readonly input?: string;
}

interface SentMessage {
  readonly role: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string }[];
}

/** A rollout to its end: every call is answered by what `tool` says of its name and arguments. */
async function rollout(
  engine: Engine,
  request: Record<string, unknown>,
  tool: (name: string, args: string) => string = () => '',
) {
  const response = await engine.create({ model: 'gpt-5', ...request });
  const events: ServerEvent[] = [];
  for await (const event of response.events()) {
    events.push(event);
    if (event.type !== 'response.done') continue;
    const outputs = (event.output as SampledCall[]).flatMap(
      ({ type, call_id, name, arguments: args, input }) =>
        type.endsWith('_call')
          ? [{ type: `${type}_output`, call_id, output: tool(name, args ?? input ?? '') }]
          : [],
    );
    await response.append(outputs);
  }
  return { events, last: response.snapshot(), type: events.at(-1)?.type };
}

const textOf = (response: { readonly output: readonly unknown[] }): string =>
  JSON.stringify(response.output.at(-1) ?? null);

for (const api of apis) {
  test(`${api}: a rollout with parallel calls, their outputs sent back under the engine's ids`, async (t) => {
    const { mock, engine } = await behind(t, { api });
    mock.on(
      { userMessage: 'weather', hasToolResult: false },
      {
        toolCalls: [
          { name: 'weather', arguments: '{"city":"Oslo"}' },
          { name: 'weather', arguments: '{"city":"Rome"}' },
        ],
      },
    );
    mock.on({ userMessage: 'weather', hasToolResult: true }, { content: 'Oslo is cold, Rome is warm.' });
    const asked: string[] = [];
    const { last, type, events } = await rollout(
      engine,
      {
        input: 'weather?',
        instructions: 'Be brief.',
        tools: [{ type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } }],
      },
      (name, args) => {
        asked.push(`${name} ${args}`);
        return `answer to ${args}`;
      },
    );
    assert.equal(type, 'response.completed');
    assert.deepEqual(asked, ['weather {"city":"Oslo"}', 'weather {"city":"Rome"}']);
    assert.match(textOf(last), /Oslo is cold, Rome is warm\./);
    assert.ok(
      events.filter((event) => event.type === 'response.output_text.delta').length > 1,
      'text streams',
    );
    const journal = mock.getRequests();
    assert.equal(journal.length, 2);
    const sent: unknown = journal[1]?.body;
    const { messages } = sent as { messages: SentMessage[] };
    const calls = messages.flatMap((message) => message.tool_calls ?? []).map(({ id }) => id);
    const answered = messages.flatMap(({ role, tool_call_id }) => (role === 'tool' ? [tool_call_id] : []));
    assert.equal(calls.length, 2);
    assert.deepEqual(answered, calls);
    assert.ok(calls.every((id) => id.startsWith('call_')));
  });

  test(`${api}: usage of the upstream is the usage of the turn`, async (t) => {
    const { mock, engine } = await behind(t, { api });
    mock.onMessage('hello', {
      content: 'Hi.',
      usage: { prompt_tokens: 9, completion_tokens: 7, total_tokens: 16 },
    });
    const { last, type } = await rollout(engine, { input: 'hello' });
    assert.equal(type, 'response.completed');
    assert.equal(last.usage?.output_tokens, 7);
  });

  test(`${api}: reasoning comes through, before the answer`, async (t) => {
    const { mock, engine } = await behind(t, { api });
    mock.onMessage('think', { content: 'Four.', reasoning: 'Two and two.' });
    const { last } = await rollout(engine, { input: 'think' });
    const [first, second] = last.output;
    assert.equal(first?.type, 'reasoning');
    assert.match(JSON.stringify(first), /Two and two\./);
    assert.equal(second?.type, 'message');
  });

  test(`${api}: an error of the upstream fails the Response with a fitting code, a passing one is overcome`, async (t) => {
    const { mock, engine } = await behind(t, { api });
    mock.onMessage('hello', { content: 'Hi.' });
    mock.onMessage('flagged', {
      error: { message: 'flagged', code: 'content_policy_violation' },
      status: 400,
    });
    mock.nextRequestError(503, { message: 'busy' });
    assert.equal((await rollout(engine, { input: 'hello' })).type, 'response.completed');
    const { last, type } = await rollout(engine, { input: 'flagged' });
    assert.equal(type, 'response.failed');
    assert.equal(last.error?.code, 'invalid_prompt');
  });
}

test('a Responses upstream gets its reasoning, phase and calls back, under ids of the engine', async (t) => {
  const { url, requests } = await playing(t, recording(responsesAll), recording(responsesReasoningText));
  await using sampler = upstreamSampler({ url, api: 'responses', clock: systemClock });
  const engine = new Engine({ sampler, tokenizer: unitTokenizer });
  const { last } = await rollout(
    engine,
    { input: 'go', include: ['reasoning.encrypted_content'] },
    () => 'done',
  );
  assert.equal(last.status, 'completed');
  const input: Record<string, unknown>[] = requests[1]?.body['input'];
  const ids = input.flatMap(({ call_id }) => (typeof call_id === 'string' ? [call_id] : []));
  assert.deepEqual(ids.slice(0, 2), ids.slice(2));
  assert.ok(ids.every((id) => /^call_[0-9a-f]{32}$/.test(id)));
  assert.deepEqual(
    JSON.parse(JSON.stringify(input, (name, value: unknown) => (name === 'call_id' ? undefined : value))),
    [
      { type: 'message', role: 'user', content: 'go' },
      {
        type: 'reasoning',
        summary: [
          { type: 'summary_text', text: 'First.' },
          { type: 'summary_text', text: 'Second.' },
        ],
        encrypted_content: 'gAAA',
      },
      {
        type: 'message',
        role: 'assistant',
        phase: 'commentary',
        content: [{ type: 'output_text', text: 'Look' }],
      },
      { type: 'function_call', name: 'ls', namespace: 'fs', arguments: '{"a":1}' },
      { type: 'custom_tool_call', name: 'patch', input: '***' },
      { type: 'function_call_output', output: 'done' },
      { type: 'custom_tool_call_output', output: 'done' },
    ],
  );
});

test('a cancel of the Response ends the request', async (t) => {
  const { url, requests } = await playing(t, {
    pieces: [sse({ choices: [{ delta: { content: 'Hi' } }] })],
    end: 'stay',
  });
  await using sampler = upstreamSampler({ url, clock: systemClock });
  const engine = new Engine({ sampler, tokenizer: unitTokenizer });
  const response = await engine.create({ model: 'm', input: 'long' });
  for await (const event of response.events()) if (event.type === 'response.output_text.delta') break;
  response.cancel();
  await requests[0]?.over;
  await response[Symbol.asyncDispose]();
  assert.equal(response.settlement?.outcome.status, 'cancelled');
});

test('chat: a custom tool goes out as a function and comes back as itself', async (t) => {
  const { mock, engine } = await behind(t);
  mock.on(
    { userMessage: 'patch', hasToolResult: false },
    { toolCalls: [{ name: 'apply', arguments: '{"input":"*** Begin\\n+x"}' }] },
  );
  mock.on({ userMessage: 'patch', hasToolResult: true }, { content: 'Done.' });
  const asked: string[] = [];
  const { last } = await rollout(
    engine,
    { input: 'patch', tools: [{ type: 'custom', name: 'apply' }] },
    (name, input) => {
      asked.push(`${name} ${input}`);
      return 'ok';
    },
  );
  assert.deepEqual(asked, ['apply *** Begin\n+x']);
  assert.match(textOf(last), /Done\./);
});
