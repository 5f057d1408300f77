import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { boundDesigns } from './obligations.js';
import { builtinProfiles, profileNamed } from './profile.js';

test('a profile of measured costs is read from a file, and what is wrong in it is named by field', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'profile-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'mine.json');
  const mine = {
    name: 'mine',
    about: 'Ours.',
    source: 'Measured.',
    modules: { auth: { full: { wait_ms: 3 } } },
  };
  writeFileSync(file, JSON.stringify(mine));
  const read = await profileNamed(file);
  assert.deepEqual(read.modules.auth?.full, { wait_ms: 3, cpu_ms: 0, us_per_token: 0 });
  assert.deepEqual([read.history_share, read.admission.admit_ms], [0, 0]);
  writeFileSync(file, JSON.stringify({ ...mine, modules: { auth: { full: { wait_ms: -3 } } }, more: 1 }));
  await assert.rejects(profileNamed(file), (fault: Error) => {
    assert.match(fault.message, /mine\.json: modules\.auth\.full\.wait_ms/);
    assert.match(fault.message, /more/);
    return true;
  });
  writeFileSync(file, '{');
  await assert.rejects(profileNamed(file), /not JSON/);
  await assert.rejects(profileNamed('nobody'), /there are bare, hosted/);
});

test('every built-in profile says what it stands for and where its numbers come from', () => {
  for (const { about, source } of builtinProfiles.values()) assert.ok(about !== '' && source !== '');
});

test('the built-in designs are bound to the same safety, metering and durability over one transport', () => {
  for (const transport of ['ws', 'http'] as const) {
    const [first, ...others] = boundDesigns().map(({ work }) => work?.[transport] ?? assert.fail());
    for (const other of others)
      for (const module of ['output_safety', 'store', 'billing'])
        assert.equal(other[`post.service.${module}`], first?.[`post.service.${module}`]);
    for (const work of [first, ...others]) {
      assert.notEqual(work?.['append.service.safety'], 'absent');
      assert.notEqual(work?.['append.service.rate_limit'], 'absent');
    }
  }
});
