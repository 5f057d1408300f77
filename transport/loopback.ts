/**
 * A server and its clients in one process, without a network: the pair that tests use.
 *
 * 1. Everything arrives in the order it was sent, in a microtask after the call that sent it, never inside it. No timer
 *    and no turn of the event loop is needed, so a virtual clock can drive it.
 * 2. A client that reads takes any number of frames at once; while it is paused, all that it is sent counts as the
 *    server's send buffer.
 * 3. Limits, close codes and their order are those of the real servers: the rules are in `OpenSocket` and
 *    `OpenExchange`, shared with them. There are no pings.
 */
import { addHeader, admissionOf, splitTarget } from './adapter.js';
import type { Bounds } from './adapter.js';
import { exchangeInMemory } from './loopback-http.js';
import type { Body, LoopbackStream } from './loopback-http.js';
import { Arrivals, Lane } from './loopback-lane.js';
import { OpenSocket } from './open-socket.js';
import type { Wire } from './open-socket.js';
import type { Answer, Application, Handshake } from './socket.js';

export { LoopbackStream } from './loopback-http.js';
export type { Body } from './loopback-http.js';
export { Arrivals } from './loopback-lane.js';

const boundsDefault: Bounds = { frameBytesMax: 16 * 2 ** 20, sendBufferBytesMax: 2 ** 20 };

export interface Loopback {
  /** Opens a socket at once (`opened` has returned), or gives the answer that refused it. */
  connect(target: string, headers?: Readonly<Record<string, string>>): LoopbackClient | Answer;
  /**
   * Asks over HTTP. Resolves with the whole answer, or with a stream as soon as it opens. Aborting `dropped` breaks the
   * connection; the promise then rejects with its reason.
   */
  exchange(
    method: string,
    target: string,
    headers?: Readonly<Record<string, string>>,
    body?: Body,
    dropped?: AbortSignal,
  ): Promise<Answer | LoopbackStream>;
}

/** Bounds not given are 16 MiB for a frame or a body and 1 MiB for the send buffer. */
export function loopback(application: Application, options: Partial<Bounds> = {}): Loopback {
  const bounds = { ...boundsDefault, ...options };
  return {
    connect(target, headers = {}) {
      const handshake = { ...splitTarget(target), headers: copyHeaders(headers) };
      const refusal = admissionOf(application, handshake);
      if (refusal !== null) return refusal;
      return new LoopbackClient(application, handshake, bounds);
    },
    exchange(method, target, headers = {}, body = '', dropped) {
      const asked = { method, ...splitTarget(target), headers: copyHeaders(headers) };
      return exchangeInMemory(application, asked, body, bounds, dropped);
    },
  };
}

function copyHeaders(given: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(given)) addHeader(headers, name, value);
  return headers;
}

/** How a socket ended, as its client sees it. */
export interface Closing {
  readonly code: number;
  readonly reason: string;
}

/** The client's end of a loopback socket. */
export class LoopbackClient {
  /** Every frame that arrived, from the first. */
  readonly frames = new Arrivals<string>();
  readonly closed: Promise<Closing>;
  readonly #server: OpenSocket;
  readonly #up = new Lane();
  readonly #down = new Lane();
  #settleClosed: (closing: Closing) => void = () => {};

  constructor(application: Application, handshake: Handshake, bounds: Bounds) {
    this.closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
    const down = this.#down;
    const wire: Wire = {
      write: (frames) => {
        for (const frame of frames) down.put(Buffer.byteLength(frame), () => this.frames.add(frame));
      },
      bufferedBytes: () => (down.isHeld ? down.waitingBytes : 0),
      end: (code, reason) => down.put(0, () => this.#end({ code, reason })),
    };
    this.#server = new OpenSocket(application, wire, bounds);
    down.onEmptied = () => this.#server.measure();
    this.#server.begin(handshake);
  }

  send(text: string): void {
    const frame = Buffer.from(text);
    this.#up.put(frame.byteLength, () => this.#server.received(frame, false));
  }

  sendBinary(bytes: Uint8Array = new Uint8Array(1)): void {
    const frame = Buffer.from(bytes);
    this.#up.put(frame.byteLength, () => this.#server.received(frame, true));
  }

  /** Closes; frames that were sent to this client before still arrive, then `closed` settles. */
  close(code = 1000, reason = ''): void {
    this.#up.put(0, () => {
      this.#server.gone(code);
      this.#down.put(0, () => this.#end({ code, reason }));
    });
    this.#up.shut();
  }

  /** The connection breaks, without a close frame: both ends see 1006. */
  drop(): void {
    this.#down.cut();
    this.#up.put(0, () => this.#server.gone(1006));
    this.#up.shut();
    this.#end({ code: 1006, reason: '' });
  }

  /** Stops reading. */
  pause(): void {
    this.#down.hold();
  }

  /** Reads again. */
  resume(): void {
    this.#down.release();
  }

  #end(closing: Closing): void {
    this.#up.shut();
    this.#settleClosed(closing);
    this.frames.end(new Error(`The socket closed with ${closing.code} ${closing.reason}`.trimEnd()));
  }
}
