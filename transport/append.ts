/**
 * The append dialect, this project's own: a rollout is one Response, many may share a socket, and a Response outlives
 * the socket it was created on.
 */
import { ProtocolError, toProtocolError, type AppendAccepted, type LiveResponse } from '../engine/index.js';
import type { ClientEvent, CreateEvent } from './client-events.js';
import type { Holder } from './holders.js';
import { Holds } from './holds.js';
import {
  admitNative,
  endedError,
  lostError,
  placeOf,
  requireKnown,
  requirePlace,
  supersededError,
} from './native.js';
import type { Dialect, DialectParts } from './session.js';
import { NativeView } from './view.js';

type Append = Extract<ClientEvent, { type: 'response.append' }>;
type Attach = Extract<ClientEvent, { type: 'response.attach' }>;
type Cancel = Extract<ClientEvent, { type: 'response.cancel' }>;

export class AppendDialect implements Dialect, Holder {
  readonly #parts: DialectParts;
  readonly #holds: Holds;
  #creating = 0;

  constructor(parts: DialectParts) {
    this.#parts = parts;
    this.#holds = new Holds(parts.host.engine.limits.socketResponsesMax);
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
      case 'response.steer':
      case 'response.inject':
        this.#parts.session.refuse(
          new ProtocolError(
            'unknown_event_type',
            `${event.type} belongs to the per-turn designs; here it is response.append.`,
            { param: 'type' },
          ),
          { eventId: event.event_id },
        );
        break;
      case 'response.processed':
    }
  }

  onClosed(): void {
    for (const response of this.#holds.responses) this.#parts.host.holders.leave(response, this);
    this.#holds.clear();
  }

  superseded(response: LiveResponse): void {
    const feed = this.#holds.feedOf(response.id);
    if (feed === null) return;
    this.#parts.session.unfollow(feed);
    this.#holds.lose(feed);
    this.#parts.session.refuse(supersededError(response.id), placeOf(response));
  }

  lost(response: LiveResponse): void {
    this.#parts.session.refuse(lostError(response.id), placeOf(response));
  }

  async #create(event: CreateEvent): Promise<void> {
    const { host, session, credential } = this.#parts;
    const known = host.creates.find(credential, event.event_id);
    this.#creating++;
    try {
      if (known !== null) this.#rejoin(await known, event);
      else {
        const create = this.#admit(event);
        host.creates.remember(credential, event.event_id, create);
        this.#begin(await create);
      }
    } catch (fault) {
      session.refuse(fault, { eventId: event.event_id });
    } finally {
      this.#creating--;
    }
  }

  async #admit(event: CreateEvent): Promise<LiveResponse> {
    this.#parts.host.requireOpen();
    this.#holds.requireRoom(this.#creating);
    const { type: _, event_id: __, ...fields } = event;
    return admitNative(this.#parts, fields, 'ws');
  }

  #begin(response: LiveResponse): void {
    const { host, session } = this.#parts;
    if (session.open) this.#hold(response, -1);
    else {
      // The socket closed while the create was being admitted: the grace time starts as it would have.
      host.holders.take(response, this);
      host.holders.leave(response, this);
    }
  }

  /** A create that was sent again: the Response it made, from its first event on. */
  #rejoin(id: string, event: CreateEvent): void {
    if (!this.#parts.session.open) return;
    try {
      const response = requireKnown(this.#parts, id);
      this.#holds.requireRoom(this.#creating, id);
      response.entries(0, 0); // Refuses where the first events are no longer kept.
      this.#hold(response, -1);
    } catch (fault) {
      this.#refuse(fault, { event_id: event.event_id, response_id: id });
    }
  }

  async #append(event: Append): Promise<void> {
    const { host, session } = this.#parts;
    try {
      const { interrupt = false, input } = event;
      this.#acknowledge(await this.#held(event.response_id).append(input, { interrupt }));
    } catch (fault) {
      const error = toProtocolError(fault);
      if (error !== fault) host.failed(fault);
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

  /** The log brings a new acknowledgement to this socket; a resend's, which it has brought before, is sent again. */
  #acknowledge(accepted: AppendAccepted): void {
    const { response_id, sequence_number } = accepted;
    if (this.#holds.brings(response_id, sequence_number) || this.#holds.isLost(response_id)) return;
    this.#parts.session.send(accepted);
  }

  #cancel(event: Cancel): void {
    try {
      const response = this.#held(event.response_id);
      if (response.settlement !== null) throw endedError(response.id);
      response.cancel();
    } catch (fault) {
      this.#refuse(fault, event);
    }
  }

  #attach(event: Attach): void {
    const { session } = this.#parts;
    try {
      const response = requireKnown(this.#parts, event.response_id);
      const startingAfter = event.starting_after ?? -1;
      requirePlace(response, startingAfter);
      this.#holds.requireRoom(this.#creating + 1, response.id);
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
    const old = this.#holds.feedOf(response.id);
    if (old !== null) session.unfollow(old);
    const feed = session.follow(new NativeView(response, startingAfter), () => this.#holds.remove(feed));
    this.#holds.add(feed);
    host.holders.take(response, this);
  }

  /** A Response this socket may append to and cancel. Ended ones too, so that a resend after the end is answered. */
  #held(id: string): LiveResponse {
    const response = requireKnown(this.#parts, id);
    if (response.settlement !== null || this.#parts.host.holders.holderOf(response) === this) return response;
    if (this.#holds.isLost(id)) throw supersededError(id);
    throw new ProtocolError(
      'not_attached',
      `This socket does not hold response ${id}; send response.attach for it first.`,
      { param: 'response_id' },
    );
  }

  #refuse(fault: unknown, event: Pick<Attach, 'event_id' | 'response_id'>): void {
    const parts = { eventId: event.event_id, responseId: event.response_id };
    this.#parts.session.refuse(fault, { ...parts, sequenceNumber: this.#lastNumber(event.response_id) });
  }

  #lastNumber(id: string): number {
    const { host, credential } = this.#parts;
    return Math.max(0, host.engine.get(id, credential)?.lastNumber ?? 0);
  }
}
