/**
 * One connection through the relay: a delay line each way between two sockets.
 *
 *   1. Bytes keep their order and their number; the pieces they come in are those that were read, cut only where a rate
 *      asks for it.
 *   2. An end (FIN) and a reset (RST) travel as the bytes do, behind them; each direction ends by itself.
 *   3. A direction holds at most `bytesMax` and one read; its source is not read meanwhile.
 *   4. What the client sends counts from one round trip after it connected, which is what a TCP handshake takes it: the
 *      kernel has answered its own over loopback at once.
 */
import { Socket } from 'node:net';

import { deferred, type Clock } from '../../engine/index.js';
import { DelayLine, type Link } from './delay-line.js';

export interface Destination {
  readonly host: string;
  readonly port: number;
}

export interface RelayedPath {
  readonly to: Destination;
  readonly link: Link;
  readonly clock: Clock;
  /** Bytes on the way, each direction, above which its source is not read. */
  readonly bytesMax: number;
}

type Passage =
  { readonly kind: 'open' | 'end' | 'reset' } | { readonly kind: 'bytes'; readonly piece: Buffer };

/** A limited link sends what one read brought in pieces of about 1 ms, so that the first byte need not wait for the last. */
export function* piecesOf(chunk: Buffer, bytesPerSecond: number): Generator<Buffer> {
  const bytesMax = Math.max(Math.ceil(bytesPerSecond / 1000), 1460);
  for (let from = 0; from < chunk.length; from += bytesMax) yield chunk.subarray(from, from + bytesMax);
}

/** From one socket to the other. */
class Direction implements Disposable {
  readonly #line: DelayLine<Passage>;
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #path: RelayedPath;
  readonly #sendsFrom: number;

  constructor(from: Socket, to: Socket, path: RelayedPath, sendsFrom: number) {
    this.#from = from;
    this.#to = to;
    this.#path = path;
    this.#sendsFrom = sendsFrom;
    this.#line = new DelayLine(path.clock, path.link, (passage) => this.#deliver(passage));
    from.on('data', (chunk) => this.#take(chunk));
    from.on('end', () => this.#send({ kind: 'end' }, 0));
    from.on('error', () => this.#send({ kind: 'reset' }, 0));
    to.on('drain', () => this.#line.resume());
    to.on('close', () => this.#onClose());
  }

  /** What the connecting side sends first, and which makes the far end connect. */
  open(): void {
    this.#line.push({ kind: 'open' }, 0);
  }

  #send(passage: Passage, bytes: number): void {
    this.#line.push(passage, bytes, Math.max(this.#path.clock.now(), this.#sendsFrom));
  }

  #take(chunk: Buffer): void {
    for (const piece of piecesOf(chunk, this.#path.link.bytesPerSecond))
      this.#send({ kind: 'bytes', piece }, piece.length);
    if (this.#line.bytes >= this.#path.bytesMax) this.#from.pause();
  }

  #deliver(passage: Passage): boolean {
    switch (passage.kind) {
      case 'open':
        this.#to.connect(this.#path.to);
        return true;
      case 'end':
        this.#to.end();
        return true;
      case 'reset':
        this.#to.resetAndDestroy();
        return true;
      case 'bytes': {
        const takesMore = this.#to.write(passage.piece);
        if (this.#line.bytes <= this.#path.bytesMax / 2 && this.#from.isPaused()) this.#from.resume();
        return takesMore;
      }
    }
  }

  /** Nobody is left to deliver to; what still comes is read and dropped, so that its end is seen. */
  #onClose(): void {
    this[Symbol.dispose]();
    this.#from.resume();
  }

  [Symbol.dispose](): void {
    this.#line[Symbol.dispose]();
  }
}

/** Resolves, where `once` would reject with the error that comes before a close. */
function closeOf(socket: Socket): Promise<void> {
  const closed = deferred<void>();
  socket.once('close', () => closed.resolve());
  return closed.promise;
}

export class RelayedConnection implements AsyncDisposable {
  readonly #directions: readonly Direction[];
  readonly #sockets: readonly Socket[];
  readonly closed: Promise<void>;

  constructor(client: Socket, path: RelayedPath) {
    const server = new Socket({ allowHalfOpen: true });
    this.#sockets = [client, server];
    for (const socket of this.#sockets) socket.setNoDelay(true);
    this.closed = Promise.all(this.#sockets.map(closeOf)).then(() => undefined);
    const up = new Direction(client, server, path, path.clock.now() + 2 * path.link.delayMs);
    this.#directions = [up, new Direction(server, client, path, -Infinity)];
    up.open();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const direction of this.#directions) direction[Symbol.dispose]();
    for (const socket of this.#sockets) socket.destroy();
    await this.closed;
  }
}
