/**
 * Bearer keys. They are compared in constant time and never leave this file: the rest of the server knows a caller by
 * a digest of its key.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';

interface Known {
  readonly digest: Buffer;
  readonly credential: string;
}

function digestOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

export class Keys {
  readonly #known: readonly Known[];

  /** No keys: open mode, in which everybody is the same caller. */
  constructor(keys: readonly string[]) {
    this.#known = keys.map((key) => {
      const digest = digestOf(key);
      return { digest, credential: digest.toString('hex').slice(0, 16) };
    });
  }

  get open(): boolean {
    return this.#known.length === 0;
  }

  /** Whose key an `authorization` header carries; null where it is no key of ours. */
  credentialFor(authorization: string | undefined): string | null {
    if (this.open) return 'open';
    const key = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    if (key === undefined) return null;
    const digest = digestOf(key);
    let found: string | null = null;
    // Every key is looked at, so that the time taken says nothing about which one matched.
    for (const known of this.#known) if (timingSafeEqual(known.digest, digest)) found = known.credential;
    return found;
  }
}

/**
 * Keys from a file (one a line; blank lines and lines with # are skipped) and from a comma-separated list.
 * @throws Error where the file cannot be read.
 */
export function readKeys(file: string | undefined, list: string | undefined): string[] {
  const lines = file === undefined ? [] : readFileSync(file, 'utf8').split('\n');
  return [...lines, ...(list ?? '').split(',')]
    .map((key) => key.trim())
    .filter((key) => key !== '' && !key.startsWith('#'));
}
