/**
 * Who may import what: arrows between the folders go bench → scenarios → transport → engine, packages stay in their
 * places, and nothing goes round in a circle.
 */
import { isBuiltin } from 'node:module';
import { posix } from 'node:path';

/** Each folder may import itself and those after it. */
export const folders = ['bench', 'scenarios', 'transport', 'engine'];
const packageName = 'long-response';

const isTest = (path: string): boolean => path.endsWith('.test.ts') || path.includes('/testing/');
const starts =
  (...prefixes: readonly string[]) =>
  (path: string): boolean =>
    prefixes.some((prefix) => path.startsWith(prefix));

/** Other people's clients, which this project meets in tests only. */
const clients = starts('transport/clients/');
const speaksHttp = (path: string): boolean =>
  path.startsWith('engine/samplers/upstream/') || /^transport\/client[^/]*\.ts$/.test(path);
const serves = (path: string): boolean => /^transport\/(?:.+\/)?(?:serve|metrics)[^/]*\.ts$/.test(path);

/** Where a package may be imported. One that is not listed may be imported anywhere outside the engine. */
const places: Readonly<Record<string, (path: string) => boolean>> = {
  zod: (path) =>
    starts('engine/protocol/', 'transport/', 'bench/')(path) ||
    ['scenarios/scenario.ts', 'scenarios/import/schema.ts'].includes(path),
  tiktoken: (path) => path === 'engine/tokenizer.ts',
  undici: speaksHttp,
  'eventsource-parser': speaksHttp,
  '@copilotkit/aimock': (path) => isTest(path) && path.startsWith('engine/samplers/upstream/'),
  'uWebSockets.js': (path) => path === 'transport/uws.ts' || path.startsWith('bench/proofs/'),
  ws: (path) =>
    path === 'transport/node.ts' ||
    /^transport\/client[^/]*\.ts$/.test(path) ||
    path.startsWith('bench/') ||
    (path.startsWith('transport/') && isTest(path)),
  pino: (path) => serves(path) || path.startsWith('bench/'),
  'prom-client': serves,
  tinybench: (path) => path.startsWith('bench/'),
  vega: (path) => path.startsWith('bench/lab/figures'),
  'vega-lite': (path) => path.startsWith('bench/lab/figures'),
  'csv-stringify': (path) => path.startsWith('bench/lab/'),
  'hdr-histogram-js': (path) => path.startsWith('bench/'),
  'fast-check': isTest,
  openai: clients,
  '@openai/agents': clients,
  ai: clients,
  '@ai-sdk/openai': clients,
  '@vercel/ai-sdk-openai-websocket-fetch': clients,
  '@mariozechner/pi-ai': clients,
};

/** Packages that one file of a folder may import, or all of one folder in it. */
const onlyOnce: readonly (readonly [packageName: string, folder: string])[] = [
  ['zod', 'transport'],
  ['zod', 'bench'],
  ['tinybench', 'bench'],
];

interface Import {
  readonly line: number;
  readonly specifier: string;
  readonly typeOnly: boolean;
}

const clause = String.raw`(?:\*(?:\s+as\s+\w+)?|\w+(?:\s*,\s*(?:\{[^}]*\}|\*\s+as\s+\w+))?|\{[^}]*\})`;
const staticImport = new RegExp(
  `^(?:import|export)\\s+(type\\s+)?(?:${clause}\\s+from\\s+)?(['"])([^'"]+)\\2`,
  'gm',
);
const dynamicImport = /^(?!\s*(?:\*|\/\/)).*?\bimport\(\s*(['"])([^'"]+)\1/gm;

/** The imports of a source as it is formatted here: static ones begin a line. */
export function importsOf(source: string): Import[] {
  const lineAt = (index: number): number => source.slice(0, index).split('\n').length;
  return [
    ...Array.from(source.matchAll(staticImport), ({ index, 1: type, 3: specifier = '' }) => ({
      line: lineAt(index),
      specifier,
      typeOnly: type !== undefined,
    })),
    ...Array.from(source.matchAll(dynamicImport), ({ index, 2: specifier = '' }) => ({
      line: lineAt(index),
      specifier,
      typeOnly: false,
    })),
  ];
}

/** Sources by their path in the project. */
export type Sources = ReadonlyMap<string, string>;

/** The source a specifier stands for, or null for a package. */
function targetOf(path: string, specifier: string): string | null {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts');
  if (specifier === packageName) return 'engine/index.ts';
  return specifier.startsWith(`${packageName}/`)
    ? `${specifier.slice(packageName.length + 1)}/index.ts`
    : null;
}

const folderOf = (path: string): string => path.split('/')[0] ?? '';
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

function refusalOf(path: string, { specifier }: Import): string | null {
  const target = targetOf(path, specifier);
  if (target !== null) {
    const [from, to] = [folders.indexOf(folderOf(path)), folders.indexOf(folderOf(target))];
    return to >= 0 && to < from ? `${folders.join(' → ')}, never back` : null;
  }
  if (isBuiltin(specifier))
    return specifier.startsWith('node:') ? null : `a builtin is written node:${specifier}`;
  const place = places[packageOf(specifier)];
  if (place !== undefined) return place(path) ? null : 'the package has another place';
  return folderOf(path) === 'engine' ? 'the engine imports no such package' : null;
}

function twicePlaced(sources: Sources): string[] {
  return onlyOnce.flatMap(([name, folder]) => {
    const lines = [...sources].flatMap(([path, source]) =>
      folderOf(path) === folder && !isTest(path)
        ? importsOf(source)
            .filter(({ specifier }) => packageOf(specifier) === name)
            .map(({ line }) => ({ path, line }))
        : [],
    );
    // A folder of its own inside the top-level one counts as one place.
    const placeOf = (path: string): string => (posix.dirname(path) === folder ? path : posix.dirname(path));
    const [first] = lines;
    return lines
      .filter(({ path }) => first !== undefined && placeOf(path) !== placeOf(first.path))
      .map(
        ({ path, line }) =>
          `${path}:${line} imports ${name}: ${first?.path} does, and one place in ${folder} is enough`,
      );
  });
}

/** Circles of imports that are still there when the code runs, one line for each. */
function circles(sources: Sources): string[] {
  const state = new Map<string, 'open' | 'done'>();
  const found: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    state.set(path, 'open');
    for (const { line, specifier, typeOnly } of importsOf(sources.get(path) ?? '')) {
      const target = typeOnly ? null : targetOf(path, specifier);
      if (target === null || !sources.has(target)) continue;
      const through = [...trail, path];
      if (state.get(target) === 'open')
        found.push(
          `${path}:${line} closes a circle: ${[...through.slice(through.indexOf(target)), target].join(' → ')}`,
        );
      else if (!state.has(target)) visit(target, through);
    }
    state.set(path, 'done');
  };
  for (const path of sources.keys()) if (!state.has(path)) visit(path, []);
  return found;
}

/** What is wrong, one line for each import line at fault. */
export function faultsIn(sources: Sources): string[] {
  const lines = [...sources].flatMap(([path, source]) =>
    importsOf(source).flatMap((each) => {
      const refusal = refusalOf(path, each);
      return refusal === null ? [] : [`${path}:${each.line} imports ${each.specifier}: ${refusal}`];
    }),
  );
  return [...lines, ...twicePlaced(sources), ...circles(sources)];
}
