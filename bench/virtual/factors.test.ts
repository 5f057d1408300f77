import { test } from 'node:test';
import assert from 'node:assert/strict';

import { builtinProfiles, type Profile } from '../service/profile.js';
import { prototype, shipped } from './arm.js';
import { armOf, factorNames, factorSection, factorText } from './factors.js';
import { playVirtual } from './rollout.js';
import { testCell } from './testing/cell.js';

const bare = builtinProfiles.get('bare');
assert.ok(bare);
const wait = (wait_ms: number) => ({ full: { wait_ms, cpu_ms: 0, us_per_token: 0 } });
/** A create costs 30 ms more than an append. */
const residual: Profile = { ...bare, name: 'residual', modules: { residual: wait(30) } };
const network = {
  rttMs: 20,
  bytesPerSecond: Infinity,
  restartsAfterIdle: false,
  connection: 'kept',
  tls: false,
} as const;
const near = (left: number | undefined, right: number): void =>
  assert.ok(Math.abs((left ?? Number.NaN) - right) < 1e-6, `${left} and ${right}`);

function maskOf(...names: readonly string[]): number {
  return names.reduce((mask, name) => mask | (1 << factorNames.indexOf(name)), 0);
}

test('no switch is the shipped design, and all but the early return are the prototype', async () => {
  const cell = testCell({ profile: { ...residual, admission: { admit_ms: 8, resume_ms: 1 } } });
  for (const rollout of [0, 1]) {
    const [none, most, asShipped, asPrototype] = await Promise.all(
      [armOf(0), armOf(maskOf('wire', 'suspension', 'obligations', 'session')), shipped, prototype].map(
        (arm) => playVirtual(cell, arm, rollout),
      ),
    );
    assert.deepEqual(none?.turns, asShipped?.turns);
    assert.deepEqual(most?.turns, asPrototype?.turns);
  }
});

test('where only the work of a create costs anything, the obligations give the whole gain', async () => {
  const section = await factorSection(testCell({ profile: residual, network }), { rollouts: 2 });
  const byName = new Map(section.shapley.map((one) => [one.factor, one]));
  const turns = 7; // Of both rollouts; the first of each asks for everything in any design.
  near(byName.get('obligations')?.ms_per_turn, (30 * 5) / turns);
  near(byName.get('obligations')?.alone_ms_per_turn, (30 * 5) / turns);
  for (const idle of ['wire', 'suspension', 'session']) near(byName.get(idle)?.ms_per_turn, 0);
  assert.equal(section.cells.length, 32);
});

test('where only a place costs anything, holding it gives all but what the early return does', async () => {
  const profile = { ...bare, admission: { admit_ms: 12, resume_ms: 2 } };
  const section = await factorSection(testCell({ profile, network }), { rollouts: 2 });
  const byName = new Map(section.shapley.map((one) => [one.factor, one]));
  near(byName.get('session')?.ms_per_turn, (10 * 5) / 7);
  for (const idle of ['wire', 'suspension', 'obligations']) near(byName.get(idle)?.ms_per_turn, 0);
});

test('under the assumed service the shares sum to the whole gain, the wire is a part of it, and the text says so', async () => {
  const section = await factorSection(testCell(), { rollouts: 2 });
  const whole = (section.cells[0]?.ms_per_turn ?? 0) - (section.cells[31]?.ms_per_turn ?? 0);
  near(
    section.shapley.reduce((sum, { ms_per_turn }) => sum + ms_per_turn, 0),
    whole,
  );
  near(
    section.shapley.reduce((sum, { share }) => sum + share, 0),
    1,
  );
  assert.deepEqual(
    section.ladder.map(({ step }) => step),
    [
      'replay-http new connection each turn',
      'replay-http',
      'replay-ws',
      'chain-http',
      'chain-ws full safety',
      'chain-ws',
      'chain-ws ahead',
      'append-ws',
      'append-ws without safety',
    ],
  );
  const text = factorText(section);
  for (const name of [...factorNames, 'all five', 'append-ws without safety'])
    assert.ok(text.includes(name), name);
  assert.match(text, /alone gives the shipped design/);
});
