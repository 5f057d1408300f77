/** What tests ask of a series of events. */
import assert from 'node:assert/strict';

import { checkGrammar, type ResponseObject, type ServerEvent } from '../../engine/index.js';
import type { EventOf } from './kinds.js';

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

/** Events that only the native dialect has. */
const nativeTypes = new Set<string>([
  'response.done',
  'response.append.accepted',
  'response.append.failed',
  'response.attached',
]);

/**
 * Holds the whole stream of one Response against the grammar (P49 to P62), and every event of it against its number: a
 * stream that was filtered by its Response has no other numbers in it.
 */
export function checkStream(events: readonly ServerEvent[]): void {
  assert.deepEqual(
    numbersOf(events),
    events.map((_, index) => index),
  );
  checkGrammar(events, { native: events.some(({ type }) => nativeTypes.has(type)) });
}
