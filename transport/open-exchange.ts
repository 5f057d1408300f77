/** One HTTP request and its answer: the rules that hold whatever carries their bytes. */
import { answerOf, bodyTooLarge, reportFault, streamHeaders } from './adapter.js';
import type { Bounds } from './adapter.js';
import { OpenStream } from './open-stream.js';
import type { StreamWire } from './open-stream.js';
import type { Answer, Application, Exchange, StreamAnswer } from './socket.js';

/** A request without what arrives after its headers. */
export type Asked = Omit<Exchange, 'body' | 'gone'>;

/** How an adapter answers. It is dropped, and never called again, once the answer is complete or the client has gone. */
export interface Reply extends StreamWire {
  /** Writes a whole answer. */
  answer(answer: Answer): void;
  /** Sends status 200 and the headers of an answer that grows; the calls of `StreamWire` follow. */
  open(headers: Readonly<Record<string, string>>): void;
}

/**
 * 1. The application is asked once, when the body is whole; never where the client has gone before, or where the body
 *    is over its limit. Of a body over its limit nothing is kept, and the connection goes on: the rest is read and
 *    dropped.
 * 2. Once the client has gone the reply is dropped: a plain answer is lost, a stream is not opened.
 * 3. `gone` aborts in a microtask of its own, only where the answer was not complete: whole, or ended by `end`.
 */
export class OpenExchange {
  readonly #application: Application;
  readonly #asked: Asked;
  readonly #bounds: Bounds;
  readonly #gone = new AbortController();
  #reply: Reply | null;
  #pieces: Buffer[] = [];
  #bodyBytes = 0;
  #stream: OpenStream | null = null;

  constructor(application: Application, asked: Asked, reply: Reply, bounds: Bounds) {
    this.#application = application;
    this.#asked = asked;
    this.#reply = reply;
    this.#bounds = bounds;
  }

  /** For the adapter, first of all: false where the headers promise too long a body, which is then answered. */
  admit(): boolean {
    const promised = Number(this.#asked.headers.get('content-length') ?? 0);
    if (promised > this.#bounds.frameBytesMax) this.#refuse();
    return this.#reply !== null;
  }

  /** For the adapter: a piece of the body, which the exchange may keep. */
  received(piece: Buffer): void {
    if (this.#reply === null) return;
    this.#bodyBytes += piece.byteLength;
    if (this.#bodyBytes > this.#bounds.frameBytesMax) this.#refuse();
    else this.#pieces.push(piece);
  }

  /** For the adapter: the body is whole. */
  receivedAll(): void {
    if (this.#reply === null) return;
    const [first] = this.#pieces;
    const body = first !== undefined && this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces);
    this.#pieces = [];
    void this.#ask(body);
  }

  /** For the adapter: the buffer has drained. */
  measure(): void {
    this.#stream?.measure();
  }

  /** For the adapter: the connection has ended. */
  lost(): void {
    if (this.#reply === null) return;
    this.#reply = null;
    this.#pieces = [];
    this.#stream?.gone();
    queueMicrotask(() => this.#gone.abort());
  }

  #refuse(): void {
    this.#pieces = [];
    this.#complete((reply) => reply.answer(bodyTooLarge(this.#bounds.frameBytesMax)));
  }

  async #ask(body: Buffer): Promise<void> {
    const exchange = { ...this.#asked, body, gone: this.#gone.signal };
    const answer = await answerOf(this.#application, exchange);
    const reply = this.#reply;
    if (reply === null) return;
    try {
      if ('opened' in answer) this.#open(reply, answer);
      else this.#complete(() => reply.answer(answer));
    } catch (fault) {
      // A status that cannot be written, for one.
      reportFault(this.#application, fault);
      reply.cut();
    }
  }

  #open(reply: Reply, answer: StreamAnswer): void {
    reply.open(streamHeaders(answer));
    const wire: StreamWire = {
      write: (texts) => reply.write(texts),
      bufferedBytes: () => reply.bufferedBytes(),
      end: () => this.#complete(() => reply.end()),
      cut: () => {
        this.lost();
        reply.cut();
      },
    };
    const stream = new OpenStream(this.#application, wire, this.#bounds.sendBufferBytesMax);
    this.#stream = stream;
    // There is nothing to say after the headers: the stream is over before it is opened.
    if (this.#asked.method === 'HEAD') stream.end();
    stream.begin(answer);
  }

  /** The last call on the reply. */
  #complete(last: (reply: Reply) => void): void {
    const reply = this.#reply;
    this.#reply = null;
    if (reply !== null) last(reply);
  }
}
