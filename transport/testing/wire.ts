/**
 * One test body over three wires: the in-memory pair, uWebSockets.js (left out only where its binary cannot load) and
 * node:http with ws. The engine is a `Lab`, so its time moves only by hand; the sockets are real on the latter two.
 */
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { test } from 'node:test';

import type { LiveResponse, Limits } from '../../engine/index.js';
import type { Script } from '../../engine/samplers/script.js';
import { Lab, unitTokenizer, type LabOptions } from '../../engine/testing/lab.js';
import { Keys } from '../keys.js';
import { Arrivals } from '../loopback.js';
import { Server, type ServerOptions } from '../server.js';
import type { Application } from '../socket.js';
import { adapters, wireAdapters, WireServer, type Adapter, type TAnswer, type TServer } from './adapters.js';
import { HttpPeer, type HttpOptions } from './http-peer.js';
import { TPeer } from './peer.js';

export interface ServeOptions extends LabOptions {
  readonly limits?: Partial<Limits>;
  /** Default: none, so that everybody is the same caller. */
  readonly keys?: readonly string[];
  readonly server?: Omit<Partial<ServerOptions>, 'engine' | 'keys'>;
}

export interface ConnectOptions {
  /** Default `append`; null names none. */
  readonly design?: string | null;
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

function targetOf({ design = 'append', query = {} }: ConnectOptions): string {
  const search = new URLSearchParams({ ...(design === null ? {} : { design }), ...query });
  return `/v1/responses${search.size === 0 ? '' : `?${search.toString()}`}`;
}

function headersOf({ key, headers = {} }: ConnectOptions): Record<string, string> {
  return { ...headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) };
}

/** A server under test. */
export class Serving implements AsyncDisposable {
  readonly lab: Lab;
  readonly server: Server;
  /** What the server called a fault of its own. A test that ends with one fails, unless it has taken it out. */
  readonly faults: unknown[] = [];
  /** One code for each socket that the server knows to be closed. */
  readonly closings = new Arrivals<number>();
  #listening: TServer | null = null;

  constructor(script: Script, { limits = {}, keys = [], server = {}, engine, ...scripted }: ServeOptions) {
    this.lab = new Lab(script, { ...scripted, engine: { ...engine, limits } });
    this.server = new Server({
      tokenizer: engine?.tokenizer ?? unitTokenizer,
      ...server,
      engine: this.lab.engine,
      keys: new Keys(keys),
      failed: (fault) => this.faults.push(fault),
    });
  }

  get listening(): TServer {
    assert.ok(this.#listening);
    return this.#listening;
  }

  /** `http://127.0.0.1:PORT`, on a wire that has a network. */
  get url(): string {
    assert.ok(this.listening instanceof WireServer);
    return `http://127.0.0.1:${this.listening.listening.port}`;
  }

  async start(adapter: Adapter): Promise<this> {
    const { frameBytesMax, sendBufferBytesMax } = this.lab.engine.limits;
    this.#listening = await adapter.start(this.#observed(), { frameBytesMax, sendBufferBytesMax });
    return this;
  }

  async connect(options: ConnectOptions = {}): Promise<TPeer> {
    return new TPeer(await this.listening.connect(targetOf(options), headersOf(options)));
  }

  /** The answer to an upgrade that is refused. */
  refused(options: ConnectOptions = {}): Promise<TAnswer> {
    return this.listening.refused(targetOf(options), headersOf(options));
  }

  /**
   * From now on each request has a connection of its own: the native server ends one behind an answer to HEAD, without
   * a word, so that a request that follows on it is lost.
   */
  keepNoConnections(): void {
    if (this.listening instanceof WireServer) this.listening.agent = new Agent({ keepAlive: false });
  }

  /** A client that speaks HTTP. */
  http(options: Partial<HttpOptions> = {}): HttpPeer {
    return new HttpPeer(this.listening, { design: null, ...options });
  }

  exchange(method: string, target: string, options: ConnectOptions = {}): Promise<TAnswer> {
    return this.listening.exchange(method, target, headersOf(options));
  }

  /** The only Response of that id, whoever owns it. */
  response(id: string, credential = 'open'): LiveResponse {
    const response = this.lab.engine.get(id, credential);
    assert.ok(response, `no response ${id}`);
    return response;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab.engine[Symbol.asyncDispose]();
    await this.listening[Symbol.asyncDispose]();
    assert.deepEqual(this.faults, []);
  }

  #observed(): Application {
    const { server, closings } = this;
    return {
      admit: (handshake) => server.admit(handshake),
      answer: (exchange) => server.answer(exchange),
      failed: (fault) => server.failed(fault),
      opened(socket, handshake) {
        const closed = server.opened(socket, handshake);
        return (code) => {
          closed(code);
          closings.add(code);
        };
      },
    };
  }
}

export interface Wire {
  readonly name: string;
  /** A server whose model plays the script. */
  serve(script: Script, options?: ServeOptions): Promise<Serving>;
}

/**
 * Registers a test for each wire. Its time limit is a net for a wait that never ends, not a part of any test: at it the
 * sockets are closed, so that the wait ends.
 */
export function overEveryWire(name: string, body: (wire: Wire) => Promise<void>): void {
  for (const adapter of adapters) register(adapter, name, body);
}

/** The same on the wires that have a network, for what needs one: the typed client, HTTP. */
export function overEveryNetwork(name: string, body: (wire: Wire) => Promise<void>): void {
  for (const adapter of wireAdapters) register(adapter, name, body);
}

function register(adapter: Adapter, name: string, body: (wire: Wire) => Promise<void>): void {
  test(`${adapter.name}: ${name}`, { timeout: 20_000 }, ({ signal }) =>
    body({
      name: adapter.name,
      async serve(script, options = {}) {
        const serving = await new Serving(script, options).start(adapter);
        signal.addEventListener('abort', () => void serving.listening[Symbol.asyncDispose]());
        return serving;
      },
    }),
  );
}
