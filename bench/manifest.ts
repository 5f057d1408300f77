/** What a result has to say about itself so that somebody else can make it again. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem, type as osType } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Manifest {
  readonly made_at: string;
  /** Null outside a checkout; `+` behind the hash where the tree had changes. */
  readonly commit: string | null;
  /** SHA-256 of package-lock.json; null where there is none. */
  readonly lock_sha256: string | null;
  readonly node: string;
  readonly kernel: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memory_gib: number;
  /** What sets the CPU's frequency; null where it can't be read. */
  readonly governor: string | null;
  /** Settings of TCP that bear on latency, by name; those that can be read. */
  readonly sysctls: Readonly<Record<string, string>>;
  readonly command: string;
}

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

function git(...words: string[]): string | null {
  try {
    return execFileSync('git', words, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return null;
  }
}

function lockHash(): string | null {
  const file = join(root, 'package-lock.json');
  return existsSync(file) ? createHash('sha256').update(readFileSync(file)).digest('hex') : null;
}

const sysctlNames = [
  'net.core.default_qdisc',
  'net.core.rmem_max',
  'net.core.wmem_max',
  'net.ipv4.tcp_autocorking',
  'net.ipv4.tcp_congestion_control',
  'net.ipv4.tcp_no_metrics_save',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_slow_start_after_idle',
  'net.ipv4.tcp_wmem',
];

/** A file of one line that the kernel makes; null where it can't be read. */
function kernelLine(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim().replaceAll('\t', ' ');
  } catch {
    return null;
  }
}

function sysctls(): Record<string, string> {
  const entries = sysctlNames.flatMap((name) => {
    const value = kernelLine(`/proc/sys/${name.replaceAll('.', '/')}`);
    return value === null ? [] : [[name, value] as const];
  });
  return Object.fromEntries(entries);
}

/** @param command the words that make the same result again. */
export function manifest(command: string): Manifest {
  const commit = git('rev-parse', 'HEAD');
  const changed = commit !== null && git('status', '--porcelain', '--', '.', ':!bench/results') !== '';
  return {
    made_at: new Date().toISOString(),
    commit: commit === null ? null : `${commit}${changed ? '+' : ''}`,
    lock_sha256: lockHash(),
    node: process.version,
    kernel: `${osType()} ${release()}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memory_gib: Math.round(totalmem() / 2 ** 30),
    governor: kernelLine('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor'),
    sysctls: sysctls(),
    command,
  };
}

/** The words that make a result again, without a key among them: a manifest is for others to read. */
export function commandText(program: string, words: readonly string[] = process.argv.slice(2)): string {
  const shown = words.map((word, at) =>
    words[at - 1] === '--key' ? '…' : word.replace(/^--key=.*$/s, '--key=…'),
  );
  return [program, ...shown].join(' ');
}
