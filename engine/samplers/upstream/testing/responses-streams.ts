/** Small Responses streams, written after what servers send. */
import { typedSse } from './recorded.js';

const at = (output_index: number) => ({ output_index, item_id: `item_${output_index}` });

interface Ended {
  readonly status?: string;
  readonly incomplete_details?: object;
  readonly usage?: object;
  readonly error?: object;
}
const closing = (type: string, response: Ended) => ({
  type,
  response: { id: 'resp_1', object: 'response', ...response },
});
const begun = [
  closing('response.created', { status: 'in_progress' }),
  closing('response.in_progress', { status: 'in_progress' }),
];
const added = (output_index: number, item: object) => ({
  type: 'response.output_item.added',
  output_index,
  item,
});
const ended = (output_index: number, item: object) => ({
  type: 'response.output_item.done',
  output_index,
  item,
});
const usage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 80 },
  output_tokens: 30,
  output_tokens_details: { reasoning_tokens: 20 },
};

/** OpenAI Responses: reasoning with a summary of two parts, a message with a citation, two calls interleaved. */
export const responsesAll = typedSse(
  ...begun,
  added(0, { id: 'rs_1', type: 'reasoning', summary: [] }),
  {
    type: 'response.reasoning_summary_part.added',
    ...at(0),
    summary_index: 0,
    part: { type: 'summary_text', text: '' },
  },
  { type: 'response.reasoning_summary_text.delta', ...at(0), summary_index: 0, delta: 'First.' },
  { type: 'response.reasoning_summary_text.done', ...at(0), summary_index: 0, text: 'First.' },
  { type: 'response.reasoning_summary_text.delta', ...at(0), summary_index: 1, delta: 'Second.' },
  ended(0, {
    id: 'rs_1',
    type: 'reasoning',
    summary: [
      { type: 'summary_text', text: 'First.' },
      { type: 'summary_text', text: 'Second.' },
    ],
    encrypted_content: 'gAAA',
  }),
  added(1, {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    phase: 'commentary',
    status: 'in_progress',
    content: [],
  }),
  {
    type: 'response.content_part.added',
    ...at(1),
    content_index: 0,
    part: { type: 'output_text', text: '' },
  },
  { type: 'response.output_text.delta', ...at(1), content_index: 0, delta: 'Look', logprobs: [] },
  {
    type: 'response.output_text.annotation.added',
    ...at(1),
    content_index: 0,
    annotation_index: 0,
    annotation: {
      type: 'url_citation',
      url: 'https://example.org',
      title: 'x',
      start_index: 0,
      end_index: 4,
    },
  },
  ended(1, {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'Look', annotations: [] }],
  }),
  added(2, {
    id: 'fc_1',
    type: 'function_call',
    call_id: 'call_x',
    name: 'ls',
    namespace: 'fs',
    arguments: '',
  }),
  added(3, { id: 'ctc_1', type: 'custom_tool_call', call_id: 'call_y', name: 'patch', input: '' }),
  { type: 'response.function_call_arguments.delta', ...at(2), delta: '{"a"' },
  { type: 'response.custom_tool_call_input.delta', ...at(3), delta: '***' },
  { type: 'response.function_call_arguments.delta', ...at(2), delta: ':1}' },
  ended(3, { type: 'custom_tool_call', call_id: 'call_y', name: 'patch', input: '***', status: 'completed' }),
  ended(2, {
    type: 'function_call',
    call_id: 'call_x',
    name: 'ls',
    arguments: '{"a":1}',
    status: 'completed',
  }),
  closing('response.completed', { status: 'completed', usage }),
);

/** A server that streams nothing inside items, among them one that it has run itself and one for the client. */
export const responsesWhole = typedSse(
  ...begun,
  ended(0, {
    type: 'web_search_call',
    id: 'ws_1',
    status: 'completed',
    action: { type: 'search', query: 'x' },
  }),
  added(1, {
    type: 'local_shell_call',
    id: 'lsh_1',
    call_id: 'call_s',
    status: 'in_progress',
    action: { type: 'exec' },
  }),
  ended(1, {
    type: 'local_shell_call',
    id: 'lsh_1',
    call_id: 'call_s',
    status: 'completed',
    action: { type: 'exec' },
  }),
  added(2, { type: 'message', role: 'assistant', content: [] }),
  ended(2, {
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [
      { type: 'output_text', text: 'Here.', annotations: [] },
      { type: 'refusal', refusal: 'Not that.' },
    ],
  }),
  ended(3, { type: 'function_call', call_id: 'c', name: 'ls', arguments: '{}', status: 'completed' }),
  closing('response.completed', { status: 'completed', usage }),
);

/** vLLM's Responses: reasoning as text. */
export const responsesReasoningText = typedSse(
  ...begun,
  added(0, { type: 'reasoning', summary: [], content: [] }),
  { type: 'response.reasoning_text.delta', ...at(0), content_index: 0, delta: 'Hm.' },
  ended(0, { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] }),
  closing('response.completed', { status: 'completed', usage }),
);

const cutMessage = [
  ...begun,
  added(0, { type: 'message', role: 'assistant', content: [] }),
  { type: 'response.output_text.delta', ...at(0), content_index: 0, delta: 'Half a' },
];

export const responsesCut = (reason: string) =>
  typedSse(
    ...cutMessage,
    ended(0, {
      type: 'message',
      role: 'assistant',
      status: 'incomplete',
      content: [{ type: 'output_text', text: 'Half a' }],
    }),
    closing('response.incomplete', { status: 'incomplete', incomplete_details: { reason }, usage }),
  );

export const responsesFailed = (error: object, early = false) =>
  typedSse(...(early ? begun : cutMessage), closing('response.failed', { status: 'failed', error }));

export const responsesBrokenOff = typedSse(...cutMessage);
