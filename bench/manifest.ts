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

/** @param command the words that make the same result again. */
export function manifest(command: string): Manifest {
  const commit = git('rev-parse', 'HEAD');
  const changed = commit !== null && git('status', '--porcelain') !== '';
  return {
    made_at: new Date().toISOString(),
    commit: commit === null ? null : `${commit}${changed ? '+' : ''}`,
    lock_sha256: lockHash(),
    node: process.version,
    kernel: `${osType()} ${release()}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memory_gib: Math.round(totalmem() / 2 ** 30),
    command,
  };
}
