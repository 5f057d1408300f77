/**
 * The HTTP part, behind a small port: a pool of keep-alive connections to one server.
 *
 *   H1  Who aborts a request destroys it: the connection is closed, and the upstream stops.
 *   H2  Whoever leaves an answer at its end leaves the connection to the next request. What may still come is read for
 *       a moment, bounded in bytes and time; then the connection goes.
 *   H3  What a turn waits for is bounded by the clock: the library's own bounds are off.
 *   H4  The library is loaded with the first request, because whoever samples in another way need not pay for it.
 */
import type { buildConnector, Dispatcher, Pool } from 'undici';

import type { Clock } from '../../ports.js';
import { unreachable } from './faults.js';

export interface UpstreamAnswer {
  readonly status: number;
  /** By its name in lower case; null where there is none. */
  header(name: string): string | null;
  /** Leaving it early keeps the connection only where nothing more comes (H2). */
  readonly body: AsyncIterable<Uint8Array>;
}

/** What the sampler needs of HTTP. Tests put recorded answers in its place. */
export interface UpstreamHttp extends AsyncDisposable {
  /**
   * POSTs JSON, given in pieces. Rejects with the signal's reason, or where there is no answer; the body rejects
   * likewise.
   */
  post(body: readonly Uint8Array[], signal: AbortSignal): Promise<UpstreamAnswer>;
}

export interface HttpPlace {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly connectMsMax: number;
  readonly connectionsMax: number;
}

const restBytesMax = 64 * 1024;
const restMsMax = 1000;
/** How long a connection is kept between turns, where the server names no shorter time: tools take a while. */
const idleMsMax = 30_000;

/** Connects within a bound of the clock. */
function bounded(
  connect: buildConnector.connector,
  { clock, connectMsMax }: HttpPlace,
): buildConnector.connector {
  return (options, callback) => {
    let waiting = true;
    const timer = clock.after(connectMsMax, () => {
      waiting = false;
      callback(unreachable(`The server of the model took no connection within ${connectMsMax} ms.`), null);
    });
    connect(options, (fault, socket) => {
      timer[Symbol.dispose]();
      if (!waiting) socket?.destroy();
      else if (fault === null) callback(null, socket);
      else callback(fault, null);
    });
  };
}

/** Reads on after a reader has left (H2). */
function leave(body: Dispatcher.ResponseData['body'], clock: Clock): void {
  if (body.closed || body.destroyed) return;
  const timer = clock.after(restMsMax, () => body.destroy());
  const over = (): void => timer[Symbol.dispose]();
  body.dump({ limit: restBytesMax }).then(over, over);
}

async function* piecesOf(
  body: Dispatcher.ResponseData['body'],
  clock: Clock,
): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const piece of body.iterator({ destroyOnReturn: false }))
      if (piece instanceof Uint8Array) yield piece;
  } finally {
    leave(body, clock);
  }
}

async function poolFor(place: HttpPlace): Promise<Pool> {
  const undici = await import('undici');
  const { connectionsMax } = place;
  return new undici.Pool(place.origin, {
    connections: Number.isFinite(connectionsMax) ? connectionsMax : null,
    connect: bounded(undici.buildConnector({ timeout: 0 }), place),
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: idleMsMax,
  });
}

export function pooledHttp(place: HttpPlace): UpstreamHttp {
  const { path, headers, clock } = place;
  let made: Promise<Pool> | null = null;
  return {
    async post(body, signal) {
      const pool = await (made ??= poolFor(place));
      const answer = await pool.request({
        path,
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: Buffer.concat(body),
        signal,
      });
      return {
        status: answer.statusCode,
        header(name) {
          const value = answer.headers[name];
          return typeof value === 'string' ? value : (value?.[0] ?? null);
        },
        body: piecesOf(answer.body, clock),
      };
    },
    async [Symbol.asyncDispose]() {
      await (await made)?.destroy();
    },
  };
}
