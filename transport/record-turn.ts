/** What a line says of items: which are new, which were written, how long they are. Pure. */
import { Buffer } from 'node:buffer';

import { isSampled, type Item, type Transcript } from '../engine/index.js';
import { answeredCallId, openedCallId } from '../engine/calls.js';
import { isOpaque, isToolCall, isToolOutput } from '../engine/protocol/items.js';
import type { CreateRequest } from '../engine/protocol/requests.js';
import { control } from '../engine/render.js';
import type { Preamble } from '../engine/stages.js';
import type { RecordedInput, RecordedOutput, RecordedTurn } from './record-lines.js';

/** Tokens of a block's content: what stands between its header and its end. */
function contentTokens(block: Uint32Array): number {
  return Math.max(0, block.length - block.indexOf(control.message) - 2);
}

function textOf(item: Item): string | undefined {
  if (isOpaque(item) || item.type === 'reasoning') return undefined;
  if (isToolCall(item)) return item.type === 'function_call' ? item.arguments : item.input;
  const content = isToolOutput(item) ? item.output : item.content;
  if (typeof content === 'string') return content;
  return content.map((part) => ('text' in part ? part.text : 'refusal' in part ? part.refusal : '')).join('');
}

function kindOf(item: Item, callId: string | null): RecordedOutput['kind'] {
  if (callId !== null) return 'call';
  return item.type === 'message' || item.type === 'reasoning' ? item.type : 'other';
}

/** Texts are kept where they are asked for and there are any. */
function kept(item: Item, wanted: boolean): { readonly text?: string } {
  const text = wanted ? (textOf(item) ?? '') : '';
  return text === '' ? {} : { text };
}

export function outputOf(
  transcript: Transcript,
  from: number,
  to: number,
  withText: boolean,
): RecordedOutput[] {
  return Array.from({ length: to - from }, (_, index): RecordedOutput => {
    const { item, tokens } = transcript.at(from + index);
    const call_id = openedCallId(item);
    return {
      kind: kindOf(item, call_id),
      tokens: contentTokens(tokens),
      ...(call_id === null ? {} : { call_id }),
      ...kept(item, withText),
    };
  });
}

/** Whether an answer was recorded before: a history that is sent in full repeats it. */
export type Answered = (callId: string) => boolean;

/**
 * Indices of what the client brought anew at or after `base`: what follows the first call of those that are answered
 * now or, without any, what follows all that the model wrote.
 */
export function newInput(transcript: Transcript, base: number, answered: Answered): number[] {
  let lastSampled = base - 1;
  const calls = new Map<string, number>();
  const answers: string[] = [];
  for (let index = base; index < transcript.length; index++) {
    const { item } = transcript.at(index);
    const opened = openedCallId(item);
    const answer = answeredCallId(item);
    if (isSampled(item)) lastSampled = index;
    if (opened !== null) calls.set(opened, index);
    if (answer !== null && !answered(answer)) answers.push(answer);
  }
  const start = answers.reduce(
    (first, callId) => Math.min(first, calls.get(callId) ?? base - 1),
    answers.length > 0 ? Infinity : lastSampled,
  );
  const indices: number[] = [];
  for (let index = start + 1; index < transcript.length; index++)
    if (!isSampled(transcript.at(index).item)) indices.push(index);
  return indices;
}

/** @param arrivedAt when the answer to a call arrived, on the recording's time; undefined where nobody gave it. */
export function inputOf(
  transcript: Transcript,
  indices: readonly number[],
  { withText, arrivedAt }: { withText: boolean; arrivedAt: (callId: string) => number | undefined },
): RecordedInput[] {
  return indices.map((index): RecordedInput => {
    const { item, tokens } = transcript.at(index);
    const call_id = answeredCallId(item);
    const brought = { tokens: contentTokens(tokens), ...kept(item, withText) };
    if (call_id === null) return { kind: 'message', ...brought };
    const at_ms = arrivedAt(call_id);
    return { kind: 'output', call_id, ...(at_ms === undefined ? {} : { at_ms }), ...brought };
  });
}

/** Tokens of the content of all entries from `from` on. */
export function contentOf(transcript: Transcript, from = 0): number {
  let sum = 0;
  for (const { tokens } of transcript.entries(from)) sum += contentTokens(tokens);
  return sum;
}

/** Where the newest run of what a model wrote begins and ends: for a transcript that was shortened. */
function newestRun(transcript: Transcript): readonly [from: number, to: number] {
  let to = transcript.length;
  while (to > 0 && !isSampled(transcript.at(to - 1).item)) to--;
  let from = to;
  while (from > 0 && isSampled(transcript.at(from - 1).item)) from--;
  return [from, to];
}

export interface Written {
  readonly from: number;
  readonly to: number;
  /** The transcript no longer begins as it did. */
  readonly shortened: boolean;
}

/** What a turn wrote, in the transcript that came of it. */
export function writtenIn(after: Transcript, before: Transcript): Written {
  const { length } = before;
  const goesOn =
    after.length >= length && (length === 0 || after.at(length - 1).item === before.at(length - 1).item);
  if (!goesOn) {
    const [from, to] = newestRun(after);
    return { from, to, shortened: true };
  }
  let to = length;
  while (to < after.length && isSampled(after.at(to).item)) to++;
  return { from: length, to, shortened: false };
}

type Preambled = Pick<RecordedTurn, 'instructions_tokens' | 'tools_count' | 'tools_bytes' | 'tools_tokens'>;

export function preambleOf({ instructions, tools }: CreateRequest, { tokens }: Preamble): Preambled {
  const blocks: number[] = [];
  let at = 0;
  for (let end = tokens.indexOf(control.end); end >= 0; end = tokens.indexOf(control.end, at)) {
    blocks.push(contentTokens(tokens.subarray(at, end + 1)));
    at = end + 1;
  }
  const instructions_tokens = (instructions ?? '') === '' ? 0 : (blocks[0] ?? 0);
  return {
    instructions_tokens,
    tools_count: tools?.length ?? 0,
    tools_bytes: tools === null || tools === undefined ? 0 : Buffer.byteLength(JSON.stringify(tools)),
    tools_tokens: blocks.reduce((sum, content) => sum + content, 0) - instructions_tokens,
  };
}
