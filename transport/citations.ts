/** Which tests cite what: read from the names of the compiled tests, where an id stands in brackets, as in `(P12, B45)`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

export interface Citation {
  /** The test's name, as its source has it. */
  readonly test: string;
  /** Its file, from the root of the build. */
  readonly file: string;
}

/** The first argument of whatever registers a test: `test` itself, or a function of ours such as `overEveryWire`. */
const registered =
  /(?<![\w.])(?:test|(?:over|in|on)[A-Z]\w*)\(\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/gs;

/** The names of the tests in a source. */
export function testNames(source: string): string[] {
  return Array.from(source.matchAll(registered), (match) =>
    (match.slice(1).find((name) => name !== undefined) ?? '').replaceAll(/\\(['"`])/g, '$1'),
  );
}

/** The ids that a name cites. */
export function citedIn(name: string): string[] {
  const brackets = name.match(/\([^()]*\)/g) ?? [];
  return [...new Set(brackets.flatMap((bracket) => bracket.match(/\b[PB]\d+\b/g) ?? []))];
}

function testFiles(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() && entry.name.endsWith('.test.js') ? [join(entry.parentPath, entry.name)] : [],
  );
}

/** Who cites each id, over all tests below `root`, in the order of their files. */
export function citations(root: string): Map<string, Citation[]> {
  const found = new Map<string, Citation[]>();
  const files = ['engine', 'transport', 'scenarios', 'bench'].flatMap((folder) => testFiles(root, folder));
  for (const path of files.toSorted()) {
    const file = relative(root, path).split(sep).join('/').replace(/\.js$/, '.ts');
    for (const test of testNames(readFileSync(path, 'utf8')))
      for (const id of citedIn(test)) found.set(id, [...(found.get(id) ?? []), { test, file }]);
  }
  return found;
}
