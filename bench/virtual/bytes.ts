/**
 * Bytes that a request of each wire has: the JSON of its fields with empty texts, and 4.5 bytes for each token of text.
 * Sizes of what is minted (ids) are those of the real server.
 */
import type { Scenario } from '../../scenarios/index.js';
import { bytesPerToken } from './counted.js';

const id = (prefix: string): string => `${prefix}_${'0'.repeat(24)}`;
const length = (value: unknown): number => JSON.stringify(value).length;

const outputBytes = length({ type: 'function_call_output', call_id: id('call'), output: '' }) + 1;
const messageBytes =
  length({
    id: id('msg'),
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: '', annotations: [] }],
  }) + 1;
const callBytes =
  length({
    id: id('fc'),
    type: 'function_call',
    status: 'completed',
    call_id: id('call'),
    name: 'tool_10',
    arguments: '',
  }) + 1;
const userBytes = length({ type: 'message', role: 'user', content: '' }) + 1;

const appendBytes = length({ type: 'response.append', response_id: id('resp'), input: [] });
const createBytes = length({
  type: 'response.create',
  model: 'scenario',
  instructions: '',
  tools: [],
  input: [],
  metadata: { scenario: '', seed: '1', rollout: '100' },
  prompt_cache_key: '',
});
const previousBytes = length({ previous_response_id: id('resp') }) - 1;

const text = (tokens: number): number => Math.round(tokens * bytesPerToken);

export const itemBytes = {
  user: (tokens: number): number => userBytes + text(tokens),
  message: (tokens: number): number => messageBytes + text(tokens),
  call: (argumentsTokens: number): number => callBytes + text(argumentsTokens),
  output: (tokens: number): number => outputBytes + text(tokens),
} as const;

/** The request around its items, which are `items` bytes long. */
export function requestBytes(
  scenario: Pick<Scenario, 'name' | 'instructions_tokens' | 'tools_bytes'>,
  wire: 'append' | 'create' | 'history',
  items: number,
): number {
  if (wire === 'append') return appendBytes + items;
  const create =
    createBytes + scenario.name.length + text(scenario.instructions_tokens) + scenario.tools_bytes;
  return create + items + (wire === 'create' ? previousBytes : 0);
}

/** A Response as its events show it, without what it holds of output: its instructions and tools, and 300 bytes. */
export function snapshotBytes({
  instructions_tokens,
  tools_bytes,
}: Pick<Scenario, 'instructions_tokens' | 'tools_bytes'>): number {
  return 300 + text(instructions_tokens) + tools_bytes;
}
