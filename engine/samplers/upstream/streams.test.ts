/** What streams in the manner of each server become. A context of 20 tokens stands behind every turn. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { checkSampler, checkTurnEvents } from '../conformance.js';
import { firstTurn, openingOf, turnOn } from '../testing/turns.js';
import { recordedHttp, recording, sse } from './testing/recorded.js';
import { saidBy, upstreamOf } from './testing/sampling.js';
import * as streams from './testing/chat-streams.js';
import * as responseStreams from './testing/responses-streams.js';
import { upstreamSampler } from './upstream.js';

const responses = { api: 'responses' as const };

for (const [name, stream, told] of [
  [
    'OpenAI: text, with usage',
    streams.openaiText,
    ['0 is message', '0 says Hello.', '0 ends', 'usage 10 2 0'],
  ],
  [
    'OpenAI: parallel calls whose pieces interleave',
    streams.openaiCalls.replace('"::', '":'),
    [
      '0 is function_call ls',
      '0 says {"path"',
      '1 is function_call cat',
      '1 says {"file":',
      '0 says :"/"}',
      '1 says "a"}',
      '0 ends',
      '1 ends',
      'usage 0 9 0',
    ],
  ],
  [
    'vLLM: reasoning, then a call, and the line breaks between them dropped',
    streams.vllmReasoning,
    [
      '0 is reasoning',
      '0 part reasoning_text',
      '0 says I need the list.',
      '0 ends',
      '1 is function_call ls',
      '1 says {"path":"/"}',
      '1 ends',
      'usage 0 12 4',
    ],
  ],
  [
    'llama.cpp: reasoning_content, and what its cache held',
    streams.llamaText,
    [
      '0 is reasoning',
      '0 part reasoning_text',
      '0 says Easy.',
      '0 ends',
      '1 is message',
      '1 says Four.',
      '1 ends',
      'usage 10 3 1',
    ],
  ],
  [
    'Ollama: whole calls under one index, without usage',
    streams.ollamaCalls,
    [
      '0 is function_call ls',
      '0 says {"path":"/"}',
      '1 is function_call cat',
      '1 says {"file":"a"}',
      '0 ends',
      '1 ends',
    ],
  ],
  [
    'LM Studio: cut at its bound',
    streams.studioCut,
    ['0 is message', '0 says One two', 'usage 0 2 0', 'cut max_output_tokens'],
  ],
  ['a content filter', streams.filtered, ['0 is message', '0 says Well', 'cut content_filter']],
  ['a refusal', streams.refusing, ['0 is message', '0 part refusal', '0 says I cannot.', '0 ends']],
  [
    'no [DONE]',
    streams.openaiText.replace('data: [DONE]\n\n', ''),
    ['0 is message', '0 says Hello.', '0 ends', 'usage 10 2 0'],
  ],
  [
    '[DONE] without a finish',
    sse({ choices: [{ index: 0, delta: { content: 'Hi' } }] }, '[DONE]'),
    ['0 is message', '0 says Hi', '0 ends'],
  ],
  [
    'comments, unknown fields and event names',
    `: ping\n\nid: 7\nfoo: bar\nevent: message\n${streams.openaiText}`,
    ['0 is message', '0 says Hello.', '0 ends', 'usage 10 2 0'],
  ],
] as const)
  test(`chat: ${name}`, async () => {
    const said = await saidBy([recording(stream)]);
    assert.equal(said.fault, null);
    assert.deepEqual(said.told, told);
    checkTurnEvents(said.events, firstTurn);
    assert.equal(said.clock.pending, 0);
  });

for (const [name, stream, told] of [
  [
    'everything, streamed',
    responseStreams.responsesAll,
    [
      '0 is reasoning',
      '0 says First.',
      '0 part summary',
      '0 says Second.',
      '0 ends with gAAA',
      '1 is message commentary',
      '1 says Look',
      '1 cites https://example.org',
      '1 ends',
      '2 is function_call ls fs',
      '3 is custom_tool_call patch',
      '2 says {"a"',
      '3 says ***',
      '2 says :1}',
      '3 ends',
      '2 ends',
      'usage 16 30 20',
    ],
  ],
  [
    'whole items, and those of hosted and of local tools',
    responseStreams.responsesWhole,
    [
      '0 is opaque {"type":"web_search_call","id":"ws_1","action":{"type":"search","query":"x"},"status":"completed","opaque":true}',
      '1 is opaque {"type":"local_shell_call","id":"lsh_1","call_id":"call_s","action":{"type":"exec"},"opaque":true}',
      '2 is message',
      '2 says Here.',
      '2 part refusal',
      '2 says Not that.',
      '2 ends',
      '3 is function_call ls',
      '3 says {}',
      '3 ends',
      'usage 16 30 20',
    ],
  ],
  [
    'reasoning as text',
    responseStreams.responsesReasoningText,
    ['0 is reasoning', '0 part reasoning_text', '0 says Hm.', '0 ends', 'usage 16 30 20'],
  ],
  [
    'a cut at the bound',
    responseStreams.responsesCut('max_output_tokens'),
    ['0 is message', '0 says Half a', 'usage 16 30 20', 'cut max_output_tokens'],
  ],
  [
    'a content filter',
    responseStreams.responsesCut('content_filter'),
    ['0 is message', '0 says Half a', 'usage 16 30 20', 'cut content_filter'],
  ],
] as const)
  test(`Responses: ${name}`, async () => {
    const said = await saidBy([recording(stream)], { options: responses });
    assert.equal(said.fault, null);
    assert.deepEqual(said.told, told);
    checkTurnEvents(said.events, firstTurn);
  });

test('a stream reads the same whichever way it is cut into pieces, inside characters too', async () => {
  const stream = Buffer.from(sse({ choices: [{ delta: { content: 'héllo 😀' }, finish_reason: 'stop' }] }));
  const whole = await saidBy([{ pieces: [stream] }]);
  const bytes = await saidBy([{ pieces: Array.from(stream, (byte) => Uint8Array.of(byte)) }]);
  assert.deepEqual(bytes.told, whole.told);
  assert.equal(whole.told[1], '0 says héllo 😀');
});

test('a custom tool comes back from chat as a custom call with its text, escapes and all', async () => {
  const opening = openingOf({ tools: [{ type: 'custom', name: 'patch' }] });
  const said = await saidBy([recording(streams.customCall)], { opening });
  assert.deepEqual(said.told, ['0 is custom_tool_call patch', '0 says a\n😀b', '0 ends']);
});

test('a namespaced function comes back from chat under its own name', async () => {
  const tools = [{ type: 'namespace', name: 'fs', tools: [{ type: 'function', name: 'ls' }] }];
  const call = { tool_calls: [{ index: 0, id: 'c', function: { name: 'fs__ls', arguments: '{}' } }] };
  const stream = sse({ choices: [{ delta: call, finish_reason: 'tool_calls' }] }, '[DONE]');
  const said = await saidBy([recording(stream)], { opening: openingOf({ tools }) });
  assert.equal(said.told[0], '0 is function_call ls fs');
});

test('an upstream that passes its bound is cut, and no more tokens are told than were allowed', async () => {
  const chunk = { choices: [{ delta: { content: 'word ' } }] };
  const turn = { ...firstTurn, outputTokensMax: 3 };
  const said = await saidBy([recording(sse(...Array.from({ length: 200 }, () => chunk)), { end: 'stay' })], {
    turn,
  });
  assert.equal(said.told.at(-1), 'cut max_output_tokens');
  checkTurnEvents(said.events, turn);
});

test('a turn that may say nothing is cut without asking the upstream', async () => {
  const said = await saidBy([], { turn: { ...firstTurn, outputTokensMax: 0 } });
  assert.deepEqual(said.told, ['cut ']);
  assert.equal(said.http.requests.length, 0);
});

test('the sampler conforms, by chat and by Responses', async () => {
  for (const [options, stream] of [
    [{}, streams.openaiCalls],
    [{}, streams.vllmReasoning],
    [{}, streams.studioCut],
    [responses, responseStreams.responsesAll],
    [responses, responseStreams.responsesCut('max_output_tokens')],
  ] as const) {
    const { clock } = upstreamOf([]);
    await checkSampler(() =>
      upstreamSampler({
        url: 'http://model.test/v1',
        clock,
        http: recordedHttp({ pieces: stream.split(/(?<=\n\n)/) }),
        ...options,
      }),
    );
    assert.equal(clock.pending, 0, 'no timer is left');
  }
});

test('an empty transcript and a long one sample alike', async () => {
  const said = await saidBy([recording(streams.openaiText)], {
    turn: turnOn(firstTurn.context.transcript.prefix(0)),
  });
  assert.equal(said.fault, null);
});
