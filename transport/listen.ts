/** Chooses the server: uWebSockets.js where its native binary loads, node:http and `ws` elsewhere. */
import { listenNode } from './node.js';
import type { Application, Listen, ListenOptions, Listening } from './socket.js';
import { loadUws } from './uws.js';

/** `auto` prefers `uws`, and says so in one warning line where it cannot have it. */
export type ListenKind = 'uws' | 'node' | 'auto';

const platforms =
  'its builds run on Linux (x64, arm64) with Node 20 and glibc 2.27 or newer, or with Node 22 or 24 and glibc 2.38 ' +
  'or newer, and with these versions of Node on macOS (x64, arm64) and Windows (x64)';

/**
 * Listens, and resolves once the port is open. Rejects where the port cannot be had, and for `uws` where the native
 * binary cannot load, with a sentence that says why and where it can.
 *
 * @param warn takes the one line that `auto` writes when it falls back.
 * @param load loads the native server; a test replaces it.
 */
export async function listen(
  kind: ListenKind,
  application: Application,
  options: ListenOptions,
  warn: (line: string) => void,
  load: () => Promise<Listen> = () => loadUws(),
): Promise<Listening> {
  if (kind === 'node') return listenNode(application, options);
  let listenUws: Listen;
  try {
    listenUws = await load();
  } catch (fault) {
    const sentence = `uWebSockets.js cannot load here (${causeOf(fault)}); ${platforms}.`;
    if (kind === 'uws') throw new Error(sentence, { cause: fault });
    warn(`${sentence} Serving on node:http and ws instead.`);
    return listenNode(application, options);
  }
  // Only a failure to load falls back: a port that is taken is taken for both.
  return listenUws(application, options);
}

/** One line of the loader's message. Its own first line lists platforms; what failed stands below, after `Error:`. */
function causeOf(fault: unknown): string {
  const lines = (fault instanceof Error ? fault.message : String(fault)).split('\n');
  const cause = lines.find((line) => line.startsWith('Error: ')) ?? lines[0] ?? '';
  return cause.replace(/^Error: /, '').trim();
}
