/**
 * The format stage: where a client asked for JSON (`text.format`), a rollout that completes has to end with it. The
 * model was told the format; one that does not keep to it fails the Response, so that no client takes prose for data.
 */
import { openedCallId } from './calls.js';
import { ProtocolError } from './protocol/errors.js';
import { isSampled, type Item, type Message } from './protocol/items.js';
import { jsonCheckFor } from './protocol/json-check.js';
import { isRecord } from './protocol/parse.js';
import type { CreateRequest, TextFormat } from './protocol/requests.js';
import type { Stage } from './stages.js';

/** What the last turn sampled, newest first. An item of the client's own is not of it, whoever it speaks for. */
function* lastTurn(items: readonly Item[], { input }: CreateRequest): Generator<Item, void> {
  for (const item of items.toReversed()) {
    if (!isSampled(item) || input.includes(item)) return;
    yield item;
  }
}

function isMessage(item: Item): item is Message {
  return item.type === 'message' && 'role' in item;
}

/** The text of the final answer; null where the last turn gives none: it calls, it refuses, or it says nothing. */
function finalText(items: readonly Item[], request: CreateRequest): string | null {
  let final: Message | null = null;
  for (const item of lastTurn(items, request)) {
    if (openedCallId(item) !== null) return null;
    if (isMessage(item) && item.phase !== 'commentary') final ??= item;
  }
  if (final === null) return null;
  if (typeof final.content === 'string') return final.content;
  if (final.content.some((part) => part.type === 'refusal')) return null;
  return final.content.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
}

/** What is wrong with the text, or null. */
function faultOf(text: string, format: TextFormat): string | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is no JSON';
  }
  if (format.type === 'json_object') return isRecord(value) ? null : 'it is no JSON object';
  return format.type === 'json_schema' ? jsonCheckFor(format.schema)(value) : null;
}

/** Post, before `store`. A violation fails the Response: its code is `server_error`, its message says what is wrong. */
export const formatStage: Stage = {
  name: 'format',
  phases: ['post'],
  reads: 'new',
  refuses: false,
  critical: true,
  run({ request, outcome }, items) {
    const format = request.text?.format;
    if (format === null || format === undefined || format.type === 'text') return;
    if (outcome?.status !== 'completed') return;
    const text = finalText(items, request);
    const fault = text === null ? null : faultOf(text, format);
    if (fault !== null)
      throw new ProtocolError(
        'server_error',
        `The model's answer is not what text.format asks for: ${fault}.`,
      );
  },
};
