/**
 * HTTP on node:http.
 *
 * 1. Texts of one `send` leave in one write: the connection is corked around them. (The response's own cork would make
 *    one chunk of them.)
 * 2. Listeners are on the request and the response, which go with the exchange, never on the connection, which stays.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { addHeader, splitTarget } from './adapter.js';
import type { Bounds } from './adapter.js';
import { OpenExchange } from './open-exchange.js';
import type { Asked, Reply } from './open-exchange.js';
import type { Answer, Application } from './socket.js';

export function copyRequest(request: IncomingMessage): Asked {
  const headers = new Map<string, string>();
  for (const [name, value] of headerLines(request)) addHeader(headers, name, value);
  return { method: request.method ?? 'GET', ...splitTarget(request.url ?? '/'), headers };
}

/** The head of a request as its client sent it, less the offer of an upgrade. */
export function withoutUpgrade(request: IncomingMessage): Buffer {
  const kept = headerLines(request).filter(([name]) => !/^(connection|upgrade|http2-settings)$/i.test(name));
  const lines = [
    `${request.method ?? 'GET'} ${request.url ?? '/'} HTTP/${request.httpVersion}`,
    ...kept.map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

function headerLines({ rawHeaders }: IncomingMessage): [name: string, value: string][] {
  const lines: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    lines.push([rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '']);
  return lines;
}

/** Takes over one request. */
export function serveExchange(
  application: Application,
  bounds: Bounds,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (response.socket === null) {
    // A second request before the first is answered. The native server cuts such a connection; and nobody would be
    // told of its end, which Node tells only to the response whose turn it is.
    request.socket.destroy();
    return;
  }
  const reply = new NodeReply(response);
  const exchange = new OpenExchange(application, copyRequest(request), reply, bounds);
  reply.onDrained = () => exchange.measure();
  response.on('close', () => exchange.lost());
  // Its faults end the connection, and that is told by the close of the response.
  request.on('error', () => {});
  response.on('error', () => {});
  // A body that is refused is read all the same, and dropped, so that the connection can go on.
  request.on('data', (piece: Buffer) => exchange.received(piece));
  request.on('end', () => exchange.receivedAll());
  exchange.admit();
}

/** An answer that is known whole. */
export function writeAnswer(response: ServerResponse, answer: Answer): void {
  response.writeHead(answer.status, {
    ...answer.headers,
    'content-type': answer.contentType,
    'content-length': Buffer.byteLength(answer.body),
  });
  response.end(answer.body);
}

class NodeReply implements Reply {
  onDrained: () => void = () => {};
  readonly #response: ServerResponse;
  readonly #flushed = (fault?: Error | null): void => {
    // A buffer that was lost with its connection has not drained: the close will tell. (Node calls back without a
    // fault where the connection was destroyed.)
    if (!fault && this.#response.socket?.destroyed === false) this.onDrained();
  };

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  answer(answer: Answer): void {
    writeAnswer(this.#response, answer);
  }

  open(headers: Readonly<Record<string, string>>): void {
    this.#response.on('drain', () => this.#flushed());
    this.#response.writeHead(200, headers);
    this.#response.flushHeaders();
  }

  write(texts: readonly string[]): void {
    const tcp = this.#response.socket;
    tcp?.cork();
    // A small bound lies under the stream's own high-water mark, below which there is no `drain`: the last text's
    // callback says it too.
    texts.forEach((text, index) => {
      this.#response.write(text, index === texts.length - 1 ? this.#flushed : undefined);
    });
    tcp?.uncork();
  }

  bufferedBytes(): number {
    return this.#response.writableLength;
  }

  end(): void {
    this.#response.end();
  }

  cut(): void {
    this.#response.destroy();
  }
}
