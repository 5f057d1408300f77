/** A server that listens, and its clients over TCP. */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { Agent, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket as TcpSocket } from 'node:net';
import { WebSocket } from 'ws';
import { Arrivals } from '../loopback.js';
import type { Closing } from '../loopback.js';
import type { Listening } from '../socket.js';
import type { TAnswer, TAsk, TClient, TServer, TStream } from './clients.js';

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

async function readAnswer(response: IncomingMessage): Promise<TAnswer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const contentType = response.headers['content-type'] ?? '';
  const body = Buffer.concat(chunks).toString();
  return { status: response.statusCode ?? 0, contentType, body, headers: response.headers };
}

/** A streamed answer over TCP. */
class WireStream implements TStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly chunks = new Arrivals<string>();
  readonly ended: Promise<void>;
  readonly #response: IncomingMessage;

  constructor(response: IncomingMessage) {
    this.#response = response;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      // What one adapter sends to have its headers leave at once.
      if (chunk !== ':\n\n') this.chunks.add(chunk);
    });
    // The close that follows an error tells enough.
    response.on('error', () => {});
    this.ended = new Promise((resolve, reject) => {
      response.on('close', () => {
        const ending = new Error(response.complete ? 'The stream has ended.' : 'The connection broke.');
        this.chunks.end(ending);
        if (response.complete) resolve();
        else reject(ending);
      });
    });
    // Not every test waits for it.
    this.ended.catch(() => {});
  }

  drop(): void {
    this.#response.socket.resetAndDestroy();
  }

  pause(): void {
    this.#response.pause();
  }

  resume(): void {
    this.#response.resume();
  }
}

/** A server that listens on a port of its own. */
export class WireServer implements TServer {
  readonly listening: Listening;
  /** Node's own by default; a test that counts connections gives one. */
  agent: Agent | undefined;

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

  async refused(target: string, headers?: Record<string, string>): Promise<TAnswer> {
    const client = new WireClient(this.url(target), headers);
    const [, response] = await once(client.webSocket, 'unexpected-response');
    return readAnswer(response as IncomingMessage);
  }

  async exchange(...ask: TAsk): Promise<TAnswer> {
    const { status, headers, chunks, ended } = await this.stream(...ask);
    await ended;
    return { status, headers, contentType: headers['content-type'] ?? '', body: chunks.received.join('') };
  }

  stream(...[method, path, given = {}, body = '', signal]: TAsk): Promise<TStream> {
    const { port } = this.listening;
    const isWhole = typeof body === 'string' || body instanceof Uint8Array;
    // Node frames the body of some methods only when it is told to.
    const framing = isWhole
      ? { 'content-length': Buffer.byteLength(body) }
      : { 'transfer-encoding': 'chunked' };
    const headers = body.length === 0 ? given : { ...framing, ...given };
    const asked = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent: this.agent, signal });
    for (const piece of isWhole ? [body] : body) asked.write(piece);
    asked.end();
    return new Promise((resolve, reject) => {
      asked.on('error', reject);
      // It reads from this very call on, so that no two chunks become one.
      asked.on('response', (response) => resolve(new WireStream(response)));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.listening.close();
  }
}
