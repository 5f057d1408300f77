/**
 * The server as an application of the socket port: who may open a socket, which dialect it speaks, the few HTTP
 * routes, and the way out.
 */
import {
  cachedTokenizer,
  o200kTokenizer,
  ProtocolError,
  type Engine,
  type Tokenizer,
} from '../engine/index.js';
import { AppendDialect } from './append.js';
import { ChainContinuity } from './chain.js';
import type { MakeContinuity } from './continuity.js';
import { DesignRegistry, type Design, type DialectName } from './designs.js';
import { Host } from './host.js';
import { createPaths, Http } from './http.js';
import { json, notServed, refusal, text } from './http-answer.js';
import { IdleWait } from './idle-wait.js';
import type { Keys } from './keys.js';
import { Lanes } from './lanes.js';
import { ReplayContinuity } from './replay.js';
import { Session } from './session.js';
import { ShimContinuity } from './shim.js';
import type { Answer, Application, Exchange, Handshake, Socket, StreamAnswer } from './socket.js';

export interface ServerOptions {
  readonly engine: Engine;
  readonly keys: Keys;
  /** Default: the built-in designs. */
  readonly designs?: DesignRegistry;
  /** For sockets and requests that choose none. Default `shim`. */
  readonly defaultDesign?: string;
  /** Per-turn dialects by name, for a design of an embedder's own. */
  readonly dialects?: Readonly<Record<string, MakeContinuity>>;
  /** Bytes of the content-keyed token cache. Default 256 MiB. */
  readonly tokenCacheBytesMax?: number;
  /** What the token cache asks for tokens that it lacks: the engine's own tokenizer. Default o200k_base. */
  readonly tokenizer?: Tokenizer;
  /** Names that `GET /v1/models` lists. Default: none. */
  readonly models?: readonly string[];
  /** False refuses every upgrade with 426, so that clients go over to HTTP. Default true. */
  readonly sockets?: boolean;
  /** Text of `GET /metrics`. Default: not served. */
  readonly metrics?: () => Promise<string>;
  /** A fault of our own, for the log. Default: a process warning. */
  readonly failed?: (fault: unknown) => void;
}

const builtinDialects: Readonly<Record<Exclude<DialectName, 'append'>, MakeContinuity>> = {
  chain: (parts) => new ChainContinuity(parts),
  replay: (parts) => new ReplayContinuity(parts),
  shim: (parts) => new ShimContinuity(parts),
};

export class Server implements Application {
  readonly host: Host;
  readonly #options: ServerOptions;
  readonly #designs: DesignRegistry;
  readonly #defaultDesign: Design;
  readonly #dialects: Readonly<Record<string, MakeContinuity>>;
  readonly #http: Http;
  #drained: Promise<void> | null = null;

  /** @throws RangeError where the default design is not registered. */
  constructor(options: ServerOptions) {
    this.#options = options;
    this.#designs = options.designs ?? new DesignRegistry();
    this.#dialects = { ...builtinDialects, ...options.dialects };
    const name = options.defaultDesign ?? 'shim';
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
    this.#http = new Http({
      host: this.host,
      designOf: (exchange) => this.#designOf(exchange),
      continuityOf: (design) => this.#continuityOf(design),
      models: options.models ?? [],
      sockets: options.sockets ?? true,
    });
  }

  failed(fault: unknown): void {
    this.host.failed(fault);
  }

  admit(handshake: Handshake): Answer | null {
    if (!createPaths.includes(handshake.path)) return refusal(notServed(handshake.path));
    if (this.#options.sockets === false) return refusal(noSockets());
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
    if (credential === null) {
      socket.close(1008, 'not admitted');
      return () => undefined;
    }
    const session = new Session(this.host, socket, design, credential, (parts) =>
      design.dialect === 'append' ? new AppendDialect(parts) : new Lanes(parts, this.#continuityOf(design)),
    );
    this.host.sessions.add(session);
    return (code) => session.closed(code);
  }

  answer(exchange: Exchange): Answer | StreamAnswer | Promise<Answer | StreamAnswer> {
    const { path } = exchange;
    if (path === '/healthz') return text(200, 'ok\n');
    if (path === '/readyz') return this.host.draining ? text(503, 'shutting down\n') : text(200, 'ready\n');
    const { metrics, keys } = this.#options;
    if (path === '/metrics' && metrics !== undefined) return metrics().then((page) => text(200, page));
    const credential = keys.credentialFor(exchange.headers.get('authorization'));
    if (credential === null) return refusal(badKey());
    if (path === '/counters') return json(200, this.#counters());
    return this.#http.answer(exchange, credential);
  }

  /**
   * Other keys from now on. A caller whose key is not among them is cut off: its sockets are closed with 1008, its
   * Responses end, and nothing more is generated for it.
   * @throws RangeError where the server has no keys, or would have none.
   */
  replaceKeys(keys: readonly string[]): void {
    const revoked = new Set(this.#options.keys.replace(keys));
    for (const session of this.host.sessions)
      if (revoked.has(session.credential)) session.close(1008, 'the key was revoked');
    for (const response of this.host.engine.live()) if (revoked.has(response.credential)) response.cancel();
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
    // Whoever waits for one answer gets it in this turn of the loop.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    for (const session of this.host.sessions) session.close(1012, 'the server is shutting down');
    this.#http.close();
  }

  async #endWell({ response, over }: IdleWait): Promise<void> {
    await over;
    if (response.settlement === null) {
      this.host.holders.holderOf(response)?.lost(response);
      response.cancel();
    }
    await response.settled;
  }

  #continuityOf({ name, dialect }: Design): MakeContinuity {
    const make = this.#dialects[dialect];
    if (make === undefined) throw new Error(`no dialect "${dialect}" for the design "${name}"`);
    return make;
  }

  #requireRoom(): void {
    const { socketsMax } = this.host.engine.limits;
    if (this.host.sessions.size >= socketsMax)
      throw new ProtocolError('rate_limit_exceeded', `At most ${socketsMax} sockets at once.`, {
        retryAfterSeconds: 1,
      });
  }

  #designOf({ query, headers }: Pick<Handshake, 'query' | 'headers'>): Design {
    const name = query.get('design') ?? headers.get('x-response-design');
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

function noSockets(): ProtocolError {
  return new ProtocolError(
    'websockets_disabled',
    'No WebSockets are served here; POST to this path instead.',
  );
}

function badKey(): ProtocolError {
  return new ProtocolError(
    'invalid_api_key',
    'Incorrect or missing API key; send authorization: Bearer <key>.',
  );
}
