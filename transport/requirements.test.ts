import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { citations, citedIn, testNames } from './citations.js';
import { cases } from './requirement-cases.js';
import { requirements } from './requirements.js';

const found = citations(fileURLToPath(new URL('..', import.meta.url)));

test('every statement that is a must, and every case, is cited by the name of a test', () => {
  const needed = [...requirements.filter(({ level }) => level === 'M'), ...cases];
  const missing = needed.filter(({ id }) => !found.has(id)).map(({ id, says }) => `${id}: ${says}`);
  assert.deepEqual(missing, []);
});

test('what should be so and has no test is listed, not failed', (context) => {
  for (const { id, level, says } of requirements)
    if (level === 'S' && !found.has(id)) context.diagnostic(`no test cites ${id}: ${says}`);
});

test('statements are numbered from P1 on without a gap, no id stands twice, and each says a sentence', () => {
  assert.deepEqual(
    requirements.map(({ id }) => id),
    requirements.map((_, index) => `P${index + 1}`),
  );
  assert.equal(new Set(cases.map(({ id }) => id)).size, cases.length);
  for (const { id, says } of [...requirements, ...cases])
    assert.match(says, /^(?:response\.|[A-Z]).*\S\.$/, id);
});

test('nobody cites a statement that there is not', () => {
  const known = new Set(requirements.map(({ id }) => id));
  const unknown = [...found.keys()].filter((id) => id.startsWith('P') && !known.has(id));
  assert.deepEqual(unknown, []);
});

test('names are found in each kind of quotes, whatever registers them, and ids only in brackets', () => {
  // Written with other letters, so that this test cites nothing itself.
  const named = (text: string): string => text.replaceAll('§', 'P').replaceAll('¶', 'B');
  const source = named(
    [
      `test('one (§1)', async () => {});`,
      `overEveryWire(`,
      `  \`\${design}: it\\'s two (§2, ¶3)\`, body);`,
      `inEachShape("three §4 (S1, ¶5, §6)", body);`,
      `list.test('no test (§9)'); latest('no test (§9)'); nothing(name, '§9');`,
    ].join('\n'),
  );
  const names = ['one (§1)', "${design}: it's two (§2, ¶3)", 'three §4 (S1, ¶5, §6)'];
  assert.deepEqual(testNames(source), names.map(named));
  assert.deepEqual(testNames(source).flatMap(citedIn), ['P1', 'P2', 'B3', 'B5', 'P6']);
});
