/** The whole streams among all that a connection was sent, each held against the grammar, whoever looks at it or not. */
import type { ServerEvent } from '../../engine/index.js';
import { checkStream, ownerOf } from './events.js';
import { isTerminal } from './kinds.js';

/** Events that belong to no log: they may stand anywhere. */
const unlogged = /^error$|\.attached$|\.append\.failed$|\.steer\.|\.inject\./;

/** On a per-turn socket a response's events follow one another on their lane. */
function laneOf(event: ServerEvent): string {
  return 'stream_id' in event && typeof event['stream_id'] === 'string' ? event['stream_id'] : '';
}

/** On a native socket every event names its Response, or shows it. */
function isNative(events: readonly ServerEvent[]): boolean {
  return events.some((event) => 'output_index' in event && 'response_id' in event);
}

/**
 * Checks every stream that began at 0, came without a gap, and ended. One that was attached to in the middle, replayed or
 * cut is left to its test.
 */
export function checkWholeStreams(events: readonly ServerEvent[]): void {
  const logged = events.filter(({ type }) => !unlogged.test(type));
  const native = isNative(logged);
  const open = new Map<string, ServerEvent[]>();
  for (const event of logged) {
    const key = native ? (ownerOf(event) ?? '') : laneOf(event);
    if (event.type === 'response.created') open.set(key, []);
    const stream = open.get(key);
    if (stream === undefined) continue;
    if (event.sequence_number === stream.length) stream.push(event);
    else open.delete(key);
    if (!isTerminal(event) || !open.delete(key)) continue;
    checkStream(stream);
  }
}
