/**
 * The upstream sampler: a real model behind any OpenAI-compatible server, by chat completions or Responses.
 *
 *   Q1  A request is tried again only while nothing of its answer was told, and only where that can help.
 *   Q2  Who aborts or leaves a turn ends its request at once.
 *   Q3  A turn sends the whole transcript; what it said before is the same bytes again (O1), so that an upstream with a
 *       prefix cache reads only what is new. No state is kept upstream, so there is nothing to suspend.
 *   Q4  The key stands in one header of one connection pool, and nowhere else.
 */
import type { Clock } from '../../ports.js';
import type { Sampler, SamplerEvent, SamplerOpening, SamplerSession, TurnRequest } from '../sampler.js';
import { SessionBody } from './body.js';
import { chatDialect } from './chat.js';
import type { Dialect } from './dialect.js';
import { endpointOf, type Endpoint, type UpstreamApi } from './endpoint.js';
import { Exchange, type Patience } from './exchange.js';
import { UpstreamFault } from './faults.js';
import { pooledHttp, type UpstreamHttp } from './http.js';
import { responsesDialect } from './responses.js';

export type { UpstreamAnswer, UpstreamHttp } from './http.js';

export interface UpstreamOptions {
  /** A base such as `http://127.0.0.1:8000/v1`, or the whole address of either API. */
  readonly url: string;
  /** Default: read from the end of the URL's path, else `chat`. */
  readonly api?: UpstreamApi | undefined;
  /** Sent as a bearer token. Default: none is sent. */
  readonly key?: string | undefined;
  /** The upstream's name of the model. Default: the one the client asked for. */
  readonly model?: string | undefined;
  readonly clock: Clock;
  /** Tokens of context, as this engine counts them. Default `Infinity`: the upstream itself refuses what is too long. */
  readonly contextTokensMax?: number | undefined;
  /** The field of chat messages in which the upstream reads earlier reasoning; null sends none. Default: the one it
   * writes in, and none to OpenAI. */
  readonly reasoningField?: 'reasoning_content' | 'reasoning' | null | undefined;
  /** Until a connection stands, in ms. Default 10,000. */
  readonly connectMsMax?: number | undefined;
  /** From the request to the first token of its answer, in ms. Default 300,000. */
  readonly firstTokenMsMax?: number | undefined;
  /** Between two pieces of an answer, in ms. Default 300,000: reasoning that is not shown is long silence. */
  readonly silenceMsMax?: number | undefined;
  /** For usage and the end of a stream, once the model is through, in ms. Default 2,000. */
  readonly restMsMax?: number | undefined;
  /** Tries after the first. Default 2. */
  readonly retriesMax?: number | undefined;
  /** The first wait between two tries, in ms; it doubles. Default 500. */
  readonly retryMs?: number | undefined;
  /** The longest wait, in ms; an upstream that asks for a longer one fails the turn at once. Default 30,000. */
  readonly retryMsMax?: number | undefined;
  /** Connections kept open or in use; further turns wait for one. Default 1,000. */
  readonly connectionsMax?: number | undefined;
  /** One event of a stream, in UTF-16 units. Default 16 Mi. */
  readonly eventBytesMax?: number | undefined;
  /** In place of the pool of connections: recorded answers, in tests. It is disposed of with the sampler. */
  readonly http?: UpstreamHttp | undefined;
}

/** Dispose of it to close its connections; turns under way fail. */
export interface UpstreamSampler extends Sampler, AsyncDisposable {
  readonly api: UpstreamApi;
}

interface Bounds extends Patience {
  readonly contextTokensMax: number;
  readonly connectMsMax: number;
  readonly retriesMax: number;
  readonly retryMs: number;
  readonly retryMsMax: number;
  readonly connectionsMax: number;
}

/** What the sessions of one sampler share. */
interface Shared {
  readonly clock: Clock;
  readonly bounds: Bounds;
  readonly http: UpstreamHttp;
  readonly dialect: (opening: SamplerOpening) => Dialect;
}

class UpstreamSession implements SamplerSession {
  readonly #shared: Shared;
  readonly #dialect: Dialect;
  readonly #body: SessionBody;

  constructor(shared: Shared, opening: SamplerOpening) {
    this.#shared = shared;
    this.#dialect = shared.dialect(opening);
    this.#body = new SessionBody(this.#dialect);
  }

  async *sample(turn: TurnRequest, signal: AbortSignal): AsyncGenerator<SamplerEvent, void> {
    const { clock } = this.#shared;
    signal.throwIfAborted();
    const body = this.#body.pieces(turn.context.transcript, this.#dialect.tail(turn));
    // What the upstream holds is known at the end only: `usage` tells it then.
    yield { type: 'prefill', held: 0, read: turn.context.tokens };
    signal.throwIfAborted();
    if (turn.outputTokensMax <= 0) {
      yield { type: 'cut' };
      return;
    }
    for (let tries = 0; ; tries++) {
      let told = false;
      try {
        for await (const event of this.#answer(turn, body, signal)) {
          told = true;
          yield event;
          signal.throwIfAborted();
        }
        return;
      } catch (fault) {
        const waitMs = told ? null : this.#waitMs(fault, tries);
        if (waitMs === null) throw fault;
        await clock.sleep(waitMs, signal);
      }
    }
  }

  /** Nothing is kept between the turns but the rendered history. */
  suspend(): void {}

  release(): void {}

  /** One try: the events of one answer. */
  async *#answer(
    turn: TurnRequest,
    body: readonly Uint8Array[],
    signal: AbortSignal,
  ): AsyncGenerator<SamplerEvent, void> {
    const { clock, bounds, http } = this.#shared;
    const fold = this.#dialect.fold(turn);
    using exchange = new Exchange(clock, bounds, signal);
    for await (const chunk of exchange.chunks(http, body)) {
      for (const event of fold.accept(chunk)) {
        exchange.expect('next');
        yield event;
        if (event.type === 'cut') return;
      }
      if (fold.whole) {
        exchange.complete();
        break;
      }
      if (fold.ended) exchange.expect('rest');
    }
    yield* fold.finish(exchange.done);
  }

  /** How long to wait before the next try, or null where there is none. */
  #waitMs(fault: unknown, tries: number): number | null {
    const { retriesMax, retryMs, retryMsMax } = this.#shared.bounds;
    if (!(fault instanceof UpstreamFault) || !fault.retry || tries >= retriesMax) return null;
    if (fault.waitMs !== null) return fault.waitMs <= retryMsMax ? fault.waitMs : null;
    return Math.min(retryMs * 2 ** tries, retryMsMax);
  }
}

function boundsOf(options: UpstreamOptions): Bounds {
  const bound = (name: keyof Bounds, byDefault: number, least = 1): number => {
    const value = options[name] ?? byDefault;
    if (value >= least) return value;
    throw new RangeError(`${name}: expected a number of ${least} or more`);
  };
  return {
    contextTokensMax: bound('contextTokensMax', Infinity),
    connectMsMax: bound('connectMsMax', 10_000),
    firstTokenMsMax: bound('firstTokenMsMax', 300_000),
    silenceMsMax: bound('silenceMsMax', 300_000),
    restMsMax: bound('restMsMax', 2_000, 0),
    retriesMax: bound('retriesMax', 2, 0),
    retryMs: bound('retryMs', 500, 0),
    retryMsMax: bound('retryMsMax', 30_000, 0),
    connectionsMax: bound('connectionsMax', 1_000),
    eventBytesMax: bound('eventBytesMax', 16 * 1024 * 1024),
  };
}

function httpFor({ origin, path }: Endpoint, { key, clock }: UpstreamOptions, bounds: Bounds): UpstreamHttp {
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
    throw new RangeError('upstream key: expected printable ASCII without spaces');
  const headers = {
    accept: 'text/event-stream',
    'user-agent': 'long-response',
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  };
  const { connectMsMax, connectionsMax } = bounds;
  return pooledHttp({ origin, path, headers, clock, connectMsMax, connectionsMax });
}

/** @throws RangeError for an address, a key or a bound that can't be; the text holds neither address nor key. */
export function upstreamSampler(options: UpstreamOptions): UpstreamSampler {
  const { url, api, model, clock, reasoningField = 'reasoning_content' } = options;
  const endpoint = endpointOf(url, api);
  const bounds = boundsOf(options);
  const http = options.http ?? httpFor(endpoint, options, bounds);
  const reasoning = { field: reasoningField };
  const dialectOf = endpoint.api === 'chat' ? chatDialect : responsesDialect;
  const { contextTokensMax } = bounds;
  const shared: Shared = {
    clock,
    bounds,
    http,
    dialect: (opening) =>
      dialectOf({ endpoint, opening, model: model ?? opening.request.model, contextTokensMax, reasoning }),
  };
  return {
    api: endpoint.api,
    contextTokensMax,
    open: (opening) => new UpstreamSession(shared, opening),
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}
