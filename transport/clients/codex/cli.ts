/**
 * The Codex CLI as a process: found where this folder's own package.json pins it, started with nothing of the caller's
 * environment but its PATH, and never left running.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { onAbort } from '../../../engine/abort.js';

/** Longer than any run here takes; a run that is still there then is killed, and its test fails. */
const runMsMax = 30_000;
const platforms = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];
/** Beside the source of this file, whose compiled form lies in `dist`. */
const folder = fileURLToPath(new URL('../../../../transport/clients/codex/', import.meta.url));
const installCommand = 'npm ci --prefix transport/clients/codex';

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
}

function isManifest(value: unknown): value is Manifest {
  return typeof value === 'object' && value !== null && 'dependencies' in value;
}

/** What the package pins. */
function pinnedVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const version = isManifest(manifest) ? manifest.dependencies['@openai/codex'] : undefined;
  if (version === undefined) throw new Error('transport/clients/codex/package.json pins no @openai/codex.');
  return version;
}

/** The wrapper's script, which starts the binary of this platform. @throws Error that says what is missing. */
function findWrapper(): string {
  const platform = `${process.platform}-${process.arch}`;
  if (!platforms.includes(platform))
    throw new Error(
      `test:codex cannot run on ${platform}: it needs a binary of the Codex CLI and a POSIX shell, so one of ${platforms.join(', ')}.`,
    );
  const wrapper = join(folder, 'node_modules/@openai/codex/bin/codex.js');
  if (!existsSync(wrapper))
    throw new Error(`The Codex CLI is not installed; install it with: ${installCommand}`);
  try {
    createRequire(wrapper).resolve(`@openai/codex-${platform}/package.json`);
  } catch {
    throw new Error(
      `The Codex CLI is installed without its binary for ${platform} (an install that leaves out optional dependencies does that); install it again with: ${installCommand}`,
    );
  }
  return wrapper;
}

interface Exit {
  /** Null where a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

async function start(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Exit> {
  const child = spawn(process.execPath, [findWrapper(), ...args], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, since the wrapper's death would not end the binary.
    detached: true,
  });
  const kill = (): void => {
    if (child.pid !== undefined) killGroup(child.pid);
  };
  const deadline = setTimeout(kill, runMsMax);
  using _signal = onAbort(signal, kill);
  process.once('exit', kill);
  try {
    const [stdout, stderr] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      child.exitCode === null ? once(child, 'exit') : undefined,
    ]);
    return { code: child.exitCode, stdout, stderr };
  } finally {
    clearTimeout(deadline);
    process.off('exit', kill);
  }
}

/** One line of `--json`. */
export interface CodexEvent {
  readonly type: string;
  readonly message?: unknown;
  readonly item?: Readonly<Record<string, unknown>>;
  readonly usage?: Readonly<Record<string, number>>;
}

function isEvent(value: unknown): value is CodexEvent {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function eventsIn(stdout: string): CodexEvent[] {
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const event: unknown = JSON.parse(line);
    if (!isEvent(event)) throw new Error(`codex printed no event: ${line}`);
    return event;
  });
}

export interface CodexOptions {
  /** The server, as in `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** Where it works. */
  readonly repository: string;
  /** An empty folder that becomes its CODEX_HOME. */
  readonly home: string;
  readonly prompt: string;
  /** Whether it is told that the server has WebSockets. */
  readonly sockets: boolean;
  /** How often one request is sent again after its stream broke. */
  readonly retriesMax: number;
  /** Kills it. */
  readonly signal: AbortSignal;
}

export interface CodexRun {
  /** 0 after a completed turn. */
  readonly code: number | null;
  readonly events: readonly CodexEvent[];
  readonly stderr: string;
}

function provider({ url, sockets, retriesMax }: CodexOptions): string {
  const settings = [
    'name="lab"',
    `base_url="${url}/v1"`,
    'wire_api="responses"',
    `supports_websockets=${sockets}`,
    'request_max_retries=0',
    `stream_max_retries=${retriesMax}`,
    'stream_idle_timeout_ms=15000',
    'websocket_connect_timeout_ms=3000',
  ];
  return `model_providers.lab={${settings.join(',')}}`;
}

/** Lets Codex do one task without a question, a key, a config file or a word to anybody but the server. */
export async function runCodex(options: CodexOptions): Promise<CodexRun> {
  const { repository, home, prompt } = options;
  const settings = [
    'model_provider=lab',
    'analytics.enabled=false',
    'check_for_update_on_startup=false',
    'features.plugins=false',
    'features.unbounded_connection_retries=false',
    provider(options),
  ];
  const args = ['exec', '--json', '--ephemeral', '--strict-config', '--skip-git-repo-check'];
  args.push('--dangerously-bypass-approvals-and-sandbox', '-C', repository, '-m', 'lab-model');
  for (const setting of settings) args.push('-c', setting);
  const env = { HOME: home, CODEX_HOME: home };
  const { code, stdout, stderr } = await start([...args, prompt], env, options.signal);
  return { code, events: eventsIn(stdout), stderr };
}

/** @throws Error that says what is wrong, where the pinned CLI cannot run here. */
export async function requireCodex(home: string): Promise<void> {
  const version = pinnedVersion();
  const env = { HOME: home, CODEX_HOME: home };
  const { stdout, stderr } = await start(['--version'], env, new AbortController().signal);
  if (stdout.trim() !== `codex-cli ${version}`)
    throw new Error(`codex --version should say codex-cli ${version}, and says: ${stdout}${stderr}`);
}
