/**
 * A server and the way to it, for one cell: over loopback or a relay the client is this process, over namespaces it is a
 * process of its own in a namespace of its own. Whoever measures need not know which.
 */
import { randomUUID } from 'node:crypto';

import { armNamed } from '../arms.js';
import { measureRollout, type Measurement, type Place, type ServerAddress } from '../measure.js';
import { testCertificate } from '../network/certificate.js';
import { openNamespaces, openTlsFrontIn } from '../network/namespaces.js';
import { startSpoken } from '../network/spoken-child.js';
import { startRelay } from '../network/start-relay.js';
import { measureAnswerSchema, type MeasureOrder } from '../schema/measuring.js';
import { startServer, type ServerProcess, type ServerProcessOptions } from '../server-process.js';
import type { RealCell } from './cells.js';

export type CellPlace = Omit<Place, 'scenario'>;

export interface CellPath extends AsyncDisposable {
  /** @throws Error where the rollout could not be played. One at a time. */
  measure(arm: string, place: CellPlace): Promise<Measurement>;
}

/** Why cells over namespaces cannot be played here, in one sentence; null where they can. Makes a path and ends it. */
export async function namespacesAvailable(): Promise<string | null> {
  const opened = await openNamespaces({ rttMs: 0, congestion: 'cubic', slowStartAfterIdle: true });
  if ('unavailable' in opened) return opened.unavailable;
  await opened[Symbol.asyncDispose]();
  return null;
}

/** What ends with the path, the last first. */
class Parts implements AsyncDisposable {
  readonly #parts: AsyncDisposable[] = [];

  async keep<Part extends AsyncDisposable>(making: Promise<Part> | Part): Promise<Part> {
    const part = await making;
    this.#parts.push(part);
    return part;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (let part = this.#parts.pop(); part !== undefined; part = this.#parts.pop())
      await part[Symbol.asyncDispose]();
  }
}

type Measure = CellPath['measure'];

function serverFor(
  cell: RealCell,
  scenarioFile: string,
  more: Pick<ServerProcessOptions, 'key' | 'wrap'> & { readonly host?: string } = {},
): Promise<ServerProcess> {
  const { host, ...rest } = more;
  return startServer({
    decodeTokensPerSecond: cell.decodeTokensPerSecond,
    prefillTokensPerSecond: cell.prefillTokensPerSecond,
    scenarioFiles: [scenarioFile],
    words: ['--profile', cell.profile, ...(host === undefined ? [] : ['--host', host])],
    ...rest,
  });
}

const portOf = ({ address }: ServerProcess): number => Number(new URL(address.url).port);

function here(cell: RealCell, address: ServerAddress): Measure {
  const { scenario } = cell;
  return (arm, place) => measureRollout(address, armNamed(arm), { scenario, ...place }, cell);
}

async function overLoopback(cell: RealCell, scenarioFile: string, parts: Parts): Promise<Measure> {
  if (cell.tls === true || cell.bytesPerSecond !== undefined)
    throw new Error(`the cell "${cell.name}" is over loopback, which has no TLS and no rate`);
  const { address } = await parts.keep(serverFor(cell, scenarioFile));
  return here(cell, address);
}

/** The relay is a process of its own, so that its CPU is in nobody's figures; counters are read past it. */
async function overRelay(cell: RealCell, scenarioFile: string, parts: Parts): Promise<Measure> {
  const { rttMs, bytesPerSecond = Infinity, tls = false } = cell;
  const server = await parts.keep(serverFor(cell, scenarioFile));
  const to = { host: '127.0.0.1', port: portOf(server) };
  const { port } = await parts.keep(startRelay({ to, rttMs, bytesPerSecond, tls }));
  const countersUrl = server.address.url;
  if (!tls) return here(cell, { url: `http://127.0.0.1:${port}`, countersUrl });
  return here(cell, { url: `https://127.0.0.1:${port}`, ca: testCertificate.cert, countersUrl });
}

async function overNamespaces(cell: RealCell, scenarioFile: string, parts: Parts): Promise<Measure> {
  const { rttMs, congestion = 'cubic', slowStartAfterIdle = true, bytesPerSecond = Infinity } = cell;
  const opened = await openNamespaces({ rttMs, congestion, slowStartAfterIdle, bytesPerSecond });
  if ('unavailable' in opened)
    throw new Error(`The cell "${cell.name}" needs namespaces: ${opened.unavailable}`);
  const path = await parts.keep(opened);
  const key = randomUUID();
  // On every address, because what ends TLS reaches it over loopback, and clients over the path.
  const server = await parts.keep(
    serverFor(cell, scenarioFile, { key, wrap: path.wrap.server, host: '0.0.0.0' }),
  );
  const plain = `http://${path.serverAddress}:${portOf(server)}`;
  const client = await parts.keep(
    startSpoken(new URL('./measure-child.js', import.meta.url), [scenarioFile], path.wrap.client),
  );
  const { decodeTokensPerSecond, prefillTokensPerSecond, toolScale } = cell;
  const pace = { decodeTokensPerSecond, prefillTokensPerSecond, toolScale };
  const address: MeasureOrder['address'] = { url: plain, key, countersUrl: plain };
  if (cell.tls === true) {
    const front = await parts.keep(openTlsFrontIn(path, portOf(server)));
    address.url = `https://${path.serverAddress}:${front.port}`;
    address.ca = testCertificate.cert;
  }
  return async (arm, place) => {
    client.say({ address, arm, place, pace } satisfies MeasureOrder);
    const answer = measureAnswerSchema.parse(await client.heard());
    if ('fault' in answer) throw new Error(answer.fault);
    return answer.measurement;
  };
}

const opens = { loopback: overLoopback, relay: overRelay, namespaces: overNamespaces } as const;

/** @throws Error where the server does not start, or where the path cannot be had: then in one sentence. */
export async function openPath(cell: RealCell, scenarioFile: string): Promise<CellPath> {
  const parts = new Parts();
  try {
    const measure = await opens[cell.path](cell, scenarioFile, parts);
    return { measure, [Symbol.asyncDispose]: () => parts[Symbol.asyncDispose]() };
  } catch (fault) {
    await parts[Symbol.asyncDispose]();
    throw fault;
  }
}
