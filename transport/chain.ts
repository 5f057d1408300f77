/**
 * The chain dialect, the shape that shipped: a turn is a Response, the next one names it as `previous_response_id`.
 * State lives with the connection: transcript, rendered tokens, preamble and the conversation the sampler knows.
 */
import type { Kept, LiveResponse } from '../engine/index.js';
import type { CreateEvent } from './client-events.js';
import { continuable, previousId } from './continuation.js';
import { SerialDialect, type Continuity } from './serial.js';
import type { Dialect, DialectParts } from './session.js';

class ConnectionCache implements Continuity {
  readonly #parts: DialectParts;
  /** The newest ended Responses of this socket, oldest first. */
  readonly #kept = new Map<string, LiveResponse>();

  constructor(parts: DialectParts) {
    this.#parts = parts;
  }

  keptFor(event: CreateEvent): Kept | null {
    const id = previousId(event['previous_response_id']);
    if (id === null) return null;
    const cached = this.#kept.get(id);
    if (cached !== undefined) return cached.kept;
    // What was not stored is known to its own socket alone.
    const { host, credential } = this.#parts;
    const response = continuable(host.engine, credential, id, (found) => found.request.store !== false);
    return response?.kept ?? null;
  }

  ended(event: CreateEvent, response: LiveResponse): void {
    if (response.settlement?.outcome.status === 'failed') this.refused(event);
    else this.#keep(response);
  }

  /** A continuation that fails takes its parent with it. */
  refused(event: CreateEvent): void {
    const id = previousId(event['previous_response_id']);
    if (id !== null) this.#kept.delete(id);
  }

  closed(): void {
    this.#kept.clear();
  }

  #keep(response: LiveResponse): void {
    this.#kept.set(response.id, response);
    const oldest = this.#kept.keys().next();
    const { keptResponsesMax } = this.#parts.host.engine.limits;
    if (this.#kept.size > keptResponsesMax && oldest.done === false) this.#kept.delete(oldest.value);
  }
}

export function chainDialect(parts: DialectParts): Dialect {
  return new SerialDialect(parts, new ConnectionCache(parts));
}
