/** Memory after a full collection. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { Transcript } from '../../engine/index.js';

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

export interface Memory {
  /** JavaScript heap and array buffers, in bytes. */
  readonly heap: number;
  readonly rss: number;
}

/** @throws Error where this Node has no way to force a collection. */
export function memoryNow(): Memory {
  if (typeof collect !== 'function') throw new Error('this Node cannot be told to collect garbage');
  // Twice: what a first collection finalises, a second one frees.
  collect();
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
}

/** Entries of a transcript, from one index to another. */
export interface Part {
  readonly transcript: Transcript;
  readonly from?: number;
  readonly to?: number;
}

/** What transcripts weigh, by making others like them: items cloned, tokens copied, and nothing shared. */
export function transcriptBytes(parts: readonly Part[]): number {
  const before = memoryNow().heap;
  const twins = parts.map(({ transcript, from = 0, to = transcript.length }) => {
    let twin = Transcript.empty;
    for (let index = from; index < to; index++) {
      const { item, tokens } = transcript.at(index);
      twin = twin.extend([{ item: structuredClone(item), tokens: tokens.slice() }]);
    }
    return twin;
  });
  const after = memoryNow().heap;
  // Read after the measurement, so that they are still there when it is taken.
  return twins.length === parts.length ? after - before : Number.NaN;
}
