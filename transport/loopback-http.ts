/** HTTP of the in-memory pair: one request, and its answer or stream. */
import type { Bounds } from './adapter.js';
import { Arrivals, Lane } from './loopback-lane.js';
import { OpenExchange } from './open-exchange.js';
import type { Asked, Reply } from './open-exchange.js';
import type { Answer, Application } from './socket.js';

/** A list is a body that arrives in pieces. */
export type Body = string | Uint8Array | readonly (string | Uint8Array)[];

export function exchangeInMemory(
  application: Application,
  asked: Asked,
  body: Body,
  bounds: Bounds,
  dropped?: AbortSignal,
): Promise<Answer | LoopbackStream> {
  const up = new Lane();
  const reply = new LoopbackReply(asked.method, () => {
    up.put(0, () => exchange.lost());
    up.shut();
  });
  const exchange = new OpenExchange(application, asked, reply, bounds);
  reply.onEmptied(() => exchange.measure());
  up.put(0, () => exchange.admit());
  for (const piece of typeof body === 'string' || body instanceof Uint8Array ? [body] : body) {
    const bytes = Buffer.from(piece);
    up.put(bytes.byteLength, () => exchange.received(bytes));
  }
  up.put(0, () => exchange.receivedAll());
  const drop = (): void => reply.drop(dropped?.reason);
  dropped?.addEventListener('abort', drop);
  return reply.settled.finally(() => dropped?.removeEventListener('abort', drop));
}

/** The client's end of a stream. */
export class LoopbackStream {
  readonly status = 200;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Every text that arrived, as it was sent. */
  readonly texts = new Arrivals<string>();
  /** Resolves at a clean end; rejects where the stream was cut or dropped. */
  readonly ended: Promise<void>;
  readonly #down: Lane;
  readonly #dropped: () => void;
  #settle: (ending: Error | null) => void = () => {};

  constructor(headers: Readonly<Record<string, string>>, down: Lane, dropped: () => void) {
    this.headers = headers;
    this.#down = down;
    this.#dropped = dropped;
    this.ended = new Promise((resolve, reject) => {
      this.#settle = (ending) => (ending === null ? resolve() : reject(ending));
    });
    // Not everybody waits for it.
    this.ended.catch(() => {});
  }

  /** The connection breaks. */
  drop(): void {
    this.#dropped();
    this.over(new Error('The client dropped the stream.'));
  }

  /** Stops reading. */
  pause(): void {
    this.#down.hold();
  }

  /** Reads again. */
  resume(): void {
    this.#down.release();
  }

  /** For the pair: nothing more will arrive; null is a clean end. */
  over(ending: Error | null): void {
    this.#settle(ending);
    this.texts.end(ending ?? new Error('The stream has ended.'));
  }
}

class LoopbackReply implements Reply {
  readonly settled: Promise<Answer | LoopbackStream>;
  readonly #method: string;
  readonly #lost: () => void;
  readonly #down = new Lane();
  #stream: LoopbackStream | null = null;
  #resolve: (settled: Answer | LoopbackStream) => void = () => {};
  #reject: (reason: unknown) => void = () => {};

  constructor(method: string, lost: () => void) {
    this.#method = method;
    this.#lost = lost;
    this.settled = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  onEmptied(measure: () => void): void {
    this.#down.onEmptied = measure;
  }

  answer(answer: Answer): void {
    const seen = this.#method === 'HEAD' ? { ...answer, body: '' } : answer;
    this.#down.put(0, () => this.#resolve(seen));
  }

  open(headers: Readonly<Record<string, string>>): void {
    const stream = new LoopbackStream(headers, this.#down, () => this.drop(null));
    this.#stream = stream;
    this.#down.put(0, () => this.#resolve(stream));
  }

  write(texts: readonly string[]): void {
    const stream = this.#stream;
    for (const text of texts) this.#down.put(Buffer.byteLength(text), () => stream?.texts.add(text));
  }

  bufferedBytes(): number {
    return this.#down.isHeld ? this.#down.waitingBytes : 0;
  }

  end(): void {
    this.#down.put(0, () => this.#stream?.over(null));
  }

  cut(): void {
    this.#break(new Error('The server cut the connection.'));
  }

  /** For the client: the connection breaks. */
  drop(reason: unknown): void {
    this.#lost();
    this.#break(reason);
  }

  /** What is on its way to the client is lost. */
  #break(reason: unknown): void {
    this.#down.cut();
    const ending = reason instanceof Error ? reason : new Error('The connection broke.');
    queueMicrotask(() => {
      this.#reject(ending);
      this.#stream?.over(ending);
    });
  }
}
