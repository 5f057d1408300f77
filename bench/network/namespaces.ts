/**
 * Real TCP with a real round trip: two network namespaces, kernel TCP at both ends, and a pump of this project's between
 * them, since few kernels have `netem`. Packets are neither lost nor reordered.
 *
 * It needs Linux, root and `ip` (iproute2), and nothing that is compiled: the pump reads macvtap devices, which open like
 * files. TUN devices, which need an ioctl that Node cannot make, were not taken: they would ask for Perl or Python.
 *
 *   1. Whatever was made ends with `[Symbol.asyncDispose]`, with this process, or with the next one that opens a path.
 *   2. Where something is missing, one sentence says what.
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { portSchema } from '../schema/probe.js';
import {
  addresses,
  deviceNumberOf,
  leftoversIn,
  namesOf,
  setUpCommands,
  tearDownCommands,
  type Command,
  type KernelOptions,
  type Side,
  type SideNames,
} from './namespace-commands.js';
import { startSpoken, type SpokenChild, type Wrap } from './spoken-child.js';
import type { TlsFront } from './tls-front.js';

export interface NamespaceOptions extends KernelOptions {
  readonly rttMs: number;
  /**
   * Each way, of packets with their headers, which are 4 to 5 % of a large body. Default `Infinity`: as fast as the
   * pump, some tens of megabytes a second.
   */
  readonly bytesPerSecond?: number;
}

export interface NetworkPath extends AsyncDisposable {
  /** Where a server listens, and what its clients connect to. */
  readonly serverAddress: string;
  /** Puts a command into a namespace: the server's, and that of the client that measures. Its process id stays. */
  readonly wrap: Readonly<Record<Side, Wrap>>;
}

export interface Unavailable {
  /** One sentence. */
  readonly unavailable: string;
}

const run = promisify(execFile);

/** Why no command needs to be tried; null where nothing speaks against it. */
function obstacle(): string | null {
  if (process.platform !== 'linux') return 'Network namespaces exist on Linux only.';
  if (process.getuid?.() !== 0) return 'Network namespaces need root.';
  const { error } = spawnSync('ip', ['-V']);
  return error === undefined ? null : 'Network namespaces need the program ip (package iproute2).';
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function sweep(): Promise<void> {
  const listings = await Promise.all([run('ip', ['netns', 'list']), run('ip', ['-o', 'link', 'show'])]);
  tearDown(leftoversIn(listings.map(({ stdout }) => stdout).join('\n'), lives));
}

/** At once, so that it can be done while the process exits. */
function tearDown(names: Parameters<typeof tearDownCommands>[0]): void {
  for (const { program, words } of tearDownCommands(names)) spawnSync(program, words, { stdio: 'ignore' });
}

async function runAll(commands: readonly Command[]): Promise<void> {
  for (const { program, words } of commands) await run(program, [...words]);
}

/** Where a macvtap opens: the node that the kernel made, or one of our own where /dev is not the kernel's. */
async function nodeOf(tap: string, folder: string): Promise<string> {
  const places = `/sys/class/net/${tap}/macvtap`;
  const name = readdirSync(places)[0] ?? '';
  const number = readFileSync(join(places, name, 'dev'), 'utf8');
  const made = statSync(`/dev/${name}`, { throwIfNoEntry: false });
  if (made !== undefined && made.rdev === deviceNumberOf(number)) return `/dev/${name}`;
  const own = join(folder, tap);
  await run('mknod', [own, 'c', ...number.trim().split(':')]);
  return own;
}

/** What must go when the process does; a signal that nobody else listens to ends it afterwards as it would have. */
function onEnd(clear: () => void): Disposable {
  const onSignal = (signal: NodeJS.Signals): void => {
    if (process.listenerCount(signal) > 1) return;
    listening[Symbol.dispose]();
    clear();
    process.kill(process.pid, signal);
  };
  const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const listening = {
    [Symbol.dispose]() {
      process.off('exit', clear);
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
  process.once('exit', clear);
  for (const signal of signals) process.on(signal, onSignal);
  return listening;
}

function sentenceOf(fault: unknown): string {
  const text = fault instanceof Error ? fault.message : String(fault);
  return `The network namespaces cannot be made here: ${text.replaceAll(/\s+/g, ' ').trim()}`;
}

const inside =
  ({ namespace }: SideNames): Wrap =>
  (command) => ['ip', 'netns', 'exec', namespace, ...command];

let paths = 0;

/**
 * Ends TLS 1.3 in the server's namespace, for a server that listens on 127.0.0.1 there; clients connect to the address
 * of the path and the port that this gives, and trust `testCertificate.cert`.
 * @throws Error where it cannot start.
 */
export async function openTlsFrontIn(path: NetworkPath, serverPort: number): Promise<TlsFront> {
  const words = [path.serverAddress, String(serverPort)];
  const front = startSpoken(new URL('./tls-front-process.js', import.meta.url), words, path.wrap.server);
  return {
    port: portSchema.parse(await front.heard()),
    [Symbol.asyncDispose]: () => front[Symbol.asyncDispose](),
  };
}

/** Opens a path, or says why there is none on this machine. Several may be open at once. */
export async function openNamespaces(options: NamespaceOptions): Promise<NetworkPath | Unavailable> {
  const { rttMs, bytesPerSecond = Infinity } = options;
  if (!(rttMs >= 0 && rttMs < Infinity)) throw new RangeError(`a round trip of ${rttMs} ms is no time`);
  if (!(bytesPerSecond > 0)) throw new RangeError(`${bytesPerSecond} bytes per second is no rate`);
  const unavailable = obstacle();
  if (unavailable !== null) return { unavailable };
  const [client, server] = namesOf(process.pid, paths++);
  if (client === undefined || server === undefined) throw new Error('a path has two sides');
  const folder = mkdtempSync(join(tmpdir(), 'long-response-'));
  const clear = (): void => {
    tearDown([client, server]);
    rmSync(folder, { recursive: true, force: true });
  };
  const ending = onEnd(clear);
  let pump: SpokenChild | null = null;
  const close = async (): Promise<void> => {
    await pump?.[Symbol.asyncDispose]();
    ending[Symbol.dispose]();
    clear();
  };
  try {
    await sweep();
    for (const side of [client, server]) await runAll(setUpCommands(side, options));
    const taps = [await nodeOf(client.tap, folder), await nodeOf(server.tap, folder)];
    pump = startSpoken(new URL('./packet-pump.js', import.meta.url), [
      ...taps,
      String(rttMs / 2),
      String(bytesPerSecond),
    ]);
    await pump.heard();
  } catch (fault) {
    await close();
    return { unavailable: sentenceOf(fault) };
  }
  return {
    serverAddress: addresses.server,
    wrap: { client: inside(client), server: inside(server) },
    [Symbol.asyncDispose]: close,
  };
}
