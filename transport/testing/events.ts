/** What tests ask of a series of events. */
import assert from 'node:assert/strict';

import type { ResponseObject, ServerEvent } from '../../engine/index.js';
import { isTerminal, type EventOf } from './peer.js';

export function ofType<Type extends ServerEvent['type']>(
  events: readonly ServerEvent[],
  type: Type,
): EventOf<Type>[] {
  return events.filter((event): event is EventOf<Type> => event.type === type);
}

/** The Response that an event shows whole, or null. */
export function responseIn(event: ServerEvent): ResponseObject | null {
  switch (event.type) {
    case 'response.created':
    case 'response.in_progress':
    case 'response.completed':
    case 'response.failed':
    case 'response.incomplete':
    case 'response.attached':
      return event.response;
    default:
      return null;
  }
}

/** The id of the Response that a native event belongs to. */
export function ownerOf(event: ServerEvent): string | undefined {
  const named =
    'response_id' in event && typeof event['response_id'] === 'string' ? event['response_id'] : undefined;
  return named ?? responseIn(event)?.id;
}

/** The types of events, without those inside an item. */
export function outline(events: readonly ServerEvent[]): string[] {
  return events
    .map(({ type }) => type)
    .filter((type) => !/output_item|content_part|output_text|arguments|summary|input\./.test(type));
}

/** Ids of the calls that were announced, in call order. */
export function callIds(events: readonly ServerEvent[]): string[] {
  return ofType(events, 'response.output_item.added').flatMap(({ item }) =>
    'call_id' in item && typeof item.call_id === 'string' ? [item.call_id] : [],
  );
}

/**
 * The events with every id replaced by the order of its first appearance, and without dates, so that two runs can be
 * compared whole.
 */
export function anonymous(events: readonly unknown[]): unknown[] {
  const names = new Map<string, string>();
  const undated = JSON.stringify(events).replace(/"(created|completed)_at":\d+/g, '"$1_at":0');
  const text = undated.replace(/"(resp|msg|rs|fc|ctc|call|item)_\d+"/g, (id, prefix) => {
    const known = names.get(id) ?? `"${prefix} ${names.size}"`;
    names.set(id, known);
    return known;
  });
  return JSON.parse(text) as unknown[];
}

export function numbersOf(events: readonly ServerEvent[]): number[] {
  return events.map((event) => event.sequence_number);
}

function textOf(item: object): string | null {
  if ('content' in item && Array.isArray(item.content))
    return item.content.map((part: { text?: string }) => part.text ?? '').join('');
  if ('summary' in item && Array.isArray(item.summary))
    return item.summary.map((part: { text?: string }) => part.text ?? '').join('');
  if ('arguments' in item) return String(item.arguments);
  return 'input' in item ? String(item.input) : null;
}

/** Events of one item, by where they may stand. */
const openings = new Set(['response.content_part.added', 'response.reasoning_summary_part.added']);
const closings = new Set(['response.content_part.done', 'response.reasoning_summary_part.done']);

type InItem = Extract<ServerEvent, { output_index: number }>;

function inItem(event: ServerEvent): event is InItem {
  return 'output_index' in event;
}

interface Open {
  readonly id: string;
  readonly index: number;
  text: string;
  parts: number;
}

/**
 * Holds the whole stream of one Response against the grammar (P49 to P54): numbers from 0 without a gap, one created,
 * one terminal event and nothing after it, items in brackets, texts equal to their deltas, output equal to the items.
 */
export function checkStream(events: readonly ServerEvent[]): void {
  assert.deepEqual(
    numbersOf(events),
    events.map((_, index) => index),
  );
  assert.equal(events[0]?.type, 'response.created');
  assert.equal(ofType(events, 'response.created').length, 1);
  assert.deepEqual(
    events.flatMap((event, index) => (isTerminal(event) ? [index] : [])),
    [events.length - 1],
  );
  const open = new Map<number, Open>();
  const items: object[] = [];
  for (const event of events.filter(inItem)) {
    if (event.type === 'response.output_item.added') {
      assert.equal(event.output_index, items.length, 'items open in ascending order, without a gap');
      items.push(event.item);
      open.set(event.output_index, { id: event.item.id, index: event.output_index, text: '', parts: 0 });
      continue;
    }
    const item = open.get(event.output_index);
    assert.ok(item, `${event.type} outside its item`);
    if (event.type === 'response.output_item.done') {
      assert.equal(event.item.id, item.id);
      assert.equal(textOf(event.item) ?? '', item.text);
      assert.equal(item.parts, 0, 'a part is still open');
      items[event.output_index] = event.item;
      open.delete(event.output_index);
      continue;
    }
    assert.equal(event.item_id, item.id);
    if (openings.has(event.type)) item.parts++;
    if (closings.has(event.type)) item.parts--;
    if ('delta' in event) item.text += event.delta;
    if ('text' in event || 'arguments' in event || 'input' in event)
      assert.equal(textOf(doneOf(event)), item.text);
    if (event.type === 'response.output_text.delta') assert.equal(item.parts, 1, 'text outside a part');
  }
  assert.equal(open.size, 0, 'an item is still open');
  const last = events.at(-1);
  assert.ok(last);
  const known = (item: object) => ({ ...item, status: undefined });
  assert.deepEqual(responseIn(last)?.output.map(known), items.map(known));
}

function doneOf(event: object): object {
  return 'text' in event ? { input: event.text } : event;
}
