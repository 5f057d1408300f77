/**
 * One connection's protocol state. It may drop while Responses live on.
 *
 *   N1  A frame is parsed, dispatched and forgotten: the session never waits inside a callback (S4).
 *   N2  A frame that cannot be read is answered with one error and disturbs nothing else on the socket.
 *   N3  After the close nothing is written, and nothing of the session stays referenced.
 */
import { ProtocolError, toProtocolError, type ServerEvent } from '../engine/index.js';
import { parseFrame, RefusedFrame, type ClientEvent } from './client-events.js';
import type { Design } from './designs.js';
import { errorEvent, eventText, type ErrorFrameParts } from './frames.js';
import { Feed, Outbox } from './outbox.js';
import type { Host } from './host.js';
import type { Socket } from './socket.js';
import type { View } from './view.js';

/** A way to speak to the engine. One instance per session. */
export interface Dialect {
  /** A client event; whatever is wrong with it is answered, never thrown. */
  onEvent(event: ClientEvent): void;
  /** The server is on its way out: what has not started need not wait for its refusal. */
  onDraining?(): void;
  /** The socket is gone. Broken: without a word of its client, so that what was sent last may not have arrived. */
  onClosed(broken: boolean): void;
}

export interface DialectParts {
  readonly host: Host;
  readonly session: Session;
  readonly design: Design;
  readonly credential: string;
}

export type MakeDialect = (parts: DialectParts) => Dialect;

export class Session {
  readonly credential: string;
  readonly #host: Host;
  readonly #socket: Socket;
  readonly #outbox: Outbox;
  readonly #dialect: Dialect;
  readonly #age: Disposable;
  #open = true;

  constructor(host: Host, socket: Socket, design: Design, credential: string, makeDialect: MakeDialect) {
    this.#host = host;
    this.#socket = socket;
    this.credential = credential;
    const { clock, limits } = host.engine;
    this.#outbox = new Outbox({
      socket,
      wrap: (_, json) => json,
      clock,
      limits,
      close: (code, reason) => this.close(code, reason),
      sent: (frames, characters) => host.traffic.sent(frames, characters),
    });
    this.#dialect = makeDialect({ host, session: this, design, credential });
    this.#age = clock.after(limits.socketAgeMsMax, () => this.#tooOld());
    socket.onFrame = (text) => this.#onFrame(text);
  }

  get open(): boolean {
    return this.#open;
  }

  /** Sends an event that is in no log. */
  send(event: ServerEvent, streamId: string | null = null): void {
    this.#outbox.send(event.type, eventText(event, streamId));
  }

  refuse(fault: unknown, parts: ErrorFrameParts = {}, streamId: string | null = null): void {
    const error = toProtocolError(fault);
    if (!(fault instanceof ProtocolError)) this.#host.failed(fault);
    this.send(errorEvent(error, parts), streamId);
  }

  /** Streams what a view shows of a log to the socket, to its end. */
  follow(view: View, onEnd: () => void): Feed {
    const feed = new Feed(view, onEnd);
    this.#outbox.follow(feed);
    return feed;
  }

  unfollow(feed: Feed): void {
    this.#outbox.unfollow(feed);
  }

  draining(): void {
    this.#dialect.onDraining?.();
  }

  /** Sends what is ready, and after it `last`, then closes. */
  close(code: number, reason: string, last?: ServerEvent): void {
    if (!this.#open) return;
    // First, because what ends in the flush must start nothing new.
    this.#open = false;
    this.#outbox.flush();
    if (last !== undefined) {
      this.send(last);
      this.#outbox.flush();
    }
    this.#socket.close(code, reason);
    this.#leave(true);
  }

  /** The socket has closed, by whichever side, with that code. */
  closed(code: number): void {
    if (!this.#open) return;
    this.#open = false;
    this.#leave(code === 1006);
  }

  #leave(broken: boolean): void {
    this.#age[Symbol.dispose]();
    this.#outbox.end();
    this.#dialect.onClosed(broken);
    this.#host.sessions.delete(this);
  }

  #onFrame(text: string | null): void {
    if (!this.#open) return;
    this.#host.traffic.received(text?.length ?? 0);
    try {
      if (text === null)
        throw new RefusedFrame(
          new ProtocolError('invalid_frame', 'Binary frames are not taken; send JSON text.'),
        );
      const event = parseFrame(text, this.#host.engine.limits.frameDepthMax);
      if (event.type !== 'response.processed') this.#dialect.onEvent(event);
    } catch (fault) {
      if (fault instanceof RefusedFrame) this.refuse(fault.refusal, { eventId: fault.eventId });
      else this.refuse(fault);
    }
  }

  #tooOld(): void {
    const minutes = Math.round(this.#host.engine.limits.socketAgeMsMax / 60_000);
    const error = new ProtocolError(
      'websocket_connection_limit_reached',
      `This socket has reached its age limit of ${minutes} minutes; open a new one.`,
    );
    this.close(1001, 'age limit', errorEvent(error));
  }
}
