/** Ids that nobody can guess: a prefix and 128 random bits. */
import { randomFillSync } from 'node:crypto';

const idBytes = 16;
/** Drawn from the system many at a time: a call for each id would cost more than the id. */
const drawn = Buffer.alloc(256 * idBytes);
let at = drawn.length;

/** Joined, because a concatenation would keep its parts alive beside the text for as long as the id is kept. */
export function randomId(prefix: string): string {
  if (at === drawn.length) {
    randomFillSync(drawn);
    at = 0;
  }
  const bits = drawn.toString('hex', at, (at += idBytes));
  return [prefix, bits].join('_');
}
