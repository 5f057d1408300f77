/** What an upstream is sent by chat completions. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { ProtocolError } from '../../protocol/errors.js';
import { entry, openingOf, turnOn } from '../testing/turns.js';
import { ask, asResponses, bodyOf, call, items, output, transcriptWith } from './testing/bodies.js';
import { vllmReasoning } from './testing/chat-streams.js';
import { recording } from './testing/recorded.js';
import { upstreamOf } from './testing/sampling.js';

test('chat: settings, instructions and tools are carried over, and nothing else is', async () => {
  const tools = [
    { type: 'function', name: 'ls', description: 'Lists.', parameters: { type: 'object' }, strict: false },
    { type: 'function', name: 'now', strict: null },
    { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } },
    { type: 'namespace', name: 'fs', tools: [{ type: 'function', name: 'ls' }] },
    { type: 'web_search' },
  ];
  const body = await bodyOf(
    transcriptWith(ask),
    {
      model: 'asked',
      instructions: 'Be brief.',
      tools,
      temperature: 0.5,
      top_p: 0.9,
      reasoning: { effort: 'low', summary: 'auto' },
      text: {
        format: {
          type: 'json_schema',
          name: 'out',
          schema: { type: 'object', additionalProperties: false },
          strict: true,
        },
      },
      metadata: { secret: 'x' },
      user: 'someone',
      store: true,
    },
    {},
    { outputTokensMax: 77, parallelToolCalls: false, toolChoice: 'required' },
  );
  const input = {
    type: 'object',
    properties: { input: { type: 'string' } },
    required: ['input'],
    additionalProperties: false,
  };
  assert.deepEqual(body, {
    model: 'asked',
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0.5,
    top_p: 0.9,
    reasoning_effort: 'low',
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'out', schema: { type: 'object', additionalProperties: false }, strict: true },
    },
    tools: [
      { type: 'function', function: { name: 'ls', description: 'Lists.', parameters: { type: 'object' } } },
      { type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} } } },
      {
        type: 'function',
        function: {
          name: 'patch',
          description: 'The input follows this lark grammar:\nstart: "a"',
          parameters: input,
        },
      },
      { type: 'function', function: { name: 'fs__ls', parameters: { type: 'object', properties: {} } } },
    ],
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Go.' },
    ],
    tool_choice: 'required',
    parallel_tool_calls: false,
    max_tokens: 77,
  });
});

test('chat: what is the default is left out, and fields go only where they are known', async () => {
  const body = await bodyOf(transcriptWith(ask));
  assert.deepEqual(Object.keys(body), ['model', 'stream', 'stream_options', 'messages']);
  const local = await bodyOf(transcriptWith(ask), {}, { url: 'http://127.0.0.1:8080/v1' });
  assert.equal(local['cache_prompt'], true);
  const developer = transcriptWith({ type: 'message', role: 'developer', content: 'Mind.' });
  const openai = await bodyOf(
    developer,
    {},
    { url: 'https://api.openai.com/v1', model: 'gpt-z' },
    { outputTokensMax: 9 },
  );
  assert.equal(openai['prompt_cache_key'], 'one');
  assert.equal(openai['max_completion_tokens'], 9);
  assert.equal(openai['model'], 'gpt-z');
  assert.equal(openai['messages'][0].role, 'developer');
  assert.equal((await bodyOf(developer))['messages'][0].role, 'system');
});

test('a bound that the context sets anyway is not sent', async () => {
  const bounded = { contextTokensMax: 1000 };
  const transcript = transcriptWith(ask);
  assert.equal(
    (await bodyOf(transcript, {}, bounded, { outputTokensMax: 1000 - 11 }))['max_tokens'],
    undefined,
  );
  assert.equal((await bodyOf(transcript, {}, bounded, { outputTokensMax: 100 }))['max_tokens'], 100);
  const responses = await bodyOf(transcript, {}, asResponses, { outputTokensMax: 3 });
  assert.equal(responses['max_output_tokens'], 16);
});

test('chat: each tool choice in the form of that API', async () => {
  const tools = [
    { type: 'function', name: 'a' },
    { type: 'custom', name: 'b' },
    { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'c' }] },
  ];
  const chosen = async (tool_choice: unknown) => {
    const opening = openingOf({ tools, tool_choice });
    const toolChoice = opening.request.tool_choice ?? 'auto';
    const body = await bodyOf(transcriptWith(ask), { tools, tool_choice }, {}, { toolChoice });
    const names = body['tools'].map((tool: { function: { name: string } }) => tool.function.name);
    return [body['tool_choice'], names.join(' ')];
  };
  const all = 'a b n__c';
  assert.deepEqual(await chosen('auto'), [undefined, all]);
  assert.deepEqual(await chosen('none'), ['none', all]);
  assert.deepEqual(await chosen({ type: 'custom', name: 'b' }), [
    { type: 'function', function: { name: 'b' } },
    all,
  ]);
  assert.deepEqual(await chosen({ type: 'function', name: 'c' }), [
    { type: 'function', function: { name: 'n__c' } },
    all,
  ]);
  const some = [
    { type: 'function', name: 'a' },
    { type: 'function', name: 'c' },
  ];
  assert.deepEqual(await chosen({ type: 'allowed_tools', mode: 'required', tools: some }), [
    'required',
    'a n__c',
  ]);
});

test('chat: a run of the model is one message, and the outputs of its calls follow right behind it', async () => {
  const transcript = transcriptWith(
    ask,
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Looking.' }] },
    call('call_1'),
    { ...call('call_2', 'cat'), namespace: 'fs' },
    { type: 'custom_tool_call', call_id: 'call_3', name: 'patch', input: 'x"y' },
    { type: 'message', role: 'user', content: 'And?' },
    { type: 'custom_tool_call_output', call_id: 'call_3', output: 'done' },
    output('call_2', [
      { type: 'input_text', text: 'see' },
      { type: 'input_image', image_url: 'data:image/png;base64,AA', detail: 'original' },
    ]),
    output('call_1'),
  );
  const { messages } = await bodyOf(transcript);
  const sent = (id: string, name: string, args: string) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  });
  assert.deepEqual(messages.slice(1), [
    {
      role: 'assistant',
      content: 'Looking.',
      reasoning_content: 'Hm.',
      tool_calls: [
        sent('call_1', 'ls', '{}'),
        sent('call_2', 'fs__cat', '{}'),
        sent('call_3', 'patch', '{"input":"x\\"y"}'),
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'ok' },
    { role: 'tool', tool_call_id: 'call_2', content: 'see' },
    { role: 'tool', tool_call_id: 'call_3', content: 'done' },
    {
      role: 'user',
      content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA', detail: 'high' } }],
    },
    { role: 'user', content: 'And?' },
  ]);
});

test('chat: arguments that are no JSON object are sent as one, because servers parse them', async () => {
  const sent = async (args: string) => {
    const { messages } = await bodyOf(transcriptWith(ask, call('c', 'ls', args), output('c')));
    return messages[1].tool_calls[0].function.arguments;
  };
  assert.equal(await sent(''), '{}');
  assert.equal(await sent('{"a":1 }'), '{"a":1 }');
  assert.equal(await sent('{"a":'), '{"arguments":"{\\"a\\":"}');
});

test('chat: images and files in their forms, and a refusal where the API has none', async () => {
  const content = [
    { type: 'input_text', text: 'See' },
    { type: 'input_image', image_url: 'https://example.org/a.png' },
    { type: 'input_file', file_data: 'data:application/pdf;base64,AA', filename: 'a.pdf' },
  ];
  const { messages } = await bodyOf(transcriptWith({ type: 'message', role: 'user', content }));
  assert.deepEqual(messages[0].content, [
    { type: 'text', text: 'See' },
    { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
    { type: 'file', file: { file_data: 'data:application/pdf;base64,AA', filename: 'a.pdf' } },
  ]);
  for (const part of [
    { type: 'input_image', file_id: 'file_1' },
    { type: 'input_file', file_url: 'https://example.org/a.pdf' },
  ])
    await assert.rejects(
      bodyOf(transcriptWith({ type: 'message', role: 'user', content: [part] })),
      (fault) => fault instanceof ProtocolError && fault.code === 'unsupported_parameter',
    );
});

test('chat: reasoning goes back in the field it came in', async () => {
  const { http, sampler } = upstreamOf([recording(vllmReasoning)]);
  const session = sampler.open(openingOf());
  const thought = { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Hm.' }] };
  let transcript = transcriptWith(ask);
  for (let turn = 1; turn <= 2; turn++) {
    for await (const _ of session.sample(turnOn(transcript), new AbortController().signal)) continue;
    transcript = transcript.extend(items(thought, call('c'), output('c')).map((item) => entry(item, 1)));
  }
  assert.equal(http.requests[1]?.body['messages'][1].reasoning, 'Hm.');
  const none = await bodyOf(transcriptWith(ask, thought, ask), {}, { reasoningField: null });
  assert.equal(none['messages'].length, 2);
});

test('chat: opaque items go as the JSON that they are counted by', async () => {
  const opaque = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { query: 'x' } };
  const { messages } = await bodyOf(transcriptWith(ask, opaque, { type: 'note', id: 'n_1', text: 'hm' }));
  assert.deepEqual(messages.slice(1), [
    { role: 'assistant', content: '{"type":"web_search_call","action":{"query":"x"}}' },
    { role: 'user', content: '{"type":"note","text":"hm"}' },
  ]);
});
