/** The body of an answer that grows: the rules that hold whatever carries its bytes. */
import { reportFault } from './adapter.js';
import { SendBuffer } from './send-buffer.js';
import type { Application, Stream, StreamAnswer } from './socket.js';

/** What an adapter lends to an open stream. It is dropped, and never called again, once the stream is over. */
export interface StreamWire {
  /** Writes texts in one go, each as a chunk of its own. None is empty. */
  write(texts: readonly string[]): void;
  /** Bytes written and not yet taken by the network. */
  bufferedBytes(): number;
  /** Ends the answer behind what is buffered. */
  end(): void;
  /** Breaks the connection, so that the client can tell this end from a clean one. */
  cut(): void;
}

/**
 * 1. After `end`, or after the client has gone, the wire is dropped: later calls do nothing (no throw, no write).
 * 2. The closed callback runs once, in a microtask of its own: never inside a call that the application makes.
 * 3. `drained` wakes below the bound, or after the closed callback.
 * 4. A buffer that overruns its bound (`SendBuffer`) cuts the stream.
 */
export class OpenStream implements Stream {
  readonly #application: Application;
  readonly #buffer: SendBuffer;
  #wire: StreamWire | null;
  #closed: () => void = () => {};

  constructor(application: Application, wire: StreamWire, sendBufferBytesMax: number) {
    this.#application = application;
    this.#wire = wire;
    this.#buffer = new SendBuffer(sendBufferBytesMax);
  }

  /** For the adapter, once, when the headers are on their way: the application may end the stream in this very call. */
  begin(answer: StreamAnswer): void {
    this.#guard(() => {
      this.#closed = answer.opened(this);
    });
  }

  send(texts: readonly string[]): boolean {
    if (this.#wire === null) return true;
    // An empty chunk would be the end of the body.
    const chunks = texts.includes('') ? texts.filter((text) => text !== '') : texts;
    if (chunks.length === 0) return true;
    this.#wire.write(chunks);
    return this.measure();
  }

  end(): void {
    const wire = this.#wire;
    if (wire === null) return;
    this.gone();
    wire.end();
  }

  cut(): void {
    const wire = this.#wire;
    if (wire === null) return;
    this.gone();
    wire.cut();
  }

  drained(): Promise<void> {
    return this.measure() ? Promise.resolve() : this.#buffer.hasRoom();
  }

  /** For the adapter: the buffer has drained. True where more may be sent; a stream that is over takes anything. */
  measure(): boolean {
    if (this.#wire === null) return true;
    const verdict = this.#buffer.measure(this.#wire.bufferedBytes());
    if (verdict === 'overrun') this.cut();
    return verdict === 'room';
  }

  /** For the adapter: the connection has ended. Only the first call counts. */
  gone(): void {
    if (this.#wire === null) return;
    this.#wire = null;
    queueMicrotask(() => {
      this.#guard(() => this.#closed());
      this.#buffer.wake();
    });
  }

  /** A fault of the application ends its stream, not the process. */
  #guard(call: () => void): void {
    try {
      call();
    } catch (fault) {
      reportFault(this.#application, fault);
      this.end();
    }
  }
}
