/**
 * A relay between Codex and the server. It passes bytes on unchanged, keeps what passed, and can
 * cut connections and let new ones wait.
 *
 * Codex goes over to HTTP without a word where a socket fails it, so a test has to ask the relay what was really used.
 */
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';

import { deferred } from '../../../engine/index.js';
import { Checkpoint } from './checkpoint.js';
import { FrameReader, StreamReader } from './frames.js';

/** Fields that nobody has looked at. */
export type Wire = Readonly<Record<string, unknown>>;

export type Passed =
  | { readonly kind: 'upgrade'; readonly status: number }
  | { readonly kind: 'post'; readonly status: number }
  /** What the client sent: the frame, or the body of a POST. `connection` counts from 1. */
  | {
      readonly kind: 'create';
      readonly over: 'socket' | 'http';
      readonly connection: number;
      readonly event: Wire;
    }
  /** What the server sent: a frame, or an event of a stream over HTTP. */
  | { readonly kind: 'event'; readonly connection: number; readonly event: Wire };

export type Create = Extract<Passed, { kind: 'create' }>;

function isCreate(passed: Passed): passed is Create {
  return passed.kind === 'create';
}

function isEvent(passed: Passed): passed is Extract<Passed, { kind: 'event' }> {
  return passed.kind === 'event';
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
}

function parsed(text: string): Wire {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) throw new Error(`no object passed: ${text}`);
  return { ...value };
}

function headOf({ method, url, rawHeaders }: IncomingMessage): string {
  const lines = [`${method ?? 'GET'} ${url ?? '/'} HTTP/1.1`];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    lines.push(`${rawHeaders[at] ?? ''}: ${rawHeaders[at + 1] ?? ''}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

export class Relay implements AsyncDisposable {
  readonly passed: Passed[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #connections = new Set<Socket>();
  readonly #server = createServer((asked, answer) => {
    // A request that is cut while it is read gets no answer.
    this.#exchange(asked, answer).catch(() => answer.destroy());
  });
  readonly #upstreamPort: number;
  #door = new Checkpoint();
  #count = 0;
  /** Connections up to this one are muted. */
  #muted = 0;

  private constructor(upstreamPort: number) {
    this.#upstreamPort = upstreamPort;
    this.open();
    this.#server.on('connection', (socket) => this.#keep(socket));
    this.#server.on('upgrade', (asked: IncomingMessage, client: Socket, head: Buffer) => {
      void this.#door.arrive().then(() => this.#upgrade(asked, client, head));
    });
  }

  static async before(upstreamPort: number): Promise<Relay> {
    const relay = new Relay(upstreamPort);
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the relay does not listen');
    return `http://127.0.0.1:${address.port}`;
  }

  /** Creates so far, over sockets and HTTP. */
  get creates(): Create[] {
    return this.passed.filter(isCreate);
  }

  /** The status of every upgrade, in order. */
  get upgrades(): number[] {
    return this.passed.flatMap((each) => (each.kind === 'upgrade' ? [each.status] : []));
  }

  /** The status of every POST, in order. */
  get posts(): number[] {
    return this.passed.flatMap((each) => (each.kind === 'post' ? [each.status] : []));
  }

  /** The code of every `error` event, in order. */
  get errors(): unknown[] {
    return this.events('error').map(({ error }) => codeOf(error));
  }

  /** Events of that type so far, in order. */
  events(type: string): Wire[] {
    return this.passed.filter(isEvent).flatMap(({ event }) => (event['type'] === type ? [event] : []));
  }

  /** Resolves as soon as the condition holds; it is looked at whenever something passes. */
  async until(condition: () => boolean): Promise<void> {
    const held = deferred<void>();
    const look = (): void => {
      if (condition()) held.resolve();
    };
    this.#waiting.add(look);
    look();
    try {
      await held.promise;
    } finally {
      this.#waiting.delete(look);
    }
  }

  /** Breaks every connection, as a network does: no close frame, no end of a body. The server has noticed. */
  async cut(): Promise<void> {
    const cuts = Array.from(this.#connections, (socket) => {
      const closed = once(socket, 'close');
      // One that has said its last byte cannot be reset any more.
      if (socket.writableEnded) socket.destroy();
      else socket.resetAndDestroy();
      return closed;
    });
    await Promise.all(cuts);
    // The server reads the resets before it accepts a connection that was made after them.
    await fetch(`http://127.0.0.1:${this.#upstreamPort}/healthz`);
  }

  /** Loses what the server sends from now on to the connections there are. It still passes for the test. */
  mute(): void {
    this.#muted = this.#count;
  }

  /** From now on a new connection waits at the door. */
  shut(): void {
    this.#door = new Checkpoint();
  }

  open(): void {
    this.#door.open();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#connections) socket.destroy();
    this.open();
    await closed;
  }

  #note(passed: Passed): void {
    this.passed.push(passed);
    for (const look of this.#waiting) look();
  }

  #keep(socket: Socket): void {
    this.#connections.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#connections.delete(socket));
  }

  #upgrade(asked: IncomingMessage, client: Socket, head: Buffer): void {
    const connection = ++this.#count;
    const upstream = connect(this.#upstreamPort, '127.0.0.1');
    this.#keep(upstream);
    upstream.write(headOf(asked));
    upstream.write(head);
    const creates = new FrameReader((text) =>
      this.#note({ kind: 'create', over: 'socket', connection, event: parsed(text) }),
    );
    const events = new FrameReader((text) => this.#note({ kind: 'event', connection, event: parsed(text) }));
    let answer: Buffer | null = Buffer.alloc(0);
    client.on('data', (chunk: Buffer) => creates.push(chunk));
    upstream.on('data', (chunk: Buffer) => {
      if (answer === null) return events.push(chunk);
      answer = Buffer.concat([answer, chunk]);
      const end = answer.indexOf('\r\n\r\n');
      if (end === -1) return;
      const status = Number(answer.toString('latin1', 9, 12));
      const rest = answer.subarray(end + 4);
      answer = null;
      this.#note({ kind: 'upgrade', status });
      if (status === 101) events.push(rest);
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    upstream.on('data', (chunk: Buffer) => {
      if (connection > this.#muted) client.write(chunk);
    });
    upstream.on('end', () => client.end());
    client.pipe(upstream);
  }

  async #exchange(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const connection = ++this.#count;
    const { method, url, headers } = asked;
    const body = await buffer(asked);
    await this.#door.arrive();
    const target = { port: this.#upstreamPort, host: '127.0.0.1', agent: false };
    const upstream = httpRequest({ ...target, method, path: url, headers });
    upstream.on('socket', (socket) => this.#keep(socket));
    upstream.on('error', () => answer.destroy());
    answer.on('close', () => upstream.destroy());
    upstream.on('response', (given) => {
      if (method === 'POST') this.#note({ kind: 'post', status: given.statusCode ?? 0 });
      answer.writeHead(given.statusCode ?? 500, given.headers);
      answer.flushHeaders();
      given.on('error', () => answer.destroy());
      const events = new StreamReader((text) =>
        this.#note({ kind: 'event', connection, event: parsed(text) }),
      );
      given.on('data', (chunk: Buffer) => events.push(chunk));
      given.on('data', (chunk: Buffer) => {
        if (connection > this.#muted) answer.write(chunk);
      });
      given.on('end', () => {
        if (connection > this.#muted) answer.end();
      });
    });
    upstream.end(body);
    if (method === 'POST')
      this.#note({ kind: 'create', over: 'http', connection, event: parsed(body.toString()) });
  }
}
