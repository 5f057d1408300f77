/** The sources are read, so that a wrong import is named before it is run. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';

import { faultsIn, folders, importsOf } from './testing/boundaries.js';

/** The project's root: above the compiled file, or where the tests were started. */
function root(): string {
  const candidates = [
    fileURLToPath(new URL('../..', import.meta.url)),
    process.cwd(),
    join(process.cwd(), '..'),
  ];
  const found = candidates.find(
    (each) => existsSync(join(each, 'tsconfig.json')) && existsSync(join(each, 'engine')),
  );
  return found ?? assert.fail('the sources are nowhere near');
}

function projectSources(): Map<string, string> {
  const from = root();
  return new Map(
    folders.flatMap((folder) =>
      readdirSync(join(from, folder), { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith('.ts'))
        .map((path) => {
          const name = posix.join(folder, path.replaceAll('\\', '/'));
          return [name, readFileSync(join(from, name), 'utf8')] as const;
        }),
    ),
  );
}

test('arrows between the folders point the right way, packages stay in their places, nothing goes in a circle', () => {
  const sources = projectSources();
  assert.ok(sources.size > 50 && sources.has('engine/rollout.ts'), `${sources.size} sources were found`);
  assert.deepEqual(faultsIn(sources), []);
});

test('the imports of a source are found in every form, and words in text or comments are not', () => {
  const source = [
    "import { a } from './a.js';",
    "import type { B } from './b.js';",
    "import c, { d } from './c.js';",
    "import * as e from './e.js';",
    'import {',
    '  f,',
    '  type F,',
    "} from './f.js';",
    "import './g.js';",
    "export * from './h.js';",
    "export { i } from './i.js';",
    "export type { J } from './j.js';",
    "export const from = 'not a file';",
    "// import { x } from './x.js';",
    " * see import('./x.js')",
    'const text = "import { x } from \'./x.js\'";',
    "const { default: k } = await import('./k.js');",
    'export function l() {',
    "  return import('./l.js');",
    '}',
  ].join('\n');
  assert.deepEqual(
    importsOf(source).map(
      ({ line, specifier, typeOnly }) => `${line} ${specifier}${typeOnly ? ' type' : ''}`,
    ),
    [
      '1 ./a.js',
      '2 ./b.js type',
      '3 ./c.js',
      '4 ./e.js',
      '5 ./f.js',
      '9 ./g.js',
      '10 ./h.js',
      '11 ./i.js',
      '12 ./j.js type',
      '17 ./k.js',
      '19 ./l.js',
    ],
  );
});

const dynamic = (specifier: string): string => ['const it = await import', `('${specifier}');`].join('');

for (const [path, line, names] of [
  [
    'engine/x.ts',
    "import { listen } from '../transport/listen.js';",
    'engine/x.ts:2 imports ../transport/listen.js',
  ],
  ['engine/samplers/x.ts', "import type { A } from '../../scenarios/index.js';", 'engine/samplers/x.ts:2'],
  ['transport/x.ts', "export * from '../bench/index.js';", 'transport/x.ts:2'],
  ['transport/x.ts', "import { a } from 'long-response/scenarios';", 'transport/x.ts:2'],
  ['scenarios/x.ts', dynamic('../bench/cli.js'), 'scenarios/x.ts:2'],
  ['engine/x.ts', "import { z } from 'zod';", 'engine/x.ts:2 imports zod'],
  ['engine/render.ts', "import { get_encoding } from 'tiktoken';", 'engine/render.ts:2'],
  ['engine/x.ts', "import pino from 'pino';", 'engine/x.ts:2'],
  ['engine/x.ts', "import a from '@scope/unheard-of/deep';", 'engine/x.ts:2'],
  ['engine/x.ts', "import * as fc from 'fast-check';", 'engine/x.ts:2'],
  ['engine/x.ts', "import { readFile } from 'fs/promises';", 'node:fs/promises'],
  ['transport/server.ts', dynamic('uWebSockets.js'), 'transport/server.ts:2 imports uWebSockets.js'],
  ['transport/server.ts', "import { WebSocket } from 'ws';", 'transport/server.ts:2'],
  ['transport/session.ts', "import type { Logger } from 'pino';", 'transport/session.ts:2'],
  ['transport/session.ts', "import { Counter } from 'prom-client';", 'transport/session.ts:2'],
  ['scenarios/x.ts', "import { z } from 'zod';", 'scenarios/x.ts:2'],
  ['scenarios/import/codex.ts', "import { z } from 'zod';", 'scenarios/import/codex.ts:2'],
] as const)
  test(`${path} must not say: ${line}`, () => {
    const faults = faultsIn(new Map([[path, `/** A made-up source. */\n${line}\n`]]));
    assert.equal(faults.length, 1, faults.join('\n'));
    assert.ok(faults[0]?.includes(names), faults[0]);
  });

for (const [path, line] of [
  ['bench/x.ts', "import { Engine } from '../engine/index.js';"],
  ['scenarios/x.ts', "import { a } from 'long-response/transport';"],
  ['transport/serve.ts', "import { pino } from 'pino';"],
  ['transport/metrics.ts', "import { Counter } from 'prom-client';"],
  ['transport/uws.ts', dynamic('uWebSockets.js')],
  ['transport/client-run.ts', "import { WebSocket } from 'ws';"],
  ['transport/testing/wire.ts', "import { WebSocket } from 'ws';"],
  ['engine/protocol/x.ts', "import { z } from 'zod';"],
  ['scenarios/import/schema.ts', "import { z } from 'zod';"],
  ['engine/x.test.ts', "import * as fc from 'fast-check';"],
  ['bench/x.ts', "import { Command } from 'commander';"],
  ['transport/x.ts', "import data from '../package.json' with { type: 'json' };"],
] as const)
  test(`${path} may say: ${line}`, () => {
    assert.deepEqual(faultsIn(new Map([[path, line]])), []);
  });

test('a package with one place in a folder is refused in a second one, and a folder is one place', () => {
  const zod = "import { z } from 'zod';";
  const two = new Map([
    ['transport/client-events.ts', zod],
    ['transport/frames.ts', `\n${zod}`],
  ]);
  assert.deepEqual(faultsIn(two), [
    'transport/frames.ts:2 imports zod: transport/client-events.ts does, and one place in transport is enough',
  ]);
  const folder = new Map([
    ['transport/protocol/a.ts', zod],
    ['transport/protocol/b.ts', zod],
  ]);
  assert.deepEqual(faultsIn(folder), []);
  assert.equal(faultsIn(new Map([...folder, ['transport/client-events.ts', zod]])).length, 1);
});

test('a circle of imports is named line by line, and one of types is none', () => {
  const circle = new Map([
    ['engine/a.ts', "import { b } from './b.js';"],
    ['engine/b.ts', "\nimport { c } from './deep/c.js';"],
    ['engine/deep/c.ts', "export { a } from '../a.js';"],
  ]);
  assert.deepEqual(faultsIn(circle), [
    'engine/deep/c.ts:1 closes a circle: engine/a.ts → engine/b.ts → engine/deep/c.ts → engine/a.ts',
  ]);
  circle.set('engine/deep/c.ts', "import type { A } from '../a.js';");
  assert.deepEqual(faultsIn(circle), []);
});
