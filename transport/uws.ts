/**
 * The server on uWebSockets.js, the fast one; uws-http.ts is its other half. This file alone imports it, and only when
 * asked: it is an optional dependency whose native binary does not load everywhere.
 *
 * 1. A request is copied before its callback returns; a socket is not touched after its close callback.
 * 2. Frames of one `send` leave in one cork: uncorked, each would cost a system call.
 * 3. The library never drops a frame (`maxBackpressure: 0`, no bound), pongs and close frames included: the bound is
 *    ours, kept by `OpenSocket`.
 * 4. Silence is measured by the library's idle timer, which every received byte restarts and no sent one does: a large
 *    frame may upload slowly, a dead peer may not stay. It counts in steps of 4 s, from 8 s, whatever `pingMs` says.
 * 5. A session is not called inside the library's callback: that corks the socket until all that the frame set in motion
 *    has run, so the first token of an instant turn would wait for the turn.
 *
 * A frame of invalid UTF-8, and one over twice the limit, is cut by the library without a close frame: both ends see
 * 1006.
 */
import type * as uws from 'uWebSockets.js';
import type { TemplatedApp, WebSocket, WebSocketBehavior, us_listen_socket } from 'uWebSockets.js';
import { admissionOf, everyMs, headerBytesMax, payloadBytesMax, pingMsMax } from './adapter.js';
import type { Every } from './adapter.js';
import { OpenSocket } from './open-socket.js';
import type { Wire } from './open-socket.js';
import type { Application, Handshake, Listen, ListenOptions, Listening } from './socket.js';
import { copyRequest, serveExchange, writeAnswer } from './uws-http.js';

export type { HttpRequest, HttpResponse } from 'uWebSockets.js';

type Library = Pick<typeof uws, 'App' | 'DISABLED' | 'us_listen_socket_close' | 'us_socket_local_port'>;

interface UserState {
  readonly handshake: Handshake;
}

type Sockets = Map<WebSocket<UserState>, OpenSocket>;

/** LIBUS_LISTEN_EXCLUSIVE_PORT: without it a second server on the same port would silently share its clients. */
const exclusivePort = 1;

/**
 * Loads the native library. Rejects where it is not installed, or where no build of it runs on this platform.
 * `every` is the clock of the pings; tests turn it by hand.
 */
export async function loadUws(every: Every = everyMs): Promise<Listen> {
  // The library reads this once, as it loads.
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] ??= String(headerBytesMax);
  const { default: library } = await import('uWebSockets.js');
  return (application, options) => listenUws(library, application, options, every);
}

async function listenUws(
  library: Library,
  application: Application,
  options: ListenOptions,
  every: Every,
): Promise<Listening> {
  const sockets: Sockets = new Map();
  const app = library.App();
  app.ws('/*', makeBehavior(library, application, options, sockets));
  app.any('/*', (response, request) => serveExchange(application, options, response, request));
  const listenSocket = await takePort(app, options);
  const pings = every(Math.min(options.pingMs, pingMsMax), () => {
    for (const socket of sockets.keys()) socket.ping();
  });
  let accepting = true;
  return {
    port: library.us_socket_local_port(listenSocket),
    transport: 'uws',
    stopAccepting() {
      if (accepting) library.us_listen_socket_close(listenSocket);
      accepting = false;
    },
    async close() {
      accepting = false;
      pings[Symbol.dispose]();
      app.close();
    },
  };
}

function takePort(app: TemplatedApp, options: ListenOptions): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    const listening = (listenSocket: us_listen_socket | false): void => {
      if (listenSocket === false) reject(new Error(`Cannot listen on ${options.host}:${options.port}.`));
      else resolve(listenSocket);
    };
    app.listen(options.host, options.port, exclusivePort, listening);
  });
}

function makeBehavior(
  library: Library,
  application: Application,
  options: ListenOptions,
  sockets: Sockets,
): WebSocketBehavior<UserState> {
  return {
    compression: library.DISABLED,
    maxPayloadLength: payloadBytesMax(options.frameBytesMax),
    maxBackpressure: 0,
    maxLifetime: 0,
    sendPingsAutomatically: false,
    idleTimeout: idleSeconds(options.pingMs),
    upgrade(response, request, context) {
      const handshake = copyRequest(request);
      const refusal = admissionOf(application, handshake);
      if (refusal !== null) {
        writeAnswer(response, refusal, handshake.method, true);
        return;
      }
      const offer = (name: string): string => handshake.headers.get(name) ?? '';
      const [protocol = ''] = offer('sec-websocket-protocol').split(',');
      response.upgrade(
        { handshake },
        offer('sec-websocket-key'),
        protocol.trim(),
        offer('sec-websocket-extensions'),
        context,
      );
    },
    open(socket) {
      const opened = new OpenSocket(application, new UwsWire(socket), options);
      sockets.set(socket, opened);
      opened.begin(socket.getUserData().handshake);
    },
    message(socket, frame, isBinary) {
      sockets.get(socket)?.receivedInside(Buffer.from(frame), isBinary);
    },
    drain(socket) {
      sockets.get(socket)?.measure();
    },
    ping(socket) {
      // The library has just queued the pong.
      sockets.get(socket)?.measure();
    },
    close(socket, code) {
      sockets.get(socket)?.gone(code);
      sockets.delete(socket);
    },
  };
}

/** Two pings, and one step of 4 s more because the timer may fire a step early; the library takes 8 to 960. */
function idleSeconds(pingMs: number): number {
  return Math.min(960, Math.max(8, 4 + Math.ceil((2 * pingMs) / 1000)));
}

class UwsWire implements Wire {
  readonly #socket: WebSocket<UserState>;

  constructor(socket: WebSocket<UserState>) {
    this.#socket = socket;
  }

  write(frames: readonly string[]): void {
    this.#socket.cork(() => {
      for (const frame of frames) this.#socket.send(frame, false);
    });
  }

  bufferedBytes(): number {
    return this.#socket.getBufferedAmount();
  }

  end(code: number, reason: string): void {
    this.#socket.end(code, reason);
  }
}
