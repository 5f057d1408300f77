/**
 * A server and its clients in one process, without a network: the pair that tests use.
 *
 * 1. Everything arrives in the order it was sent, in a microtask after the call that sent it, never inside it. No timer
 *    and no turn of the event loop is needed, so a virtual clock can drive it.
 * 2. A client that reads takes any number of frames at once; while it is paused, all that it is sent counts as the
 *    server's send buffer.
 * 3. Limits, close codes and their order are those of the real servers: the rules are in `OpenSocket`, shared with them.
 *    There are no pings.
 */
import { OpenSocket, addHeader, admissionOf, answerOf, splitTarget } from './adapter.js';
import type { SocketBounds, Wire } from './adapter.js';
import type { Answer, Application, Handshake } from './socket.js';

const boundsDefault: SocketBounds = { frameBytesMax: 16 * 2 ** 20, sendBufferBytesMax: 2 ** 20 };

export interface Loopback {
  /** Opens a socket at once (`opened` has returned), or gives the answer that refused it. */
  connect(target: string, headers?: Readonly<Record<string, string>>): LoopbackClient | Answer;
  /** Asks over HTTP. */
  exchange(method: string, target: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
}

/** Bounds not given are 16 MiB for a frame and 1 MiB for the send buffer. */
export function loopback(application: Application, options: Partial<SocketBounds> = {}): Loopback {
  const bounds = { ...boundsDefault, ...options };
  return {
    connect(target, headers = {}) {
      const handshake = { ...splitTarget(target), headers: copyHeaders(headers) };
      const refusal = admissionOf(application, handshake);
      if (refusal !== null) return refusal;
      return new LoopbackClient(application, handshake, bounds);
    },
    exchange(method, target, headers = {}) {
      return answerOf(application, { method, ...splitTarget(target), headers: copyHeaders(headers) });
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

  constructor(application: Application, handshake: Handshake, bounds: SocketBounds) {
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

/** One direction: steps that run in order, each batch in a microtask of its own. */
class Lane {
  onEmptied: () => void = () => {};
  waitingBytes = 0;
  isHeld = false;
  #steps: (() => void)[] = [];
  #isShut = false;
  #isDue = false;

  put(bytes: number, step: () => void): void {
    if (this.#isShut) return;
    this.#steps.push(step);
    this.waitingBytes += bytes;
    this.#schedule();
  }

  hold(): void {
    this.isHeld = true;
  }

  release(): void {
    this.isHeld = false;
    this.#schedule();
  }

  /** Takes nothing more; what is on its way still arrives. */
  shut(): void {
    this.#isShut = true;
  }

  /** Takes nothing more, and loses what is on its way. */
  cut(): void {
    this.shut();
    this.#steps = [];
    this.waitingBytes = 0;
  }

  #schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      if (this.isHeld) return;
      const steps = this.#steps;
      this.#steps = [];
      this.waitingBytes = 0;
      for (const step of steps) step();
      this.onEmptied();
    });
  }
}

interface Taker<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (ending: Error) => void;
}

/** A queue that keeps all that ever arrived and gives it out once, in order. */
export class Arrivals<T> {
  /** Everything so far, taken or not. */
  readonly received: T[] = [];
  #taken = 0;
  #takers: Taker<T>[] = [];
  #ending: Error | null = null;

  /** The next one not yet taken, now or when it arrives; rejects once the queue has ended and is empty. */
  next(): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#takers.push({ resolve, reject });
      this.#serve();
    });
  }

  add(value: T): void {
    this.received.push(value);
    this.#serve();
  }

  /** Nothing more will arrive. */
  end(ending: Error): void {
    this.#ending ??= ending;
    this.#serve();
  }

  #serve(): void {
    for (const value of this.received.slice(this.#taken, this.#taken + this.#takers.length)) {
      this.#taken += 1;
      this.#takers.shift()?.resolve(value);
    }
    if (this.#ending === null) return;
    for (const taker of this.#takers.splice(0)) taker.reject(this.#ending);
  }
}
