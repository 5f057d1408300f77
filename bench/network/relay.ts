/**
 * A TCP relay in this process that makes loopback as long and as narrow as a network: each direction takes half of the
 * round trip, and at most so many bytes a second.
 *
 * It ends TCP on both sides, so it has no congestion window, no loss and no receive window: what an idle connection's
 * window costs stands in `model.ts`, and `namespaces.ts` has the real one. `connect` returns at once, since the kernel
 * answers over loopback; the round trip of the handshake is charged to the first bytes that the client sends. Its CPU
 * time (see `precise-clock.ts`) is this process's: where CPU is measured, `start-relay.ts` gives it one of its own.
 */
import { createServer } from 'node:net';

import { deferred, type Clock } from '../../engine/index.js';
import { PreciseClock } from './precise-clock.js';
import { RelayedConnection, type Destination, type RelayedPath } from './relayed-connection.js';
import { openTlsFront, portOf } from './tls-front.js';

export interface RelayOptions {
  readonly to: Destination;
  /** Both ways together; each takes half. */
  readonly rttMs: number;
  /** Each way. Default `Infinity`: no limit. */
  readonly bytesPerSecond?: number;
  /**
   * Ends TLS 1.3 at the far end of the relay, in front of a plain server, so that the handshake travels too. The client
   * trusts `testCertificate.cert`. Default false.
   */
  readonly tls?: boolean;
  /** Bytes on the way, each direction of a connection, above which its source is not read. Default 16 MiB. */
  readonly bytesMax?: number;
  /** Default: real time, to a fraction of a millisecond. */
  readonly clock?: Clock;
}

export interface Relay extends AsyncDisposable {
  /** On 127.0.0.1. */
  readonly port: number;
  /** How many connections are open now. */
  readonly connections: () => number;
}

const bytesMaxDefault = 16 * 1024 * 1024;

/** @throws RangeError where a round trip is no time or a rate is no rate. */
function pathOf(options: RelayOptions): Omit<RelayedPath, 'clock'> {
  const { to, rttMs, bytesPerSecond = Infinity, bytesMax = bytesMaxDefault } = options;
  if (!(rttMs >= 0 && rttMs < Infinity)) throw new RangeError(`a round trip of ${rttMs} ms is no time`);
  if (!(bytesPerSecond > 0)) throw new RangeError(`${bytesPerSecond} bytes per second is no rate`);
  if (!(bytesMax > 0)) throw new RangeError(`${bytesMax} bytes is no bound`);
  return { to, link: { delayMs: rttMs / 2, bytesPerSecond }, bytesMax };
}

/** @throws RangeError where the options make no sense, Error where the port cannot be had. */
export async function openRelay(options: RelayOptions): Promise<Relay> {
  const path = pathOf(options);
  /** What ends with the relay, the last first. */
  const parts: AsyncDisposable[] = [];
  const close = async (): Promise<void> => {
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) await part[Symbol.asyncDispose]();
  };
  const keep = <Part extends AsyncDisposable>(part: Part): Part => {
    parts.push(part);
    return part;
  };
  try {
    const clock = options.clock ?? keep(await PreciseClock.open());
    const front = options.tls === true ? keep(await openTlsFront({ to: path.to })) : null;
    const to = front === null ? path.to : { host: '127.0.0.1', port: front.port };
    const { port, connections } = keep(await listen({ ...path, to, clock }));
    return { port, connections, [Symbol.asyncDispose]: close };
  } catch (fault) {
    await close();
    throw fault;
  }
}

async function listen(path: RelayedPath): Promise<Relay> {
  const connections = new Set<RelayedConnection>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const connection = new RelayedConnection(client, path);
    connections.add(connection);
    void connection.closed.then(() => connections.delete(connection));
  });
  const listening = deferred<void>();
  server.once('error', listening.reject);
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  return {
    port: portOf(server.address()),
    connections: () => connections.size,
    async [Symbol.asyncDispose]() {
      const closed = deferred<void>();
      server.close(() => closed.resolve());
      await Promise.all([...connections].map((connection) => connection[Symbol.asyncDispose]()));
      await closed.promise;
    },
  };
}
