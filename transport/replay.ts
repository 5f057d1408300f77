/**
 * The replay dialect: every create brings the whole history and nothing is kept between turns. Whether rendered tokens
 * are looked up by content is the design's affair, not the dialect's.
 */
import type { Kept } from '../engine/index.js';
import type { CreateEvent } from './client-events.js';
import { notFound, previousId } from './continuation.js';
import { SerialDialect, type Continuity } from './serial.js';
import type { Dialect, DialectParts } from './session.js';

const nothingKept: Continuity = {
  keptFor(event: CreateEvent): Kept | null {
    const id = previousId(event['previous_response_id']);
    if (id !== null) throw notFound(id);
    return null;
  },
  ended: () => undefined,
  refused: () => undefined,
  closed: () => undefined,
};

export function replayDialect(parts: DialectParts): Dialect {
  return new SerialDialect(parts, nothingKept);
}
