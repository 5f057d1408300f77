/** The client's end of a socket under test, and what it looks for among the events. */
import assert from 'node:assert/strict';

import { serverEventSchema, type ServerEvent } from '../../engine/index.js';
import type { Closing } from '../loopback.js';
import { WireClient, type TClient } from './adapters.js';
import { isPause, type EventOf } from './kinds.js';
import { checkWholeStreams } from './streams.js';

export { isPause, isTerminal, type EventOf } from './kinds.js';

type Match = (event: ServerEvent) => boolean;

/** Keeps every frame from the first moment, and holds each against the schema of its event. */
export class TPeer implements AsyncDisposable {
  readonly #client: TClient;
  readonly #received: ServerEvent[] = [];
  #markers = 0;

  constructor(client: TClient) {
    this.#client = client;
  }

  get closed(): Promise<Closing> {
    return this.#client.closed;
  }

  /** Every event so far, taken or not. */
  get received(): readonly ServerEvent[] {
    const frames = this.#client.frames.received;
    for (const frame of frames.slice(this.#received.length))
      this.#received.push(serverEventSchema.parse(JSON.parse(frame)));
    return this.#received;
  }

  get bytesReceived(): number {
    return this.#client.frames.received.reduce((sum, frame) => sum + Buffer.byteLength(frame), 0);
  }

  send(event: object): void {
    this.sendText(JSON.stringify(event));
  }

  sendText(text: string): void {
    this.#client.send(text);
  }

  sendBinary(bytes: Uint8Array = Uint8Array.of(1, 2, 3)): void {
    if (this.#client instanceof WireClient) this.#client.webSocket.send(bytes);
    else this.#client.sendBinary();
  }

  /** Sends several events in one TCP segment. */
  sendTogether(...events: readonly object[]): void {
    const tcp = this.#client instanceof WireClient ? this.#client.tcp : null;
    tcp?.cork();
    for (const event of events) this.send(event);
    tcp?.uncork();
  }

  /** The next event. Rejects when the socket has closed and nothing is left. */
  async next(): Promise<ServerEvent> {
    return serverEventSchema.parse(JSON.parse(await this.#client.frames.next()));
  }

  /** Takes events up to the first that matches, and gives that one. */
  async until<Type extends ServerEvent['type']>(match: Type): Promise<EventOf<Type>>;
  async until(match: ServerEvent['type'] | Match): Promise<ServerEvent>;
  async until(match: ServerEvent['type'] | Match): Promise<ServerEvent> {
    const taken = await this.through(match);
    const last = taken.at(-1);
    assert.ok(last);
    return last;
  }

  /** Takes events up to the first that matches, and gives them all. */
  async through(match: ServerEvent['type'] | Match): Promise<ServerEvent[]> {
    const matches = typeof match === 'string' ? (event: ServerEvent) => event.type === match : match;
    const taken: ServerEvent[] = [];
    for (;;) {
      const event = await this.next();
      taken.push(event);
      if (matches(event)) return taken;
    }
  }

  /**
   * Takes all that the server had to say before now: two frames that it must refuse, one after the other, because a
   * refusal may overtake events that leave in the same write.
   */
  async rest(): Promise<ServerEvent[]> {
    const before: ServerEvent[] = [];
    for (const _round of [1, 2]) {
      const event_id = `marker ${++this.#markers}`;
      this.send({ type: 'marker', event_id });
      const taken = await this.through((event) => event.type === 'error' && event.event_id === event_id);
      before.push(...taken.slice(0, -1));
    }
    return before;
  }

  /** Sends a create and gives the id of its Response. */
  async create(fields: object = {}): Promise<string> {
    this.send({ type: 'response.create', model: 'm', input: 'hi', ...fields });
    return (await this.until('response.created')).response.id;
  }

  /** Sends a create and takes its events to the hand-off or the terminal event. */
  async turn(fields: object = {}): Promise<ServerEvent[]> {
    this.send({ type: 'response.create', model: 'm', input: 'hi', ...fields });
    return this.through(isPause);
  }

  append(responseId: string, ...input: readonly unknown[]): void {
    this.send({ type: 'response.append', response_id: responseId, input });
  }

  attach(responseId: string, startingAfter?: number): void {
    this.send({ type: 'response.attach', response_id: responseId, starting_after: startingAfter });
  }

  cancel(responseId: string): void {
    this.send({ type: 'response.cancel', response_id: responseId });
  }

  /** Breaks the connection without a close frame. */
  drop(): void {
    this.#client.drop();
  }

  close(): void {
    this.#client.close();
  }

  pause(): void {
    this.#client.pause();
  }

  resume(): void {
    this.#client.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.resume();
    this.close();
    await this.closed;
    checkWholeStreams(this.received);
  }
}
