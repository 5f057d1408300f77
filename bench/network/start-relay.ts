/** The relay of `relay.ts` in a process of its own, so that its CPU time is not the measuring process's. */
import { portSchema } from '../schema/probe.js';
import type { Relay, RelayOptions } from './relay.js';
import { startSpoken } from './spoken-child.js';

/** @throws Error with what the process said, where the options make no sense or the port cannot be had. */
export async function startRelay({
  to,
  rttMs,
  bytesPerSecond = Infinity,
  tls = false,
}: Pick<RelayOptions, 'to' | 'rttMs' | 'bytesPerSecond' | 'tls'>): Promise<
  Pick<Relay, 'port'> & AsyncDisposable
> {
  const words = [to.host, to.port, rttMs, bytesPerSecond, tls ? 'tls' : 'plain'].map(String);
  const child = startSpoken(new URL('./relay-process.js', import.meta.url), words);
  return {
    port: portSchema.parse(await child.heard()),
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
