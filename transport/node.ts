/**
 * The same server on node:http and `ws`, for platforms on which the native library does not load; node-http.ts is its
 * other half.
 *
 * 1. Frames of one `send` leave in one write: the socket is corked around them.
 * 2. A socket is silent while its `bytesRead` stands still, so a large frame may upload slowly, a dead peer may not
 *    stay.
 *
 * `ws` closes a frame of invalid UTF-8 with 1007, and one over twice the limit with 1009 and no reason; the session
 * sees 1006.
 */
import { once } from 'node:events';
import { ServerResponse, createServer } from 'node:http';
import type { IncomingMessage, Server as HttpServer } from 'node:http';
import type { Socket as TcpSocket } from 'node:net';
import { WebSocketServer } from 'ws';
import type { RawData, WebSocket } from 'ws';
import { admissionOf, everyMs, headerBytesMax, payloadBytesMax, pingMsMax } from './adapter.js';
import type { Every } from './adapter.js';
import { copyRequest, serveExchange, withoutUpgrade, writeAnswer } from './node-http.js';
import { OpenSocket } from './open-socket.js';
import type { Wire } from './open-socket.js';
import type { Answer, Application, Handshake, ListenOptions, Listening } from './socket.js';

/**
 * Listens on node:http. Rejects where the port is taken. `every` is the clock of the pings; tests turn it by hand.
 */
export async function listenNode(
  application: Application,
  options: ListenOptions,
  every: Every = everyMs,
): Promise<Listening> {
  const links = new Set<Link>();
  const server = createServer({ maxHeaderSize: headerBytesMax }, (request, response) => {
    serveExchange(application, options, request, response);
  });
  const upgrade = makeUpgrade(server, application, options, links);
  server.on('upgrade', (request: IncomingMessage, _stream, head: Buffer) => upgrade(request, head));
  server.listen(options.port, options.host);
  await once(server, 'listening');
  const address = server.address();
  const pings = every(Math.min(options.pingMs, pingMsMax), () => {
    for (const link of links) link.beat();
  });
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopped ??= new Promise((resolve) => {
      server.close(() => resolve());
    });
    return stopped;
  };
  return {
    port: address !== null && typeof address === 'object' ? address.port : options.port,
    transport: 'node',
    stopAccepting() {
      void stop();
    },
    async close() {
      pings[Symbol.dispose]();
      const ended = stop();
      for (const link of links) link.drop();
      server.closeAllConnections();
      await ended;
    },
  };
}

function makeUpgrade(
  server: HttpServer,
  application: Application,
  options: ListenOptions,
  links: Set<Link>,
): (request: IncomingMessage, head: Buffer) => void {
  const upgrader = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: payloadBytesMax(options.frameBytesMax),
    // The link answers pings itself: `ws` would cut a socket at 60 unsent pongs.
    autoPong: false,
  });
  return (request, head) => {
    // Its faults end it, and that is told by its close.
    request.socket.on('error', () => {});
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
      // An offer of another protocol (`curl --http2` makes one) is declined by reading the request as one without it.
      request.socket.unshift(Buffer.concat([withoutUpgrade(request), head]));
      server.emit('connection', request.socket);
      return;
    }
    const asked = copyRequest(request);
    const refusal = admissionOf(application, asked);
    if (refusal !== null) {
      refuse(request, refusal);
      return;
    }
    upgrader.handleUpgrade(request, request.socket, head, (webSocket) => {
      const link = new Link(webSocket, request.socket);
      links.add(link);
      webSocket.on('close', () => links.delete(link));
      link.begin(new OpenSocket(application, link, options), asked);
    });
  };
}

/** Answers in plain HTTP on a connection that asked for an upgrade, then ends it. */
function refuse(request: IncomingMessage, answer: Answer): void {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(request.socket);
  response.on('finish', () => request.socket.destroySoon());
  writeAnswer(response, answer);
}

/** One WebSocket over its TCP socket. */
class Link implements Wire {
  readonly #webSocket: WebSocket;
  readonly #tcp: TcpSocket;
  readonly #pulse = new Pulse();
  #flushed: (fault?: Error) => void = () => {};

  constructor(webSocket: WebSocket, tcp: TcpSocket) {
    this.#webSocket = webSocket;
    this.#tcp = tcp;
  }

  /** Ties the link to its open socket, and tells the application. */
  begin(open: OpenSocket, handshake: Handshake): void {
    this.#flushed = (fault) => {
      // A buffer that was lost with its connection has not drained: the close will tell. (Node calls back without a
      // fault where the connection was destroyed.)
      if (!fault && !this.#tcp.destroyed) open.measure();
    };
    this.#tcp.on('drain', () => this.#flushed());
    this.#webSocket.on('message', (frame, isBinary) => open.received(toBuffer(frame), isBinary));
    this.#webSocket.on('ping', (payload) => {
      this.#webSocket.pong(payload);
      open.measure();
    });
    this.#webSocket.on('error', () => open.gone(1006));
    this.#webSocket.on('close', (code) => open.gone(code));
    open.begin(handshake);
  }

  write(frames: readonly string[]): void {
    this.#tcp.cork();
    // A small bound lies under the stream's own high-water mark, below which there is no `drain`: the last frame's
    // callback says it too.
    frames.forEach((frame, index) => {
      this.#webSocket.send(frame, index === frames.length - 1 ? this.#flushed : undefined);
    });
    this.#tcp.uncork();
  }

  bufferedBytes(): number {
    return this.#tcp.writableLength;
  }

  end(code: number, reason: string): void {
    this.#webSocket.close(code, reason);
  }

  beat(): void {
    if (this.#pulse.beat(this.#tcp.bytesRead)) this.#webSocket.ping();
    else this.drop();
  }

  drop(): void {
    this.#webSocket.terminate();
  }
}

/** Tells a silent peer from a slow one. */
export class Pulse {
  #bytesRead = 0;
  #unanswered = 0;

  /**
   * At each ping's time: true to send it, false where two pings in a row have brought no byte. Any byte counts, also
   * one in the middle of a frame.
   */
  beat(bytesRead: number): boolean {
    if (bytesRead !== this.#bytesRead) this.#unanswered = 0;
    this.#bytesRead = bytesRead;
    this.#unanswered += 1;
    return this.#unanswered <= 2;
  }
}

/** `ws` gives one Buffer unless it is told otherwise; its type allows for more. */
function toBuffer(frame: RawData): Buffer {
  if (Buffer.isBuffer(frame)) return frame;
  return Array.isArray(frame) ? Buffer.concat(frame) : Buffer.from(frame);
}
