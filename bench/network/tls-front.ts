/**
 * Ends TLS 1.3 in front of a server that speaks plain TCP: what a load balancer is to a service. It adds one handshake
 * and the cost of the records, nothing else, whatever the server is made with.
 */
import { connect, type AddressInfo, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { createServer } from 'node:tls';

import { deferred } from '../../engine/index.js';
import { testCertificate } from './certificate.js';
import type { Destination } from './relayed-connection.js';

export interface TlsFront extends AsyncDisposable {
  readonly port: number;
}

export interface TlsFrontOptions {
  readonly to: Destination;
  /** Default 127.0.0.1. */
  readonly host?: string;
}

/** @throws Error where the port cannot be had. */
export async function openTlsFront({ to, host = '127.0.0.1' }: TlsFrontOptions): Promise<TlsFront> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.once('close', () => sockets.delete(socket));
  };
  const server = createServer({ ...testCertificate, minVersion: 'TLSv1.3', allowHalfOpen: true });
  server.on('connection', keep);
  server.on('secureConnection', (client) => {
    const plain = connect({ ...to, allowHalfOpen: true });
    keep(client);
    keep(plain);
    Promise.all([pipeline(client, plain), pipeline(plain, client)]).catch(() => {
      client.destroy();
      plain.destroy();
    });
  });
  const listening = deferred<void>();
  server.once('error', listening.reject);
  server.listen(0, host, listening.resolve);
  await listening.promise;
  return {
    port: portOf(server.address()),
    async [Symbol.asyncDispose]() {
      const closed = deferred<void>();
      server.close(() => closed.resolve());
      for (const socket of sockets) socket.destroy();
      await closed.promise;
    },
  };
}

/** @throws Error where the server does not listen on TCP. */
export function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  return address.port;
}
