/**
 * What the three adapters share: the rules of an open socket, the copy of a request, and the answer to a fault of the
 * application. An adapter adds only how bytes are written, and when they arrive.
 */
import type { Answer, Application, Exchange, Handshake, ListenOptions, Socket } from './socket.js';

/**
 * Largest header block of a request, in bytes. Node's own bound, given to uWebSockets.js too: its 4 KiB would refuse a
 * long bearer token that arrives in two segments.
 */
export const headerBytesMax = 16_384;

/**
 * Pings are at most this far apart, whatever is asked: the native idle timer counts no more than 16 minutes, and a
 * socket must be able to stay silent for two pings.
 */
export const pingMsMax = 480_000;

/**
 * What a library may buffer of one frame, in bytes. A frame up to twice the limit is read to its end, so that the
 * client learns the limit from our close reason; a longer one is cut by the library, without a reason.
 */
export function payloadBytesMax(frameBytesMax: number): number {
  return Math.min(2 * frameBytesMax, 2 ** 31 - 1);
}

/** Calls back every `ms` until it is disposed. */
export type Every = (ms: number, tick: () => void) => Disposable;

/** Real time. The timer does not keep the process alive. */
export const everyMs: Every = (ms, tick) => {
  const timer = setInterval(tick, ms).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
};

/** Splits a request target as it stands: no path is normalised, so that both servers see the same one. */
export function splitTarget(target: string): { readonly path: string; readonly query: URLSearchParams } {
  const at = target.indexOf('?');
  if (at === -1) return { path: target, query: new URLSearchParams() };
  return { path: target.slice(0, at), query: new URLSearchParams(target.slice(at + 1)) };
}

/** Adds one header line; a repeated name is joined with a comma, so that no second value hides behind the first. */
export function addHeader(headers: Map<string, string>, name: string, value: string): void {
  const key = name.toLowerCase();
  const earlier = headers.get(key);
  headers.set(key, earlier === undefined ? value : `${earlier}, ${value}`);
}

const serverFault: Answer = {
  status: 500,
  contentType: 'application/json',
  body: JSON.stringify({
    error: {
      type: 'server_error',
      code: 'server_error',
      message: 'The server failed to process the request.',
      param: null,
    },
  }),
};

function reportFault(application: Application, fault: unknown): void {
  if (application.failed !== undefined) application.failed(fault);
  else process.emitWarning(fault instanceof Error ? fault : String(fault));
}

/** The application's decision on an upgrade; a throw refuses it with 500. */
export function admissionOf(application: Application, handshake: Handshake): Answer | null {
  try {
    return application.admit(handshake);
  } catch (fault) {
    reportFault(application, fault);
    return serverFault;
  }
}

/** The application's answer; never rejects, a throw is answered with 500. */
export async function answerOf(application: Application, exchange: Exchange): Promise<Answer> {
  try {
    return await application.answer(exchange);
  } catch (fault) {
    reportFault(application, fault);
    return serverFault;
  }
}

/** What an adapter lends to an open socket. It is dropped, and never called again, once the socket has closed. */
export interface Wire {
  /** Writes text frames in one go. */
  write(frames: readonly string[]): void;
  /** Bytes written and not yet taken by the network. */
  bufferedBytes(): number;
  /** Sends a close frame behind what is buffered, then ends the connection. */
  end(code: number, reason: string): void;
}

export type SocketBounds = Pick<ListenOptions, 'frameBytesMax' | 'sendBufferBytesMax'>;

/**
 * The adapter-independent half of a socket.
 *
 * 1. After `close`, or after the peer has gone, the wire is dropped: later calls do nothing (no throw, no write), and
 *    no frame reaches the session.
 * 2. The closed callback runs once, in a microtask of its own: never inside a call that the session makes. Its code is
 *    the one that ended the socket: ours if we closed first, the peer's if it did, 1005 without one, 1006 for a drop.
 * 3. Each socket has its own waiter for `drained`; it wakes below the bound, or after the closed callback.
 * 4. A buffer over its bound may grow by the bound once more (pongs, or a session that does not wait), then the socket
 *    is closed with 1013. So a peer that never reads costs bounded memory, whatever it sends.
 */
export class OpenSocket implements Socket {
  onFrame: (text: string | null) => void = () => {};
  readonly #application: Application;
  readonly #bounds: SocketBounds;
  #wire: Wire | null;
  #closed: (code: number) => void = () => {};
  #waiter: { readonly promise: Promise<void>; readonly wake: () => void } | null = null;
  /** Buffered bytes at which the socket is closed; null while the buffer is below its bound. */
  #cutBytes: number | null = null;

  constructor(application: Application, wire: Wire, bounds: SocketBounds) {
    this.#application = application;
    this.#wire = wire;
    this.#bounds = bounds;
  }

  /** For the adapter, once, when it has the socket on its books: the session may close it in this very call. */
  begin(handshake: Handshake): void {
    this.#guard(() => {
      this.#closed = this.#application.opened(this, handshake);
    });
  }

  send(frames: readonly string[]): boolean {
    if (this.#wire === null || frames.length === 0) return true;
    this.#wire.write(frames);
    return this.measure();
  }

  close(code: number, reason: string): void {
    const wire = this.#wire;
    if (wire === null) return;
    this.gone(code);
    wire.end(code, cutReason(reason));
  }

  drained(): Promise<void> {
    if (this.measure()) return Promise.resolve();
    this.#waiter ??= makeWaiter();
    return this.#waiter.promise;
  }

  /** For the adapter: a frame arrived whole. */
  received(frame: Buffer, isBinary: boolean): void {
    if (this.#wire === null) return;
    if (frame.byteLength > this.#bounds.frameBytesMax) {
      this.close(1009, `The frame is longer than the limit of ${this.#bounds.frameBytesMax} bytes.`);
      return;
    }
    this.#guard(() => this.onFrame(isBinary ? null : frame.toString()));
  }

  /**
   * For the adapter: the buffer has changed (it drained, or a pong was queued). True where more may be sent; a closed
   * socket takes anything.
   */
  measure(): boolean {
    if (this.#wire === null) return true;
    const bound = this.#bounds.sendBufferBytesMax;
    const buffered = this.#wire.bufferedBytes();
    if (buffered <= bound) {
      this.#cutBytes = null;
      this.#wake();
      return true;
    }
    this.#cutBytes ??= buffered + bound;
    if (buffered > this.#cutBytes) this.close(1013, 'The client does not read what it is sent.');
    return false;
  }

  /** For the adapter: the connection has ended. Only the first call counts. */
  gone(code: number): void {
    if (this.#wire === null) return;
    this.#wire = null;
    queueMicrotask(() => {
      this.#guard(() => this.#closed(code));
      this.#wake();
    });
  }

  #wake(): void {
    this.#waiter?.wake();
    this.#waiter = null;
  }

  /** A fault of the application ends its socket, not the process and not another socket. */
  #guard(call: () => void): void {
    try {
      call();
    } catch (fault) {
      reportFault(this.#application, fault);
      this.close(1011, 'The server failed to serve this socket.');
    }
  }
}

function makeWaiter(): { readonly promise: Promise<void>; readonly wake: () => void } {
  let wake = (): void => {};
  const promise = new Promise<void>((resolve) => {
    wake = resolve;
  });
  return { promise, wake };
}

const encoder = new TextEncoder();
const reasonBytes = new Uint8Array(123);

/** The longest start of a reason that a close frame can hold, cut between characters. */
function cutReason(reason: string): string {
  return reason.slice(0, encoder.encodeInto(reason, reasonBytes).read);
}
