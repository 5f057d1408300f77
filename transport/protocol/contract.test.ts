import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

import { limitTable } from '../../engine/index.js';
import { errorCodes } from '../../engine/protocol/errors.js';
import { serverEventSchema } from '../../engine/protocol/server-events.js';
import { builtinDesigns } from '../designs.js';

/** Beside the sources: above the compiled file, or where the tests were started. */
const place = [new URL('../../../transport/PROTOCOL.md', import.meta.url), 'transport/PROTOCOL.md'].find(
  existsSync,
);
const protocol = readFileSync(place ?? assert.fail('PROTOCOL.md is nowhere near'), 'utf8');

/** The cells of every table row, by its first cell. */
const rows = new Map(
  protocol
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
    .map(([, name = '', ...cells]) => [name, cells] as const),
);

const units: Readonly<Record<string, number>> = { MiB: 2 ** 20, min: 60_000, s: 1000 };

/** A default as the table says it: `50 000`, `4 MiB`, `10 min`, `none`. */
function numberOf(said: string): number {
  if (said === 'none') return Infinity;
  const unit = said.split(' ').at(-1) ?? '';
  const factor = units[unit] ?? 1;
  return factor * Number(said.replace(unit in units ? unit : '', '').replaceAll(' ', ''));
}

test('PROTOCOL.md says the default of every limit, and what happens at it', () => {
  for (const [name, limit] of Object.entries(limitTable)) {
    const [byDefault = '', , , atLimit = ''] = rows.get(name) ?? [];
    assert.equal(numberOf(byDefault), limit.default, name);
    assert.ok(limit.error === 'outcome' ? atLimit !== '' : atLimit.includes(String(limit.error)), name);
  }
});

test('PROTOCOL.md says the status and the type of every error code', () => {
  for (const [code, [status, type]] of Object.entries(errorCodes))
    assert.deepEqual(rows.get(code)?.slice(0, 2), [String(status), type], code);
});

test('PROTOCOL.md names every server event, every design and every close code of the server', () => {
  const shortened = protocol.replaceAll(
    /`(response\.\w+(?:\.\w+)*?)\.(\w+)`, `….(\w+)`/g,
    '`$1.$2`, `$1.$3`',
  );
  const named = shortened.replaceAll(
    '`….incomplete`, `….failed`',
    '`response.incomplete`, `response.failed`',
  );
  for (const { shape } of serverEventSchema.options)
    assert.ok(named.includes(`\`${shape.type.value}\``), shape.type.value);
  for (const { name } of builtinDesigns) assert.ok(rows.has(name), name);
  for (const code of ['1001', '1006', '1007', '1008', '1009', '1011', '1012', '1013'])
    assert.ok(rows.has(code), code);
});

test('every event of PROTOCOL.md has a direction and an example, which is JSON of that type', () => {
  const sections = protocol.split(/^### `/m).slice(1);
  assert.equal(sections.length, 17);
  for (const section of sections) {
    const [name = ''] = section.split('`');
    assert.match(section, /\n\*\*Direction\*\*: (client → server|server → client)/, name);
    const examples = [...section.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json = '']) =>
      JSON.parse(json),
    );
    assert.ok(examples.length > 0, name);
    assert.ok(
      examples.some(({ type }) => type === name),
      name,
    );
  }
});
