/** Starts `long-response serve` in a process of its own, as a user would. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import type { ServerAddress } from './measure.js';
import type { Wrap } from './network/spoken-child.js';

export interface ServerProcess extends AsyncDisposable {
  readonly address: ServerAddress;
  readonly pid: number;
}

export interface ServerProcessOptions {
  readonly decodeTokensPerSecond: number;
  readonly prefillTokensPerSecond: number;
  readonly scenarioFiles?: readonly string[];
  /** Serves the demo model in place of scenarios. */
  readonly demo?: boolean;
  /** Further words for `serve`. */
  readonly words?: readonly string[];
  /** Words for Node itself, before the script. */
  readonly nodeWords?: readonly string[];
  /** What clients must show; a server on a host other than loopback asks for one. */
  readonly key?: string;
  /** Puts the command into a namespace: see bench/network/namespaces.ts. */
  readonly wrap?: Wrap;
}

const cli = fileURLToPath(new URL('./cli.js', import.meta.url));

/** Servers that run: many at once where cells are measured in turns, with one listener for all of them. */
const running = new Set<ChildProcess>();

function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Ends with this process, if not before. */
function bind(child: ChildProcess): void {
  if (running.size === 0) process.once('exit', killAll);
  running.add(child);
  child.once('exit', () => {
    running.delete(child);
    if (running.size === 0) process.off('exit', killAll);
  });
}

/** @throws Error with what the process said, where it ends before it listens. */
export async function startServer(options: ServerProcessOptions): Promise<ServerProcess> {
  const words = [
    ...(options.nodeWords ?? []),
    cli,
    'serve',
    '--port',
    '0',
    ...(options.demo === true ? ['--demo'] : ['--scenarios']),
    ...(options.scenarioFiles ?? []).flatMap((file) => ['--scenario-file', file]),
    '--log-level',
    'warn',
    '--tps',
    String(options.decodeTokensPerSecond),
    '--prefill-tps',
    String(options.prefillTokensPerSecond),
    ...(options.words ?? []),
  ];
  const { key, wrap = (command) => command } = options;
  const [program = '', ...rest] = wrap([process.execPath, ...words]);
  const child = spawn(program, rest, {
    env: { ...process.env, ...(key === undefined ? {} : { LONG_RESPONSE_KEYS: key }) },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: Ctrl-C in the terminal is for the measuring process, which still needs its server.
    detached: true,
  });
  bind(child);
  const said: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => {
    said.push(chunk.toString());
    if (said.length > 100) said.shift();
  });
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([
    once(lines, 'line').then(([first]) => String(first)),
    once(child, 'exit').then(([code]) => {
      throw new Error(`the server ended with ${String(code)} before it listened:\n${said.join('')}`);
    }),
  ]);
  const url = /^listening (\S+)$/.exec(line)?.[1];
  if (url === undefined || child.pid === undefined)
    throw new Error(`the server said "${line}" instead of where it listens`);
  return {
    address: { url, ...(key === undefined ? {} : { key }) },
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}
