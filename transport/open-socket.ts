/** An open socket: the rules that hold whatever carries its bytes. */
import { reportFault } from './adapter.js';
import type { Bounds } from './adapter.js';
import { SendBuffer } from './send-buffer.js';
import type { Application, Handshake, Socket } from './socket.js';

/** What an adapter lends to an open socket. It is dropped, and never called again, once the socket has closed. */
export interface Wire {
  /** Writes text frames in one go. */
  write(frames: readonly string[]): void;
  /** Bytes written and not yet taken by the network. */
  bufferedBytes(): number;
  /** Sends a close frame behind what is buffered, then ends the connection. */
  end(code: number, reason: string): void;
}

/** What is left to write to when the peer has gone. */
const nowhere: Wire = { write: () => {}, bufferedBytes: () => 0, end: () => {} };

/**
 * The adapter-independent half of a socket.
 *
 * 1. After `close`, or after the peer has gone, the wire is dropped: later calls do nothing (no throw, no write), and
 *    no frame reaches the session.
 * 2. The closed callback runs once, in a microtask of its own: never inside a call that the session makes. Its code is
 *    the one that ended the socket: ours if we closed first, the peer's if it did, 1005 without one, 1006 for a drop.
 * 3. Each socket has its own waiter for `drained`; it wakes below the bound, or after the closed callback.
 * 4. Frames reach the session in the order they arrived, also those that wait for their turn (`receivedInside`) while the
 *    peer goes: they were sent before it went. After our own close none does.
 * 5. A buffer that overruns its bound (`SendBuffer`: pongs, or a session that does not wait) closes the socket with
 *    1013.
 */
export class OpenSocket implements Socket {
  onFrame: (text: string | null) => void = () => {};
  readonly #application: Application;
  readonly #bounds: Bounds;
  readonly #buffer: SendBuffer;
  #wire: Wire | null;
  #closed: (code: number) => void = () => {};
  /** Frames that wait for their turn: texts, or null for a binary one. */
  #waiting: (string | null)[] = [];

  constructor(application: Application, wire: Wire, bounds: Bounds) {
    this.#application = application;
    this.#wire = wire;
    this.#bounds = bounds;
    this.#buffer = new SendBuffer(bounds.sendBufferBytesMax);
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
    this.#end(code);
    wire.end(code, cutReason(reason));
  }

  drained(): Promise<void> {
    return this.measure() ? Promise.resolve() : this.#buffer.hasRoom();
  }

  /** For the adapter: a frame arrived whole. */
  received(frame: Buffer, isBinary: boolean): void {
    if (this.#takes(frame)) this.#deliver(isBinary ? null : frame.toString());
  }

  /**
   * The same, for an adapter whose library holds back what is sent until its callback has returned and all that the
   * callback set in motion has run: the session gets the frame right after. The buffer may be gone by then.
   */
  receivedInside(frame: Buffer, isBinary: boolean): void {
    if (!this.#takes(frame)) return;
    this.#waiting.push(isBinary ? null : frame.toString());
    if (this.#waiting.length === 1) setImmediate(() => this.#deliverWaiting());
  }

  /**
   * For the adapter: the buffer has changed (it drained, or a pong was queued). True where more may be sent; a closed
   * socket takes anything.
   */
  measure(): boolean {
    if (this.#wire === null) return true;
    const verdict = this.#buffer.measure(this.#wire.bufferedBytes());
    if (verdict === 'overrun') this.close(1013, 'The client does not read what it is sent.');
    return verdict === 'room';
  }

  /** For the adapter: the connection has ended. Only the first call counts. */
  gone(code: number): void {
    if (this.#wire === null) return;
    this.#wire = nowhere;
    this.#deliverWaiting();
    this.#end(code);
  }

  #takes(frame: Buffer): boolean {
    if (this.#wire === null) return false;
    const { frameBytesMax } = this.#bounds;
    if (frame.byteLength <= frameBytesMax) return true;
    this.#deliverWaiting();
    this.close(1009, `The frame is longer than the limit of ${frameBytesMax} bytes.`);
    return false;
  }

  #deliverWaiting(): void {
    const frames = this.#waiting;
    this.#waiting = [];
    for (const text of frames) this.#deliver(text);
  }

  #deliver(text: string | null): void {
    if (this.#wire !== null) this.#guard(() => this.onFrame(text));
  }

  #end(code: number): void {
    if (this.#wire === null) return;
    this.#wire = null;
    queueMicrotask(() => {
      this.#guard(() => this.#closed(code));
      this.#buffer.wake();
    });
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

const encoder = new TextEncoder();
const reasonBytes = new Uint8Array(123);

/** The longest start of a reason that a close frame can hold, cut between characters. */
function cutReason(reason: string): string {
  return reason.slice(0, encoder.encodeInto(reason, reasonBytes).read);
}
