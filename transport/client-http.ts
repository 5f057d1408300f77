/**
 * The client over HTTP: a create is a POST that is answered by a stream, an append is a POST beside it. One pool of
 * keep-alive connections, which no two requests share at a time.
 *
 *   1. A stream is read to its end, which comes after its terminal event, so that its connection can be used again.
 *   2. A run that has failed aborts what it still has under way; nothing of it is read any more.
 */
import { createParser, type EventSourceParser } from 'eventsource-parser';
import type { Dispatcher, Pool } from 'undici';

import { deferred, type ServerEvent } from '../engine/index.js';
import {
  eventOf,
  isTerminal,
  refusalOf,
  type ClientConnection,
  type ConnectionParts,
} from './client-connection.js';
import { RolloutError, type TurnDraft } from './client-report.js';
import type { ClientRun, Requests } from './client-run.js';

/** Answers to the first question that say nothing against this client: a server may have no list of models. */
const harmless = new Set([404, 405]);

/** @throws RolloutError where the server refuses the key or the design, Error where it cannot be reached. */
export async function openHttp(parts: ConnectionParts): Promise<ClientConnection> {
  // Loaded here, because whoever uses sockets need not pay for it.
  const undici = await import('undici');
  const pool = new undici.Pool(parts.url.origin, { connect: parts.tls });
  try {
    const { pathname, search } = new URL(`models${parts.url.search}`, parts.url);
    const answer = await pool.request({ method: 'GET', path: pathname + search, headers: parts.headers });
    const body = await answer.body.text();
    if (answer.statusCode >= 400 && !harmless.has(answer.statusCode))
      throw refusalOf('request_refused', 'client', answer.statusCode, body);
    return new HttpConnection(pool, parts);
  } catch (fault) {
    await pool.destroy();
    throw fault;
  }
}

class HttpConnection implements ClientConnection {
  readonly #pool: Pool;
  readonly #parts: ConnectionParts;
  readonly #closed = deferred<void>();
  readonly #runs = new Set<HttpRun>();
  #open = true;

  constructor(pool: Pool, parts: ConnectionParts) {
    this.#pool = pool;
    this.#parts = parts;
  }

  get open(): boolean {
    return this.#open;
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  run(run: ClientRun): void {
    if (!this.#open) {
      run.fail(new RolloutError('client_closed', 'The client is closed.'));
      return;
    }
    const requests = new HttpRun(this.#pool, this.#parts, run);
    this.#runs.add(requests);
    const over = (): void => {
      this.#runs.delete(requests);
      requests.leave();
    };
    run.report.then(over, over);
    run.start(requests);
  }

  send(): never {
    throw new Error('Events are sent over a socket; over HTTP there is run().');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#open = false;
    for (const run of this.#runs) run.cut(new RolloutError('client_closed', 'The client was closed.'));
    await this.#pool.destroy();
    this.#closed.resolve();
  }
}

/** The requests of one run. */
class HttpRun implements Requests {
  readonly #pool: Pool;
  readonly #parts: ConnectionParts;
  readonly #run: ClientRun;
  /** One for each request under way: a signal that outlives its request would gather what hangs off it. */
  readonly #underWay = new Set<AbortController>();
  /** Appends whose answer has not come. */
  readonly #appends = new Set<Promise<void>>();

  constructor(pool: Pool, parts: ConnectionParts, run: ClientRun) {
    this.#pool = pool;
    this.#parts = parts;
    this.#run = run;
  }

  create(fields: object): { readonly bytes: number; readonly over: Promise<void> } {
    // The state of a chain cannot live with a connection.
    const kept = this.#parts.dialect === 'chain' ? { store: true } : {};
    const body = Buffer.from(JSON.stringify({ ...fields, ...kept, stream: true }));
    return { bytes: body.length, over: this.#stream(body) };
  }

  append(responseId: string, input: readonly object[]): number {
    const body = Buffer.from(JSON.stringify({ input }));
    const append = this.#append(responseId, body, this.#run.turn);
    this.#appends.add(append);
    void append.then(() => this.#appends.delete(append));
    return body.length;
  }

  cut(error: RolloutError): void {
    this.#run.fail(error);
    this.leave();
  }

  leave(): void {
    for (const request of this.#underWay) request.abort();
  }

  /** POSTs JSON and reads the answer. */
  async #post<Read>(
    path: string,
    body: Buffer,
    read: (answer: Dispatcher.ResponseData) => Promise<Read>,
  ): Promise<Read> {
    const { url, headers } = this.#parts;
    const request = new AbortController();
    this.#underWay.add(request);
    try {
      const answer = await this.#pool.request({
        method: 'POST',
        path: `${path}${url.search}`,
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        signal: request.signal,
        // The run's patience bounds both.
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      return await read(answer);
    } finally {
      this.#underWay.delete(request);
    }
  }

  async #stream(body: Buffer): Promise<void> {
    // A stream of one turn is that turn's to its last byte, although the end comes after the turn's.
    const turn = this.#parts.dialect === 'append' ? null : this.#run.turn;
    try {
      await this.#post(this.#parts.url.pathname, body, async (answer) => {
        if (answer.statusCode !== 200)
          throw refusalOf('request_refused', 'create', answer.statusCode, await answer.body.text());
        await this.#read(answer.body, turn);
      });
      await Promise.all(this.#appends);
    } catch (fault) {
      this.#run.fail(errorOf(fault, 'connection_failed', 'The request failed'));
    }
  }

  async #read(body: AsyncIterable<unknown>, turn: TurnDraft | null): Promise<void> {
    const reader = new StreamReader(this.#parts, this.#run);
    try {
      for await (const piece of body) {
        if (!(piece instanceof Uint8Array)) continue;
        (turn ?? this.#run.turn).bytesDown += piece.length;
        reader.take(piece);
      }
    } catch (fault) {
      if (!reader.ended) throw errorOf(fault, 'stream_cut', 'The stream was cut');
    }
    reader.end();
  }

  async #append(responseId: string, body: Buffer, turn: TurnDraft): Promise<void> {
    try {
      const { pathname } = this.#parts.url;
      const path = `${pathname}/${encodeURIComponent(responseId)}/append`;
      const [status, said] = await this.#post(
        path,
        body,
        async (answer) => [answer.statusCode, await answer.body.text()] as const,
      );
      turn.framesDown++;
      turn.bytesDown += Buffer.byteLength(said);
      if (status !== 200) throw refusalOf('request_refused', 'append', status, said);
    } catch (fault) {
      this.#run.fail(errorOf(fault, 'connection_failed', 'The append failed'));
    }
  }
}

/** One stream of events. */
class StreamReader {
  readonly #parts: ConnectionParts;
  readonly #run: ClientRun;
  readonly #decoder = new TextDecoder();
  readonly #parser: EventSourceParser;
  /** An error that may only announce the failed response behind it (P66). */
  #error: ServerEvent | null = null;
  #at = 0;
  /** The terminal event has come. */
  ended = false;

  constructor(parts: ConnectionParts, run: ClientRun) {
    this.#parts = parts;
    this.#run = run;
    this.#parser = createParser({ onEvent: ({ data }) => this.#onText(data) });
  }

  /** @throws RolloutError where it holds something that is no event. */
  take(piece: Uint8Array): void {
    this.#at = performance.now();
    this.#parser.feed(this.#decoder.decode(piece, { stream: true }));
  }

  /** @throws RolloutError where the stream has ended before its response. */
  end(): void {
    if (this.ended) return;
    if (this.#error !== null) this.#run.onEvent(this.#error, this.#at);
    else throw new RolloutError('stream_cut', 'The stream ended before its response did.');
  }

  #onText(text: string): void {
    if (text === '[DONE]') return;
    const event = eventOf(this.#parts, text);
    this.#parts.onEvent(event);
    if (event.type === 'error') {
      this.#error = event;
      return;
    }
    if (isTerminal(event)) this.ended = true;
    this.#run.onEvent(event, this.#at);
  }
}

function errorOf(fault: unknown, code: string, what: string): RolloutError {
  if (fault instanceof RolloutError) return fault;
  return new RolloutError(code, `${what}: ${fault instanceof Error ? fault.message : String(fault)}.`);
}
