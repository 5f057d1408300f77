/**
 * Log entries as frames, serialised once per event. Deltas, nine tenths of all frames, skip JSON.stringify. A frame
 * says what `nativeEvent` says, in whatever order of fields.
 */
import type { LogEntry, LiveResponse, ProtocolError, ServerEvent } from '../engine/index.js';
import type { StreamEntry } from '../engine/log-entry.js';

/** An entry as the text of its frame. Native frames name their Response, because many share a socket. */
export function entryFrame(entry: LogEntry, number: number, response: LiveResponse, named: boolean): string {
  const responseId = named ? response.id : null;
  if ('delta' in entry) return deltaFrame(entry, number, responseId);
  switch (entry.type) {
    case 'response.created':
    case 'response.in_progress':
    case 'response.settled':
    case 'response.done':
    case 'response.append.accepted':
      return JSON.stringify(response.event(entry, number));
    default:
      return streamFrame(entry, number, responseId);
  }
}

/** An entry whose event is the entry itself: what the event adds is written behind it, and nothing is copied. */
function streamFrame(
  entry: Exclude<StreamEntry, { delta: string }>,
  number: number,
  responseId: string | null,
): string {
  const logprobs = entry.type === 'response.output_text.done' ? ',"logprobs":[]' : '';
  const id = responseId === null ? '' : `,"response_id":"${responseId}"`;
  return `${JSON.stringify(entry).slice(0, -1)},"sequence_number":${number}${id}${logprobs}}`;
}

/** Ids and types are our own and need no escaping; only the delta is quoted. */
function deltaFrame(
  entry: Extract<LogEntry, { delta: string }>,
  number: number,
  responseId: string | null,
): string {
  const front = `{"type":"${entry.type}","sequence_number":${number}${responseId === null ? '' : `,"response_id":"${responseId}"`},"output_index":${entry.output_index},"item_id":"${entry.item_id}"`;
  const delta = JSON.stringify(entry.delta);
  switch (entry.type) {
    case 'response.output_text.delta':
      return `${front},"content_index":${entry.content_index},"delta":${delta},"logprobs":[]}`;
    case 'response.reasoning_summary_text.delta':
      return `${front},"summary_index":${entry.summary_index},"delta":${delta}}`;
    default:
      return `${front},"delta":${delta}}`;
  }
}

export function eventFrame(event: ServerEvent): string {
  return JSON.stringify(event);
}

export interface ErrorFrameParts {
  readonly sequenceNumber?: number;
  readonly eventId?: string | undefined;
  readonly responseId?: string | undefined;
}

/** The one shape of error that every client understands. Not logged, so it has the last logged number. */
export function errorEvent(error: ProtocolError, parts: ErrorFrameParts = {}): ServerEvent {
  return {
    type: 'error',
    status: error.status,
    sequence_number: parts.sequenceNumber ?? 0,
    ...(parts.eventId === undefined ? {} : { event_id: parts.eventId }),
    ...(parts.responseId === undefined ? {} : { response_id: parts.responseId }),
    error: { ...error.toBody() },
  };
}
