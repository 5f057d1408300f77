/**
 * Compaction: a conversation made short, so that it goes on in less context.
 *
 *   M1  What was said is replaced by one `compaction` item that carries a summary. The item is a client's to keep and to
 *       send back, like any item; its `encrypted_content` is the summary in base64url, encoded and not secret, because it
 *       holds nothing that the client did not say or read itself.
 *   M2  The newest turn stays as it is: its calls and their outputs, or the messages that wait for an answer.
 *   M3  A compaction item in a transcript stands for everything before it.
 */
import { answeredCallId } from './calls.js';
import { compactedIn } from './protocol/compaction-item.js';
import { isOpaque, isSampled, isToolCall, isToolOutput, type Item } from './protocol/items.js';

/** Makes the summary. It may ask a model; the built-in one is a digest by rule. */
export type Compactor = (items: readonly Item[], signal: AbortSignal) => string | Promise<string>;

/** Characters of the digest, and of one item in it. */
const digestUnitsMax = 8_000;
const itemUnitsMax = 400;

function textOf(content: string | readonly object[]): string {
  if (typeof content === 'string') return content;
  return content.map((part) => ('text' in part ? String(part.text) : '')).join(' ');
}

function cut(text: string, unitsMax: number): string {
  return text.length <= unitsMax ? text : `${text.slice(0, unitsMax).replace(/[\ud800-\udbff]$/, '')}…`;
}

function lineOf(item: Item): string | null {
  if (isOpaque(item))
    return compactedIn(item)?.summary ?? cut(`${item.type}: ${JSON.stringify(item)}`, itemUnitsMax);
  if (item.type === 'reasoning') return null;
  if (isToolCall(item))
    return cut(
      `call ${item.name}: ${item.type === 'function_call' ? item.arguments : item.input}`,
      itemUnitsMax,
    );
  if (isToolOutput(item)) return cut(`output: ${textOf(item.output)}`, itemUnitsMax);
  return cut(`${item.role}: ${textOf(item.content)}`, itemUnitsMax);
}

/** What was said, a line an item, each cut short; the oldest lines are left out where there are too many. */
export const digest: Compactor = (items) => {
  const lines = items.flatMap((item) => lineOf(item) ?? []);
  const kept: string[] = [];
  let units = 0;
  for (const line of lines.toReversed()) {
    units += line.length + 1;
    if (units > digestUnitsMax) break;
    kept.unshift(line);
  }
  return kept.join('\n');
};

/** How many items, from the first on, a compaction replaces (M2). */
export function compactable(items: readonly Item[]): number {
  let from = items.length;
  let paid = false;
  for (; from > 0; from--) {
    const item = items[from - 1];
    if (item === undefined || isSampled(item)) break;
    paid ||= answeredCallId(item) !== null;
  }
  if (!paid) return from;
  for (; from > 0; from--) {
    const item = items[from - 1];
    if (item === undefined || !isSampled(item)) break;
  }
  return from;
}
