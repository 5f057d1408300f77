/**
 * The three adapters as one, for tests that must hold on each: a server and its clients. Clients queue every frame from the first moment, so that no test depends on when it looks.
 */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket as TcpSocket } from 'node:net';
import { WebSocket } from 'ws';
import type { Every } from '../adapter.js';
import { Arrivals, LoopbackClient, loopback } from '../loopback.js';
import type { Closing } from '../loopback.js';
import { listenNode } from '../node.js';
import type { Application, Listen, Listening } from '../socket.js';
import { loadUws } from '../uws.js';

export interface TClient {
  readonly frames: Arrivals<string>;
  readonly closed: Promise<Closing>;
  send(text: string): void;
  sendBinary(): void;
  close(code?: number, reason?: string): void;
  drop(): void;
  pause(): void;
  resume(): void;
}

export interface TAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export interface WireAnswer extends TAnswer {
  readonly headers: IncomingHttpHeaders;
}

export interface TBounds {
  readonly frameBytesMax: number;
  readonly sendBufferBytesMax: number;
}

export interface TServer extends AsyncDisposable {
  /** Rejects where the upgrade is refused. */
  connect(target: string, headers?: Record<string, string>): Promise<TClient>;
  refused(target: string, headers?: Record<string, string>): Promise<TAnswer>;
  exchange(method: string, target: string, headers?: Record<string, string>): Promise<TAnswer>;
}

/** A client over TCP. */
export class WireClient implements TClient {
  readonly frames = new Arrivals<string>();
  /** What came with each ping and pong. */
  readonly pings = new Arrivals<string>();
  readonly pongs = new Arrivals<string>();
  readonly closed: Promise<Closing>;
  readonly webSocket: WebSocket;

  constructor(url: string, headers: Record<string, string> = {}, autoPong = true) {
    const webSocket = new WebSocket(url, { headers, perMessageDeflate: false, autoPong });
    this.webSocket = webSocket;
    webSocket.on('message', (frame: Buffer) => this.frames.add(frame.toString()));
    webSocket.on('ping', (payload) => this.pings.add(payload.toString()));
    webSocket.on('pong', (payload) => this.pongs.add(payload.toString()));
    // The close that follows an error tells enough.
    webSocket.on('error', () => {});
    this.closed = new Promise((resolve) => {
      webSocket.on('close', (code, reason) => {
        const closing = { code, reason: reason.toString() };
        const ending = new Error(`The socket closed with ${code} ${closing.reason}`);
        for (const queue of [this.frames, this.pings, this.pongs]) queue.end(ending);
        resolve(closing);
      });
    });
  }

  get tcp(): TcpSocket {
    return (this.webSocket as unknown as { _socket: TcpSocket })._socket;
  }

  send(text: string): void {
    this.webSocket.send(text);
  }

  sendBinary(): void {
    this.webSocket.send(Buffer.from([1, 2, 3]));
  }

  close(code = 1000, reason = ''): void {
    this.webSocket.close(code, reason);
  }

  drop(): void {
    this.tcp.resetAndDestroy();
  }

  pause(): void {
    this.tcp.pause();
  }

  resume(): void {
    this.tcp.resume();
  }
}

async function readAnswer(response: IncomingMessage): Promise<WireAnswer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const contentType = response.headers['content-type'] ?? '';
  const body = Buffer.concat(chunks).toString();
  return { status: response.statusCode ?? 0, contentType, body, headers: response.headers };
}

/** A server that listens on a port of its own. */
export class WireServer implements TServer {
  readonly listening: Listening;

  constructor(listening: Listening) {
    this.listening = listening;
  }

  url(target: string): string {
    return `ws://127.0.0.1:${this.listening.port}${target}`;
  }

  async connect(target: string, headers?: Record<string, string>, autoPong = true): Promise<WireClient> {
    const client = new WireClient(this.url(target), headers, autoPong);
    await once(client.webSocket, 'open');
    return client;
  }

  async refused(target: string, headers?: Record<string, string>): Promise<WireAnswer> {
    const client = new WireClient(this.url(target), headers);
    const [, response] = await once(client.webSocket, 'unexpected-response');
    return readAnswer(response as IncomingMessage);
  }

  async exchange(
    method: string,
    target: string,
    headers: Record<string, string> = {},
    body = '',
  ): Promise<WireAnswer> {
    const asked = httpRequest({
      host: '127.0.0.1',
      port: this.listening.port,
      method,
      path: target,
      headers,
    });
    asked.end(body);
    const [response] = await once(asked, 'response');
    return readAnswer(response as IncomingMessage);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.listening.close();
  }
}

class LoopbackServer implements TServer {
  readonly #pair: ReturnType<typeof loopback>;

  constructor(application: Application, bounds: TBounds) {
    this.#pair = loopback(application, bounds);
  }

  async connect(target: string, headers?: Record<string, string>): Promise<TClient> {
    const client = this.#pair.connect(target, headers);
    if (client instanceof LoopbackClient) return client;
    throw new Error(`The upgrade was refused with ${client.status}.`);
  }

  async refused(target: string, headers?: Record<string, string>): Promise<TAnswer> {
    const answer = this.#pair.connect(target, headers);
    if (answer instanceof LoopbackClient) throw new Error('The upgrade was let in.');
    return answer;
  }

  exchange(method: string, target: string, headers?: Record<string, string>): Promise<TAnswer> {
    return this.#pair.exchange(method, target, headers);
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Pings when the test says so. */
export class HandTurned {
  readonly #ticks = new Set<() => void>();

  readonly every: Every = (_ms, tick) => {
    this.#ticks.add(tick);
    return { [Symbol.dispose]: () => this.#ticks.delete(tick) };
  };

  tick(): void {
    for (const tick of this.#ticks) tick();
  }
}

export const tBounds: TBounds = { frameBytesMax: 2 ** 20, sendBufferBytesMax: 2 ** 16 };

export interface WireAdapter {
  readonly name: string;
  readonly start: (application: Application, bounds?: Partial<TBounds>, every?: Every) => Promise<WireServer>;
}

export interface Adapter {
  readonly name: string;
  readonly start: (application: Application, bounds?: Partial<TBounds>) => Promise<TServer>;
}

function overTcp(name: string, load: (every?: Every) => Promise<Listen>): WireAdapter {
  return {
    name,
    async start(application, bounds = {}, every) {
      const listen = await load(every);
      const options = { host: '127.0.0.1', port: 0, pingMs: Infinity, ...tBounds, ...bounds };
      return new WireServer(await listen(application, options));
    },
  };
}

const loads = await loadUws().then(
  () => true,
  () => false,
);

export const nodeAdapter = overTcp(
  'node',
  async (every) => (application, options) => listenNode(application, options, every),
);

/** The servers that run on this platform. */
export const wireAdapters: readonly WireAdapter[] = [
  ...(loads ? [overTcp('uws', loadUws)] : []),
  nodeAdapter,
];

/** Those, and the in-memory pair. */
export const adapters: readonly Adapter[] = [
  ...wireAdapters,
  {
    name: 'loopback',
    start: async (application, bounds = {}) => new LoopbackServer(application, { ...tBounds, ...bounds }),
  },
];
