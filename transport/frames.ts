/**
 * Log entries as the text of their events, serialised once per event. Deltas, nine tenths of all events, skip
 * JSON.stringify. A text says what the projection says, in whatever order of fields.
 */
import type { ProtocolError, ServerEvent } from '../engine/index.js';
import type { StreamEntry } from '../engine/log-entry.js';

/** Takes an event's type and its JSON, in the order in which they are sent. */
export type Put = (type: string, text: string) => void;

/** Where an item's event stands in what is shown. */
export interface Placed {
  readonly number: number;
  readonly outputIndex: number;
  /** Fields that say whose event it is, as JSON behind a comma; or nothing. */
  readonly tail: string;
}

/** Native events name their Response, because many share a socket. Ids are our own and need no escaping. */
export function responseTail(id: string): string {
  return `,"response_id":"${id}"`;
}

/** Events of a named lane carry its name, whose characters need no escaping. */
export function laneTail(streamId: string | null): string {
  return streamId === null ? '' : `,"stream_id":"${streamId}"`;
}

/** An entry whose event is the entry itself: what the event adds is written around it. */
export function itemText(entry: StreamEntry, placed: Placed): string {
  if ('delta' in entry) return deltaText(entry, placed);
  const logprobs = entry.type === 'response.output_text.done' ? ',"logprobs":[]' : '';
  const { number, outputIndex, tail } = placed;
  const moved = entry.output_index === outputIndex ? entry : { ...entry, output_index: outputIndex };
  return `${JSON.stringify(moved).slice(0, -1)},"sequence_number":${number}${tail}${logprobs}}`;
}

/** Ids and types are our own and need no escaping; only the delta is quoted. */
function deltaText(
  entry: Extract<StreamEntry, { delta: string }>,
  { number, outputIndex, tail }: Placed,
): string {
  const inContent = 'content_index' in entry ? `,"content_index":${entry.content_index}` : '';
  const inSummary = 'summary_index' in entry ? `,"summary_index":${entry.summary_index}` : '';
  const logprobs = entry.type === 'response.output_text.delta' ? ',"logprobs":[]' : '';
  return `{"type":"${entry.type}","sequence_number":${number}${tail},"output_index":${outputIndex},"item_id":"${entry.item_id}"${inContent}${inSummary},"delta":${JSON.stringify(entry.delta)}${logprobs}}`;
}

/** An event that shows a response whole, whose JSON is there already. */
export function wholeText(
  type: string,
  { number, json, tail }: Pick<Placed, 'number' | 'tail'> & { readonly json: string },
): string {
  return `{"type":"${type}","sequence_number":${number},"response":${json}${tail}}`;
}

/** An event of its own, and the lane it belongs to. */
export function eventText(event: ServerEvent, streamId: string | null = null): string {
  const text = JSON.stringify(event);
  return streamId === null ? text : `${text.slice(0, -1)}${laneTail(streamId)}}`;
}

export interface ErrorFrameParts {
  readonly sequenceNumber?: number;
  readonly eventId?: string | undefined;
  readonly responseId?: string | undefined;
}

/** The one shape of error that every client understands. Not logged, so it has the last logged number. */
export function errorEvent(error: ProtocolError, parts: ErrorFrameParts = {}): ServerEvent {
  const body = error.toBody();
  return {
    type: 'error',
    status: error.status,
    sequence_number: parts.sequenceNumber ?? 0,
    ...(parts.eventId === undefined ? {} : { event_id: parts.eventId }),
    ...(parts.responseId === undefined ? {} : { response_id: parts.responseId }),
    error: { ...body },
    // Codex reads the headers beside the error, the SDKs within it (P68).
    ...(body.headers === undefined ? {} : { headers: body.headers }),
  };
}
