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

function knownFor(key: string): Known {
  const digest = digestOf(key);
  return { digest, credential: digest.toString('hex').slice(0, 16) };
}

export class Keys {
  /** Without keys everybody is the same caller, for as long as the server runs. */
  readonly open: boolean;
  #known: readonly Known[];

  /** No keys: open mode. */
  constructor(keys: readonly string[]) {
    this.#known = keys.map(knownFor);
    this.open = keys.length === 0;
  }

  /**
   * Takes other keys in the place of those so far. Gives the credentials that no key stands for any more.
   * @throws RangeError in open mode, and where there would be no key left: nobody then could call, or everybody.
   */
  replace(keys: readonly string[]): string[] {
    if (this.open) throw new RangeError('a server that was started without keys takes none later');
    if (keys.length === 0) throw new RangeError('no key is left; stop the server instead');
    const before = this.#known;
    this.#known = keys.map(knownFor);
    const kept = new Set(this.#known.map(({ credential }) => credential));
    return before.map(({ credential }) => credential).filter((credential) => !kept.has(credential));
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
