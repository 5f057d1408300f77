/**
 * How far a history that a client sends in full is the history of a rollout: what a client does after it has lost its
 * connection. Pure.
 *
 *   H1  Everything but outputs has to stand in the same order with the same content; outputs are paired by call_id, for
 *       clients put them elsewhere than the transcript does. Reasoning that the rollout has may be missing, since clients
 *       drop it where they were given nothing to send back; the model goes on reading it.
 *   H2  The client may lack the end of the newest turn, which it was not shown, and nothing else.
 *   H3  What it has beyond the rollout are answers to calls that are owed, for each of them that it has seen, and, only
 *       where it lacks nothing, messages.
 *   H4  A history that answers a call twice is nobody's.
 */
import { answeredCallId, openedCallId } from './calls.js';
import { isOpaque, isSampled, type Item, type MessagePart, type InputPart } from './protocol/items.js';

/** A rollout as a history is held against it. */
export interface KnownHistory {
  /** Everything before the calls that are owed now, the newest turn and what has been received for it included. */
  readonly items: readonly Item[];
  /** Index, in `items`, at which the newest turn begins. */
  readonly newestTurn: number;
  /** Calls among them that nobody has answered yet. */
  readonly owed: readonly string[];
}

/**
 * @param kept what stands in the transcript.
 * @param sampled what the running turn has sampled; null between turns, where the newest turn stands at the end of `kept`.
 * @param received what the client has sent for the next turn.
 */
export function knownHistory(
  kept: readonly Item[],
  sampled: readonly Item[] | null,
  received: readonly Item[],
  owed: readonly string[],
): KnownHistory {
  const between = kept.slice(kept.findLastIndex((item) => !isSampled(item)) + 1).length;
  const items = [...kept, ...(sampled ?? []), ...received];
  const opened = new Set(items.map(openedCallId));
  return {
    items,
    newestTurn: sampled === null ? kept.length - between : kept.length,
    owed: owed.filter((callId) => opened.has(callId)),
  };
}

export interface Overlap {
  /** Items of the client's history, by index, that the rollout lacks: answers and messages. */
  readonly beyond: readonly number[];
  /** Sampled items of the newest turn that the client lacks. */
  readonly unseen: number;
}

type Part = MessagePart | InputPart;

function partsOf(content: string | readonly Part[]): readonly unknown[] {
  if (typeof content === 'string') return [content];
  return content.map((part) => {
    if (part.type === 'input_text' || part.type === 'output_text') return part.text;
    return part.type === 'refusal' ? { refusal: part.refusal } : part;
  });
}

/** The same value for the same content, in whatever order a client's language writes its fields. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return fields.map(([name, field]) => [name, sorted(field)]);
}

/** What an item says, without what belongs to its journey: ids of its own, status, annotations. */
function gist(item: Item): unknown {
  if (isOpaque(item)) {
    const { id: _, status: __, ...rest } = item;
    return sorted(rest);
  }
  switch (item.type) {
    case 'message':
      return [item.type, item.role, partsOf(item.content)];
    case 'function_call':
      return [item.type, item.call_id, item.namespace ?? '', item.name, item.arguments];
    case 'custom_tool_call':
      return [item.type, item.call_id, item.namespace ?? '', item.name, item.input];
    case 'reasoning':
      return [item.type, item.summary.map((part) => part.text)];
    default:
      return [item.type, item.call_id, partsOf(item.output)];
  }
}

function sameItem(left: Item, right: Item): boolean {
  if (left === right) return true;
  if (left.type !== right.type || !sameSecret(left, right)) return false;
  return JSON.stringify(gist(left)) === JSON.stringify(gist(right));
}

/** Only a client that asks for it is shown the encrypted content of reasoning, so it may lack it. */
function sameSecret(left: Item, right: Item): boolean {
  const [one, other] = [secretOf(left), secretOf(right)];
  return one === null || other === null || one === other;
}

function secretOf(item: Item): string | null {
  return item.type === 'reasoning' &&
    'encrypted_content' in item &&
    typeof item.encrypted_content === 'string'
    ? item.encrypted_content
    : null;
}

function isClientMessage(item: Item): boolean {
  return item.type === 'message' && !isSampled(item);
}

interface Split {
  readonly sequence: { readonly item: Item; readonly index: number }[];
  readonly outputs: ReadonlyMap<string, { readonly item: Item; readonly index: number }>;
}

function split(items: readonly Item[]): Split | null {
  const sequence: Split['sequence'] = [];
  const outputs = new Map<string, { item: Item; index: number }>();
  for (const [index, item] of items.entries()) {
    const callId = answeredCallId(item);
    if (callId === null) sequence.push({ item, index });
    else if (outputs.has(callId))
      return null; // H4
    else outputs.set(callId, { item, index });
  }
  return { sequence, outputs };
}

/** Our items, but for reasoning that the history lacks: clients drop it where they cannot give it back (H1). */
function withoutDropped(ours: Split['sequence'], theirs: Split['sequence']): Split['sequence'] {
  const held: Split['sequence'] = [];
  for (const each of ours) {
    const their = theirs[held.length];
    const dropped = each.item.type === 'reasoning' && their !== undefined && their.item.type !== 'reasoning';
    if (!dropped) held.push(each);
  }
  return held;
}

/** @returns null where the history is another one. */
export function overlapOf(history: readonly Item[], known: KnownHistory): Overlap | null {
  const theirs = split(history);
  const ours = split(known.items);
  if (theirs === null || ours === null) return null;
  const sequence = withoutDropped(ours.sequence, theirs.sequence);
  let shared = 0;
  for (; shared < theirs.sequence.length && shared < sequence.length; shared++) {
    const [left, right] = [theirs.sequence[shared], sequence[shared]];
    if (left === undefined || right === undefined || !sameItem(left.item, right.item)) return null;
  }
  const unseen = sequence.slice(shared);
  if (!unseen.every(({ item, index }) => index >= known.newestTurn && isSampled(item))) return null; // H2
  const beyond = theirs.sequence.slice(shared);
  if (!beyond.every(({ item }) => isClientMessage(item))) return null; // H3
  for (const [callId, { item }] of ours.outputs) {
    const answer = theirs.outputs.get(callId);
    if (answer === undefined || !sameItem(answer.item, item)) return null;
  }
  const lacked = new Set(unseen.map(({ item }) => openedCallId(item)));
  const due = new Set(known.owed.filter((callId) => !lacked.has(callId)));
  const answers = [...theirs.outputs].filter(([callId]) => !ours.outputs.has(callId));
  if (answers.length !== due.size || !answers.every(([callId]) => due.has(callId))) return null; // H3
  return {
    beyond: [...answers.map(([, { index }]) => index), ...beyond.map(({ index }) => index)].toSorted(
      (a, b) => a - b,
    ),
    unseen: unseen.length,
  };
}
