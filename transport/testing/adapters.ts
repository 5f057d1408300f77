/**
 * The three adapters as one, for tests that must hold on each: a server and its clients. Clients queue every frame from the first moment, so that no test depends on when it looks.
 */
import type { Every } from '../adapter.js';
import { Arrivals, LoopbackClient, LoopbackStream, loopback } from '../loopback.js';
import { listenNode } from '../node.js';
import type { Answer, Application, Listen } from '../socket.js';
import { loadUws } from '../uws.js';
import type { TAnswer, TAsk, TBounds, TClient, TServer, TStream } from './clients.js';
import { WireServer } from './tcp.js';

export type { TAnswer, TAsk, TBounds, TClient, TServer, TStream } from './clients.js';
export { WireClient, WireServer } from './tcp.js';

function told({ status, contentType, body, headers }: Answer): TAnswer {
  return { status, contentType, body, headers: { ...headers, 'content-type': contentType } };
}

function streamed(stream: LoopbackStream): TStream {
  return {
    status: stream.status,
    headers: stream.headers,
    chunks: stream.texts,
    ended: stream.ended,
    drop: () => stream.drop(),
    pause: () => stream.pause(),
    resume: () => stream.resume(),
  };
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
    return told(answer);
  }

  async exchange(...ask: TAsk): Promise<TAnswer> {
    const answer = await this.#pair.exchange(...ask);
    if (!(answer instanceof LoopbackStream)) return told(answer);
    await answer.ended;
    const { status, headers, texts } = answer;
    return { status, headers, contentType: headers['content-type'] ?? '', body: texts.received.join('') };
  }

  async stream(...ask: TAsk): Promise<TStream> {
    const answer = await this.#pair.exchange(...ask);
    if (answer instanceof LoopbackStream) return streamed(answer);
    const chunks = new Arrivals<string>();
    if (answer.body !== '') chunks.add(answer.body);
    chunks.end(new Error('The answer has ended.'));
    const { status, headers } = told(answer);
    return { status, headers, chunks, ended: Promise.resolve(), drop() {}, pause() {}, resume() {} };
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
