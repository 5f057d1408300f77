/**
 * The append dialect, this project's own: a rollout is one Response, many may share a socket, and a Response outlives
 * the socket it was created on.
 */
import { ProtocolError, toProtocolError, type LiveResponse } from '../engine/index.js';
import type { ClientEvent, CreateEvent } from './client-events.js';
import type { Feed } from './outbox.js';
import { continuable } from './continuation.js';
import type { Holder } from './holders.js';
import type { Dialect, DialectParts } from './session.js';

type Append = Extract<ClientEvent, { type: 'response.append' }>;
type Attach = Extract<ClientEvent, { type: 'response.attach' }>;
type Cancel = Extract<ClientEvent, { type: 'response.cancel' }>;

export class AppendDialect implements Dialect, Holder {
  readonly #parts: DialectParts;
  /** The Responses this socket holds or follows. */
  readonly #feeds = new Map<string, Feed>();
  /** Responses that a newer attach took from this socket; at most as many as it could hold. */
  readonly #lost = new Set<string>();
  #creating = 0;

  constructor(parts: DialectParts) {
    this.#parts = parts;
  }

  onEvent(event: ClientEvent): void {
    switch (event.type) {
      case 'response.create':
        void this.#create(event);
        break;
      case 'response.append':
        void this.#append(event);
        break;
      case 'response.cancel':
        this.#cancel(event);
        break;
      case 'response.attach':
        this.#attach(event);
        break;
      default:
    }
  }

  onClosed(): void {
    for (const { response } of this.#feeds.values()) this.#parts.host.holders.leave(response, this);
    this.#feeds.clear();
  }

  superseded(response: LiveResponse): void {
    const feed = this.#feeds.get(response.id);
    if (feed === undefined) return;
    this.#parts.session.unfollow(feed);
    this.#feeds.delete(response.id);
    this.#lost.add(response.id);
    if (this.#lost.size > this.#parts.host.engine.limits.socketResponsesMax)
      for (const oldest of [...this.#lost].slice(0, 1)) this.#lost.delete(oldest);
    this.#parts.session.refuse(superseded(response.id), this.#place(response));
  }

  lost(response: LiveResponse): void {
    const message = `The server is shutting down and response ${response.id} with it; start again from your transcript.`;
    this.#parts.session.refuse(new ProtocolError('server_shutting_down', message), this.#place(response));
  }

  async #create(event: CreateEvent): Promise<void> {
    const { host, session, credential } = this.#parts;
    const known = host.creates.find(credential, event.event_id);
    this.#creating++;
    try {
      const create = known ?? this.#admit(event);
      if (known === null) host.creates.remember(credential, event.event_id, create);
      const response = await create;
      if (session.open) this.#hold(response, -1);
      else if (known === null) {
        // The socket closed while the create was being admitted: it starts its grace time like any other.
        host.holders.take(response, this);
        host.holders.leave(response, this);
      }
    } catch (fault) {
      session.refuse(fault, { eventId: event.event_id });
    } finally {
      this.#creating--;
    }
  }

  async #admit(event: CreateEvent): Promise<LiveResponse> {
    const { host, credential, design } = this.#parts;
    host.requireOpen();
    const { socketResponsesMax } = host.engine.limits;
    const held = [...this.#feeds.values()].filter((feed) => feed.response.settlement === null).length;
    if (held + this.#creating > socketResponsesMax)
      throw new ProtocolError(
        'rate_limit_exceeded',
        `At most ${socketResponsesMax} responses at once on one socket; wait for one to end or open another socket.`,
        { retryAfterSeconds: 1 },
      );
    const { type: _, event_id: __, ...request } = event;
    const kept = continuable(host.engine, credential, request['previous_response_id']);
    return host.engine.create(request, {
      credential,
      kept: kept?.kept ?? null,
      ...host.tokenizerFor(design),
    });
  }

  async #append(event: Append): Promise<void> {
    const { session } = this.#parts;
    try {
      await this.#held(event.response_id).append(event.input);
    } catch (fault) {
      const error = toProtocolError(fault);
      session.send({
        type: 'response.append.failed',
        sequence_number: this.#lastNumber(event.response_id),
        response_id: event.response_id,
        ...(event.event_id === undefined ? {} : { event_id: event.event_id }),
        input: event.input,
        error: { ...error.toBody() },
      });
    }
  }

  #cancel(event: Cancel): void {
    try {
      const response = this.#held(event.response_id);
      if (response.settlement !== null)
        throw new ProtocolError('response_already_completed', `Response ${response.id} has already ended.`, {
          param: 'response_id',
        });
      response.cancel();
    } catch (fault) {
      this.#refuse(fault, event);
    }
  }

  #attach(event: Attach): void {
    const { session } = this.#parts;
    try {
      const response = this.#find(event.response_id);
      const startingAfter = event.starting_after ?? -1;
      if (startingAfter > response.lastNumber)
        throw new ProtocolError(
          'invalid_value',
          `starting_after is ${startingAfter}, but the newest event is ${response.lastNumber}.`,
          { param: 'starting_after' },
        );
      response.entries(startingAfter + 1, 0); // Refuses a place that is no longer kept.
      session.send({
        type: 'response.attached',
        sequence_number: response.lastNumber,
        response_id: response.id,
        ...(event.event_id === undefined ? {} : { event_id: event.event_id }),
        response: response.snapshot(),
        required_input: [...response.requiredInput],
      });
      this.#hold(response, startingAfter);
    } catch (fault) {
      this.#refuse(fault, event);
    }
  }

  /** Follows a Response from a place in its log, and takes it over from whoever held it. */
  #hold(response: LiveResponse, startingAfter: number): void {
    const { host, session } = this.#parts;
    const old = this.#feeds.get(response.id);
    if (old !== undefined) session.unfollow(old);
    this.#lost.delete(response.id);
    const feed = session.follow(response, startingAfter, true, () => this.#forget(feed));
    this.#feeds.set(response.id, feed);
    host.holders.take(response, this);
  }

  #forget(feed: Feed): void {
    if (this.#feeds.get(feed.response.id) === feed) this.#feeds.delete(feed.response.id);
  }

  #find(id: string): LiveResponse {
    const { host, credential } = this.#parts;
    const response = host.engine.get(id, credential);
    if (response !== null) return response;
    throw new ProtocolError('response_not_found', `No response "${id.slice(0, 128)}" is known here.`, {
      param: 'response_id',
    });
  }

  /** A Response this socket may append to and cancel. Ended ones too, so that a resend after the end is answered. */
  #held(id: string): LiveResponse {
    const response = this.#find(id);
    const holder = this.#parts.host.holders.holderOf(response);
    if (holder === this || (holder === null && response.settlement !== null)) return response;
    if (this.#lost.has(id)) throw superseded(id);
    throw new ProtocolError(
      'not_attached',
      `This socket does not hold response ${id}; send response.attach for it first.`,
      { param: 'response_id' },
    );
  }

  #refuse(fault: unknown, event: Attach | Cancel): void {
    const parts = { eventId: event.event_id, responseId: event.response_id };
    this.#parts.session.refuse(fault, { ...parts, sequenceNumber: this.#lastNumber(event.response_id) });
  }

  #place(response: LiveResponse) {
    return { responseId: response.id, sequenceNumber: Math.max(0, response.lastNumber) };
  }

  #lastNumber(id: string): number {
    const { host, credential } = this.#parts;
    return Math.max(0, host.engine.get(id, credential)?.lastNumber ?? 0);
  }
}

function superseded(id: string): ProtocolError {
  return new ProtocolError(
    'superseded',
    `Another socket has attached to response ${id}; this one no longer receives its events or may append to it.`,
    { param: 'response_id' },
  );
}
