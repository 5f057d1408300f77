/** Small chat streams in the manner of each server, written after what they send. */
import { sse } from './recorded.js';

const chunkOf =
  (head: object) =>
  (delta: object, finish: string | null = null, more: object = {}): object => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finish, ...more }],
  });

const toolCall = (index: number, fields: object) => ({ tool_calls: [{ index, ...fields }] });
const opens = (index: number, id: string, name: string, args = '') =>
  toolCall(index, { id, type: 'function', function: { name, arguments: args } });
const args = (index: number, text: string) => toolCall(index, { function: { arguments: text } });

const openai = chunkOf({ id: 'chatcmpl-1', created: 1, model: 'gpt-x', system_fingerprint: 'fp' });

/** OpenAI: the role first, usage in a chunk without choices. */
export const openaiText = sse(
  openai({ role: 'assistant', content: '', refusal: null }),
  openai({ content: 'Hel' }),
  openai({ content: 'lo.' }),
  openai({}, 'stop'),
  {
    id: 'chatcmpl-1',
    choices: [],
    usage: {
      prompt_tokens: 40,
      completion_tokens: 2,
      prompt_tokens_details: { cached_tokens: 20 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  },
  '[DONE]',
);

/** OpenAI: two calls at once, their pieces interleaved. */
export const openaiCalls = sse(
  openai({ role: 'assistant', content: null }),
  openai(opens(0, 'call_a', 'ls')),
  openai(args(0, '{"path"')),
  openai(opens(1, 'call_b', 'cat')),
  openai(args(1, '{"file":')),
  openai(args(0, ':"/"}')),
  openai(args(1, '"a"}')),
  openai({}, 'tool_calls'),
  { choices: [], usage: { prompt_tokens: 10, completion_tokens: 9 } },
  '[DONE]',
);

const vllm = chunkOf({ id: 'chatcmpl-v', created: 1, model: 'qwen' });

/** vLLM with a reasoning parser: line breaks before the call, which comes with a first piece of arguments. */
export const vllmReasoning = sse(
  vllm({ role: 'assistant', content: '' }, null, { logprobs: null }),
  vllm({ reasoning: 'I need ' }),
  vllm({ reasoning: 'the list.' }),
  vllm({ content: '\n\n' }),
  vllm(opens(0, 'chatcmpl-tool-1', 'ls', '{')),
  vllm(args(0, '"path":"/"}')),
  vllm({ content: '' }, 'tool_calls', { stop_reason: null }),
  { choices: [], usage: { prompt_tokens: 30, total_tokens: 42, completion_tokens: 12 } },
  '[DONE]',
);

const llama = chunkOf({ id: 'chatcmpl-l', created: 1, model: 'gguf' });

/** llama.cpp: reasoning_content, timings with what its cache held. */
export const llamaText = sse(
  llama({ role: 'assistant', content: null }),
  llama({ reasoning_content: 'Easy.' }),
  llama({ content: 'Four' }),
  llama({ content: '.' }),
  llama({}, 'stop'),
  {
    choices: [],
    usage: { completion_tokens: 3, prompt_tokens: 20, total_tokens: 23 },
    timings: { cache_n: 10, prompt_n: 10, predicted_n: 3 },
  },
  '[DONE]',
);

const ollama = chunkOf({ id: 'chatcmpl-77', created: 1, model: 'llama3.2', system_fingerprint: 'fp_ollama' });

/** Ollama: whole calls in one chunk each, all under index 0, and no usage unless asked. */
export const ollamaCalls = sse(
  ollama({ role: 'assistant', content: '', ...opens(0, 'call_1', 'ls', '{"path":"/"}') }),
  ollama({ role: 'assistant', content: '', ...opens(0, 'call_2', 'cat', '{"file":"a"}') }),
  ollama({ role: 'assistant', content: '' }, 'tool_calls'),
  '[DONE]',
);

const studio = chunkOf({ id: 'chatcmpl-s', created: 1, model: 'local', system_fingerprint: 'local' });

/** LM Studio: the name in a piece of its own, without index for what follows, cut by its bound. */
export const studioCut = sse(
  studio({ role: 'assistant', content: 'One' }),
  studio({ content: ' two' }),
  studio({}, 'length'),
  { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } },
  '[DONE]',
);

export const filtered = sse(
  openai({ role: 'assistant', content: 'Well' }),
  openai({}, 'content_filter'),
  '[DONE]',
);

export const refusing = sse(
  openai({ refusal: 'I can' }),
  openai({ refusal: 'not.' }),
  openai({}, 'stop'),
  '[DONE]',
);

export const customCall = sse(
  openai(opens(0, 'call_c', 'patch', '{"in')),
  openai(args(0, 'put": "a\\')),
  openai(args(0, 'n\\ud83d')),
  openai(args(0, '\\ude00b"')),
  openai(args(0, '}')),
  openai({}, 'tool_calls'),
  '[DONE]',
);
