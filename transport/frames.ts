/** Log entries as frames, serialised once per event. Deltas, nine tenths of all frames, skip JSON.stringify. */
import type { LogEntry, LiveResponse, ProtocolError, ServerEvent } from '../engine/index.js';

/** An entry as the text of its frame. Native frames name their Response, because many share a socket. */
export function entryFrame(entry: LogEntry, number: number, response: LiveResponse, named: boolean): string {
  if ('delta' in entry) return deltaFrame(entry, number, named ? response.id : null);
  const event = response.event(entry, number);
  return JSON.stringify(named && !('response' in event) ? { ...event, response_id: response.id } : event);
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
