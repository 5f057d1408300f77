/**
 * Shows that the paths which the lab measures over are what they claim: the round trip of an echo, and what bodies of
 * four sizes take on a connection that was busy, on one that was idle, and on a new one, beside what `model.ts` says.
 * Over network namespaces where they can be made, and over the relay, which has the round trip and not the window.
 */
import { medianOf, type Median } from '../proofs/median.js';
import { portSchema, probeReportSchema, type ProbeTimes } from '../schema/probe.js';
import { plain } from '../table.js';
import { downloadMs, setupMs, uploadMs, type NetworkModel } from './model.js';
import type { KernelOptions } from './namespace-commands.js';
import { openNamespaces } from './namespaces.js';
import { startRelay } from './start-relay.js';
import { startSpoken, type SpokenChild, type Wrap } from './spoken-child.js';

export interface ProbeRow {
  readonly path: string;
  readonly bytes: number;
  readonly connection: 'kept' | 'per-turn';
  readonly gap_ms: number;
  readonly took_ms: Median;
  /** What the formula says, in ms. */
  readonly model_ms: number;
}

export interface ProbeResult {
  readonly rtt_ms: number;
  readonly rows: readonly ProbeRow[];
  /** Why there are no rows over namespaces, in one sentence; null where there are. */
  readonly unavailable: string | null;
}

export interface ProbeOptions {
  /** Default 50. */
  readonly rttMs?: number;
  /** Bodies of each size and gap. Default 3. */
  readonly rounds?: number;
  readonly onProgress?: (line: string) => void;
}

const beside = (file: string): URL => new URL(file, import.meta.url);

interface Measured {
  readonly path: string;
  /** False for the relay, which has no window at all. */
  readonly hasWindow: boolean;
  readonly restartsAfterIdle: boolean;
  readonly times: readonly ProbeTimes[];
}

const kernels: readonly KernelOptions[] = [
  { congestion: 'cubic', slowStartAfterIdle: true },
  { congestion: 'reno', slowStartAfterIdle: true },
  { congestion: 'cubic', slowStartAfterIdle: false },
];

/** A gap that an idle restart can follow is longer than the retransmission timeout, here RTT + 200 ms. */
function modelMs(rttMs: number, { hasWindow, restartsAfterIdle }: Measured, row: ProbeTimes): number {
  const network: NetworkModel = {
    rttMs,
    bytesPerSecond: Infinity,
    restartsAfterIdle: restartsAfterIdle && row.gap_ms > rttMs + 200,
    connection: hasWindow ? row.connection : 'kept',
    tls: false,
  };
  const setup = row.connection === 'per-turn' ? setupMs(network, 'http') : 0;
  return setup + uploadMs(network, row.bytes) + downloadMs(network);
}

function rowsOf(rttMs: number, measured: Measured): readonly ProbeRow[] {
  return measured.times.map((row) => ({
    path: measured.path,
    bytes: row.bytes,
    connection: row.connection,
    gap_ms: row.gap_ms,
    took_ms: medianOf(row.took_ms),
    model_ms: modelMs(rttMs, measured, row),
  }));
}

async function times(
  address: string,
  port: number,
  rounds: number,
  wrap?: Wrap,
): Promise<readonly ProbeTimes[]> {
  await using client = startSpoken(
    beside('./probe-client.js'),
    [address, String(port), String(rounds)],
    wrap,
  );
  return probeReportSchema.parse(await client.heard());
}

const portOf = async (server: SpokenChild): Promise<number> => portSchema.parse(await server.heard());

async function overNamespaces(
  kernel: KernelOptions,
  rttMs: number,
  rounds: number,
): Promise<Measured | { readonly unavailable: string }> {
  const opened = await openNamespaces({ ...kernel, rttMs });
  if ('unavailable' in opened) return opened;
  await using path = opened;
  await using server = startSpoken(beside('./probe-server.js'), [path.serverAddress], path.wrap.server);
  const restarts = kernel.slowStartAfterIdle ? 'restarts' : 'no restart';
  return {
    path: `${kernel.congestion}, ${restarts}`,
    hasWindow: true,
    restartsAfterIdle: kernel.slowStartAfterIdle,
    times: await times(path.serverAddress, await portOf(server), rounds, path.wrap.client),
  };
}

async function overRelay(rttMs: number, rounds: number): Promise<Measured> {
  await using server = startSpoken(beside('./probe-server.js'), ['127.0.0.1']);
  await using relay = await startRelay({ to: { host: '127.0.0.1', port: await portOf(server) }, rttMs });
  return {
    path: 'relay',
    hasWindow: false,
    restartsAfterIdle: false,
    times: await times('127.0.0.1', relay.port, rounds),
  };
}

export async function run(options: ProbeOptions = {}): Promise<ProbeResult> {
  const { rttMs = 50, rounds = 3, onProgress = () => undefined } = options;
  const rows: ProbeRow[] = [];
  let unavailable: string | null = null;
  for (const kernel of kernels) {
    onProgress(`${kernel.congestion}, slow start after idle ${kernel.slowStartAfterIdle ? 'on' : 'off'}`);
    const measured = await overNamespaces(kernel, rttMs, rounds);
    if ('unavailable' in measured) {
      unavailable = measured.unavailable;
      break;
    }
    rows.push(...rowsOf(rttMs, measured));
  }
  onProgress('relay');
  rows.push(...rowsOf(rttMs, await overRelay(rttMs, rounds)));
  return { rtt_ms: rttMs, rows, unavailable };
}

function kindText({ bytes, connection, gap_ms }: ProbeRow): string {
  if (bytes === 1) return 'echo of a byte';
  const how = connection === 'per-turn' ? 'new connection' : `kept, ${gap_ms} ms idle`;
  return `${bytes / 1000} KB, ${how}`;
}

export function print({ rtt_ms, rows, unavailable }: ProbeResult): string {
  const paths = [...new Set(rows.map(({ path }) => path))];
  const kinds = [...new Set(rows.map(kindText))];
  const cell = (kind: string, path: string): string => {
    const row = rows.find((each) => each.path === path && kindText(each) === kind);
    return row === undefined ? '' : `${row.took_ms.median.toFixed(1)} (${row.model_ms.toFixed(0)})`;
  };
  const table = plain(
    ['body and answer', ...paths],
    kinds.map((kind) => [kind, ...paths.map((path) => cell(kind, path))]),
  );
  return [
    `A body and its answer at RTT ${rtt_ms} ms: median ms, and in brackets what the model says`,
    ...(unavailable === null
      ? []
      : [`${unavailable} What follows is the relay, which has no congestion window.`]),
    table,
  ].join('\n');
}
