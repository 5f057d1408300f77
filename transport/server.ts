/**
 * The server as an application of the socket port: who may open a socket, which dialect it speaks, the few HTTP
 * routes, and the way out.
 */
import {
  cachedTokenizer,
  deferred,
  o200kTokenizer,
  ProtocolError,
  type Engine,
  type LiveResponse,
  type Tokenizer,
} from '../engine/index.js';
import { AppendDialect } from './append.js';
import { chainDialect } from './chain.js';
import { DesignRegistry, type Design, type DialectName } from './designs.js';
import { Host } from './host.js';
import type { Keys } from './keys.js';
import { replayDialect } from './replay.js';
import { Session, type MakeDialect } from './session.js';
import type { Answer, Application, Exchange, Handshake, Socket } from './socket.js';

export interface ServerOptions {
  readonly engine: Engine;
  readonly keys: Keys;
  /** Default: the built-in designs. */
  readonly designs?: DesignRegistry;
  /** For sockets that choose none. Default `chain`. */
  readonly defaultDesign?: string;
  /** Dialects by name, for a design of an embedder's own. */
  readonly dialects?: Readonly<Record<string, MakeDialect>>;
  /** Bytes of the content-keyed token cache. Default 256 MiB. */
  readonly tokenCacheBytesMax?: number;
  /** What the token cache asks for tokens that it lacks: the engine's own tokenizer. Default o200k_base. */
  readonly tokenizer?: Tokenizer;
  /** Text of `GET /metrics`. Default: not served. */
  readonly metrics?: () => Promise<string>;
  /** A fault of our own, for the log. Default: a process warning. */
  readonly failed?: (fault: unknown) => void;
}

const builtinDialects: Readonly<Record<DialectName, MakeDialect>> = {
  append: (parts) => new AppendDialect(parts),
  chain: chainDialect,
  replay: replayDialect,
};

const socketPath = '/v1/responses';

export class Server implements Application {
  readonly host: Host;
  readonly #options: ServerOptions;
  readonly #designs: DesignRegistry;
  readonly #defaultDesign: Design;
  readonly #dialects: Readonly<Record<string, MakeDialect>>;
  #drained: Promise<void> | null = null;

  /** @throws RangeError where the default design is not registered. */
  constructor(options: ServerOptions) {
    this.#options = options;
    this.#designs = options.designs ?? new DesignRegistry();
    this.#dialects = { ...builtinDialects, ...options.dialects };
    const name = options.defaultDesign ?? 'chain';
    const chosen = this.#designs.get(name);
    if (chosen === null)
      throw new RangeError(`no design "${name}"; there are ${this.#designs.names.join(', ')}`);
    this.#defaultDesign = chosen;
    const { engine } = options;
    const tokenCache = cachedTokenizer(options.tokenizer ?? o200kTokenizer(engine.clock), {
      bytesMax: options.tokenCacheBytesMax ?? 256 * 1024 * 1024,
    });
    const failed =
      options.failed ?? ((fault) => process.emitWarning(fault instanceof Error ? fault : String(fault)));
    this.host = new Host(engine, tokenCache, failed);
  }

  failed(fault: unknown): void {
    this.host.failed(fault);
  }

  admit(handshake: Handshake): Answer | null {
    if (handshake.path !== socketPath) return refusal(notServed(handshake.path));
    if (this.#options.keys.credentialFor(handshake.headers.get('authorization')) === null)
      return refusal(badKey());
    try {
      this.host.requireOpen();
      this.#requireRoom();
      this.#designOf(handshake);
      return null;
    } catch (fault) {
      if (fault instanceof ProtocolError) return refusal(fault);
      throw fault;
    }
  }

  opened(socket: Socket, handshake: Handshake): (code: number) => void {
    const credential = this.#options.keys.credentialFor(handshake.headers.get('authorization'));
    const design = this.#designOf(handshake);
    const makeDialect = this.#dialects[design.dialect];
    if (credential === null || makeDialect === undefined) {
      socket.close(1008, 'not admitted');
      return () => undefined;
    }
    const session = new Session(this.host, socket, design, credential, makeDialect);
    this.host.sessions.add(session);
    return () => session.closed();
  }

  async answer(exchange: Exchange): Promise<Answer> {
    const { path, method } = exchange;
    if (path === '/healthz') return text(200, 'ok\n');
    if (path === '/readyz') return this.host.draining ? text(503, 'shutting down\n') : text(200, 'ready\n');
    if (path === '/metrics' && this.#options.metrics !== undefined)
      return text(200, await this.#options.metrics());
    if (this.#options.keys.credentialFor(exchange.headers.get('authorization')) === null)
      return refusal(badKey());
    if (path === '/counters') return json(200, this.#counters());
    if (path !== socketPath) return refusal(notServed(path));
    if (method === 'GET')
      return refusal(new ProtocolError('upgrade_required', 'Open a WebSocket on this path.'), {
        upgrade: 'websocket',
      });
    return refusal(
      new ProtocolError(
        'method_not_allowed',
        `${method} is not served on this path; open a WebSocket on it.`,
      ),
    );
  }

  /**
   * The way out: no new Response, running ones may end within `shutdownMsMax`, suspended ones are told that they are
   * lost and end, every socket is closed with 1012. Resolves when all of it is done, also when it is called again.
   */
  drain(): Promise<void> {
    return (this.#drained ??= this.#drain());
  }

  async #drain(): Promise<void> {
    this.host.draining = true;
    for (const session of this.host.sessions) session.draining();
    const { engine } = this.host;
    const waits = engine.live().map((response) => new IdleWait(response));
    using _deadline = engine.clock.after(engine.limits.shutdownMsMax, () => {
      for (const wait of waits) wait.end();
    });
    await Promise.all(waits.map((wait) => this.#endWell(wait)));
    for (const session of this.host.sessions) session.close(1012, 'the server is shutting down');
  }

  async #endWell({ response, over }: IdleWait): Promise<void> {
    await over;
    if (response.settlement === null) {
      this.host.holders.holderOf(response)?.lost(response);
      response.cancel();
    }
    await response.settled;
  }

  #requireRoom(): void {
    const { socketsMax } = this.host.engine.limits;
    if (this.host.sessions.size >= socketsMax)
      throw new ProtocolError('rate_limit_exceeded', `At most ${socketsMax} sockets at once.`, {
        retryAfterSeconds: 1,
      });
  }

  #designOf(handshake: Handshake): Design {
    const name = handshake.query.get('design') ?? handshake.headers.get('x-response-design');
    if (name === null || name === undefined) return this.#defaultDesign;
    const design = this.#designs.get(name);
    if (design !== null) return design;
    const known = this.#designs.names.join(', ');
    throw new ProtocolError('invalid_value', `Unknown design "${name.slice(0, 64)}"; there are ${known}.`, {
      param: 'design',
    });
  }

  /** Cumulative figures for clients that measure: cheap to read, because reading them is measured too. */
  #counters(): object {
    const cpu = process.cpuUsage();
    return {
      cpu_us: cpu.user + cpu.system,
      rss_bytes: process.memoryUsage.rss(),
      stage_runs: this.host.engine.stageRuns,
      traffic: this.host.traffic,
      live: this.host.engine.liveCount,
      sockets: this.host.sessions.size,
    };
  }
}

/** Waits until a Response waits for its client or has ended, or until it is told to wait no longer. */
class IdleWait {
  readonly response: LiveResponse;
  readonly over: Promise<void>;
  readonly #resolve: () => void;
  #leave: () => void = () => undefined;

  constructor(response: LiveResponse) {
    this.response = response;
    const { promise, resolve } = deferred<void>();
    this.over = promise;
    this.#resolve = resolve;
    this.#look();
  }

  end(): void {
    this.#leave();
    this.#resolve();
  }

  #look(): void {
    const { response } = this;
    if (response.suspended || response.settlement !== null) this.#resolve();
    // A microtask later, because the log wakes its readers before the entry is part of the snapshot.
    else this.#leave = response.whenBeyond(response.lastNumber + 1, () => queueMicrotask(() => this.#look()));
  }
}

function badKey(): ProtocolError {
  return new ProtocolError(
    'invalid_api_key',
    'Incorrect or missing API key; send authorization: Bearer <key>.',
  );
}

function notServed(path: string): ProtocolError {
  return new ProtocolError('not_found', `Nothing is served at ${path.slice(0, 128)}.`);
}

function refusal(error: ProtocolError, headers: Readonly<Record<string, string>> = {}): Answer {
  const body = error.toBody();
  return { ...json(error.status, { error: body }), headers: { ...headers, ...body.headers } };
}

function json(status: number, value: object): Answer {
  return { status, contentType: 'application/json', body: JSON.stringify(value) };
}

function text(status: number, body: string): Answer {
  return { status, contentType: 'text/plain; charset=utf-8', body };
}
