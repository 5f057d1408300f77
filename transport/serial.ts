/**
 * One create at a time, in the order they came: what the chain and replay dialects have in common. A second create
 * while one runs waits its turn; no event of it comes before the terminal event of the first.
 */
import { ProtocolError, type Kept, type LiveResponse } from '../engine/index.js';
import type { ClientEvent, CreateEvent } from './client-events.js';
import { shuttingDown } from './host.js';
import type { Dialect, DialectParts } from './session.js';

/** Where a dialect differs: what a create continues from, and what becomes of its Response. */
export interface Continuity {
  /** Looked up when the create starts, not when it arrives. @throws ProtocolError where there is nothing. */
  keptFor(event: CreateEvent): Kept | null;
  /** The Response has ended and its terminal event is sent. */
  ended(event: CreateEvent, response: LiveResponse): void;
  /** The create was refused. */
  refused(event: CreateEvent): void;
  closed(): void;
}

export class SerialDialect implements Dialect {
  readonly #parts: DialectParts;
  readonly #continuity: Continuity;
  readonly #waiting: CreateEvent[] = [];
  #running: LiveResponse | 'starting' | null = null;

  constructor(parts: DialectParts, continuity: Continuity) {
    this.#parts = parts;
    this.#continuity = continuity;
  }

  onEvent(event: ClientEvent): void {
    if (event.type === 'response.create') this.#enqueue(event);
    else if (event.type !== 'response.processed') {
      const eventId = event.event_id;
      this.#parts.session.refuse(
        new ProtocolError(
          'unknown_event_type',
          `${event.type} belongs to the append design; this socket chose another.`,
          {
            param: 'type',
          },
        ),
        { eventId },
      );
    }
  }

  onDraining(): void {
    for (const { event_id: eventId } of this.#waiting.splice(0))
      this.#parts.session.refuse(shuttingDown(), { eventId });
  }

  /** Nobody can come back for a Response of this dialect, so the one that runs ends with its socket. */
  onClosed(): void {
    this.#waiting.length = 0;
    if (this.#running !== null && this.#running !== 'starting') this.#running.cancel('disconnected');
    this.#continuity.closed();
  }

  #enqueue(event: CreateEvent): void {
    const { host, session } = this.#parts;
    const { event_id: eventId } = event;
    const { socketQueueMax } = host.engine.limits;
    if (host.draining) {
      session.refuse(shuttingDown(), { eventId });
      return;
    }
    if (this.#running !== null && this.#waiting.length >= socketQueueMax) {
      const message = `At most ${socketQueueMax} creates may wait on one socket.`;
      const full = new ProtocolError('rate_limit_exceeded', message, { retryAfterSeconds: 1 });
      session.refuse(full, { eventId });
      return;
    }
    this.#waiting.push(event);
    if (this.#running === null) void this.#next();
  }

  async #next(): Promise<void> {
    const { session } = this.#parts;
    const event = session.open ? this.#waiting.shift() : undefined;
    if (event === undefined) {
      this.#running = null;
      return;
    }
    this.#running = 'starting';
    try {
      const response = await this.#admit(event);
      this.#parts.host.perTurn.add(response);
      this.#running = response;
      if (!session.open) response.cancel('disconnected');
      else session.follow(response, -1, false, () => this.#over(event, response));
    } catch (fault) {
      this.#continuity.refused(event);
      session.refuse(fault, { eventId: event.event_id });
      void this.#next();
    }
  }

  async #admit(event: CreateEvent): Promise<LiveResponse> {
    const { host, credential, design } = this.#parts;
    host.requireOpen();
    const kept = this.#continuity.keptFor(event);
    const { type: _, event_id: __, ...request } = event;
    return host.engine.create(request, {
      credential,
      kept,
      handOff: 'complete',
      ...host.tokenizerFor(design),
    });
  }

  #over(event: CreateEvent, response: LiveResponse): void {
    this.#continuity.ended(event, response);
    void this.#next();
  }
}
