/** What an upstream is sent by Responses. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { ask, asResponses, bodyOf, call, output, transcriptWith } from './testing/bodies.js';

test('Responses: items go as they are, without ids, stateless, and reasoning with what is encrypted in it', async () => {
  const tools = [
    { type: 'function', name: 'ls', strict: true },
    { type: 'namespace', name: 'fs', tools: [{ type: 'custom', name: 'patch' }] },
    { type: 'web_search', search_context_size: 'low' },
  ];
  const transcript = transcriptWith(
    { ...ask, id: 'msg_1', status: 'completed' },
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'Hm.' }],
      encrypted_content: 'gAAA',
    },
    { type: 'reasoning', id: 'rs_2', summary: [{ type: 'summary_text', text: 'Lost.' }] },
    {
      type: 'message',
      role: 'assistant',
      id: 'msg_2',
      phase: 'commentary',
      content: [{ type: 'output_text', text: 'Hi', annotations: [], logprobs: [] }],
    },
    { ...call('call_1'), id: 'fc_1', namespace: 'fs', status: 'completed' },
    { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_2', name: 'patch', input: '***' },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } },
    output('call_1', [{ type: 'input_image', image_url: 'data:,', detail: null }]),
    { type: 'custom_tool_call_output', call_id: 'call_2', output: 'done' },
  );
  const request = {
    model: 'm',
    tools,
    instructions: 'Be brief.',
    reasoning: { effort: 'low', summary: null },
  };
  const toolChoice = { type: 'function', name: 'ls' } as const;
  const body = await bodyOf(transcript, request, asResponses, { toolChoice, outputTokensMax: 99 });
  assert.deepEqual(body, {
    model: 'm',
    stream: true,
    store: false,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'one',
    reasoning: { effort: 'low' },
    instructions: 'Be brief.',
    tools,
    input: [
      ask,
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'gAAA' },
      {
        type: 'message',
        role: 'assistant',
        phase: 'commentary',
        content: [{ type: 'output_text', text: 'Hi' }],
      },
      { type: 'function_call', call_id: 'call_1', name: 'ls', namespace: 'fs', arguments: '{}' },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'patch', input: '***' },
      { type: 'web_search_call', status: 'completed', action: { type: 'search' } },
      {
        type: 'function_call_output',
        call_id: 'call_1',
        output: [{ type: 'input_image', image_url: 'data:,' }],
      },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: 'done' },
    ],
    tool_choice: toolChoice,
    max_output_tokens: 99,
  });
});

test('Responses: models that do not reason are not asked for encrypted reasoning', async () => {
  assert.equal((await bodyOf(transcriptWith(ask), { model: 'gpt-4o' }, asResponses))['include'], undefined);
});
