import { test } from 'node:test';
import assert from 'node:assert/strict';

import {
  array,
  asyncProperty,
  assert as holds,
  boolean,
  constantFrom,
  double,
  integer,
  record,
} from 'fast-check';

import { builtinProfiles, type Profile } from '../service/profile.js';
import { virtualArm } from './arm.js';
import { predictRollout } from './formula.js';
import { playVirtual, type VirtualCell } from './rollout.js';
import { testCell } from './testing/cell.js';

const hosted = builtinProfiles.get('hosted');
const bare = builtinProfiles.get('bare');
assert.ok(hosted && bare);
const arms = ['replay-http', 'chain-http', 'chain-ws', 'append-ws'].map(virtualArm);
const busy: Profile = {
  ...hosted,
  name: 'busy',
  modules: { ...hosted.modules, residual: { full: { wait_ms: 7, cpu_ms: 3, us_per_token: 0.1 } } },
  admission: { admit_ms: 11, resume_ms: 2 },
  history_share: 0.25,
};

const call = record({
  arguments_tokens: integer({ min: 9, max: 300 }),
  tool_ms: double({ min: 0, max: 2000, noNaN: true }),
  output_tokens: integer({ min: 1, max: 9000 }),
});
const cells = record({
  rttMs: double({ min: 0, max: 200, noNaN: true }),
  bytesPerSecond: constantFrom(Infinity, 6_250_000, 500_000),
  restartsAfterIdle: boolean(),
  connection: constantFrom('kept' as const, 'per-turn' as const),
  tls: boolean(),
  cold: boolean(),
  profile: constantFrom(bare, hosted, busy),
  policy: constantFrom('per-turn' as const, 'per-conversation' as const),
  speed: double({ min: 20, max: 8000, noNaN: true }),
  prefill: double({ min: 2000, max: 400_000, noNaN: true }),
  toolScale: double({ min: 0, max: 1, noNaN: true }),
  machineMs: double({ min: 0, max: 5, noNaN: true }),
  context: integer({ min: 1, max: 120_000 }),
  instructions: integer({ min: 1, max: 8000 }),
  turns: array(
    record({
      output_tokens: integer({ min: 0, max: 400 }),
      calls: array(call, { minLength: 1, maxLength: 3 }),
    }),
    { maxLength: 5 },
  ),
}).map((drawn): VirtualCell => {
  const { rttMs, bytesPerSecond, restartsAfterIdle, connection, tls, machineMs, turns } = drawn;
  const rollout = {
    context_tokens: drawn.context,
    turns: [...turns, { output_tokens: 30, calls: [] }],
  };
  return testCell({
    network: { rttMs, bytesPerSecond, restartsAfterIdle, connection, tls },
    cold: drawn.cold,
    profile: drawn.profile,
    session: { policy: drawn.policy },
    decodeTokensPerSecond: drawn.speed,
    prefillTokensPerSecond: drawn.prefill,
    toolScale: drawn.toolScale,
    machine: Object.fromEntries(
      arms.map(({ name }) => [
        name,
        {
          request_ms: machineMs,
          us_per_token: machineMs / 10,
          us_per_repeated_byte: machineMs / 100,
          turn_end_ms: machineMs / 4,
        },
      ]),
    ),
    scenario: { ...testCell().scenario, instructions_tokens: drawn.instructions, rollouts: [rollout] },
  });
});

/** Within 1 % of the overhead, and not of what is injected beside it. */
function near(predicted: number, played: number, overheadMs: number, what: string): void {
  assert.ok(Math.abs(predicted - played) <= 0.01 * overheadMs + 1e-6, `${what}: ${predicted} and ${played}`);
}

test('virtual time and the formula agree within 1 % of overhead, turn by turn, and end to end', async () => {
  await holds(
    asyncProperty(cells, constantFrom(...arms), async (cell, arm) => {
      const played = await playVirtual(cell, arm, 0);
      const { turns, e2e_ms } = predictRollout(cell, arm, 0);
      assert.equal(turns.length, played.turns.length);
      for (const [at, { overhead_ms, read, ms }] of turns.entries()) {
        const turn = played.turns[at] ?? assert.fail();
        near(overhead_ms + read, turn.first_token_ms, overhead_ms, `${arm.name}, turn ${at + 1}`);
        near(ms, turn.ms, overhead_ms, `${arm.name}, turn ${at + 1} to its end`);
        if (cell.session.policy === 'per-conversation')
          near(overhead_ms, turn.overhead_ms, overhead_ms, `${arm.name}, overhead of turn ${at + 1}`);
      }
      const overheads = turns.reduce((sum, { overhead_ms }) => sum + overhead_ms, 0);
      near(e2e_ms, played.e2e_ms, overheads, `${arm.name} end to end`);
    }),
    { numRuns: 150 },
  );
});

test('a drawn wait counts with its mean', () => {
  const table = { p: [0, 50, 100], v: [0, 10, 40] };
  const profile: Profile = {
    ...bare,
    modules: { residual: { full: { wait_ms: table, cpu_ms: 0, us_per_token: 0 } } },
  };
  const { turns } = predictRollout(testCell({ profile }), virtualArm('chain-ws'), 0);
  assert.ok(
    turns.every(({ work }) => Math.abs(work - 15) < 1e-9),
    'half of it 5, half of it 25',
  );
});

test('the network cancels between append and chain only while windows stay open', () => {
  const gain = (rttMs: number, restartsAfterIdle: boolean): number => {
    const network = {
      rttMs,
      bytesPerSecond: Infinity,
      restartsAfterIdle,
      connection: 'kept',
      tls: false,
    } as const;
    const scenario = { ...testCell().scenario, instructions_tokens: 4000, tools_bytes: 15_000 };
    const [chain, append] = ['chain-ws', 'append-ws'].map(
      (name) => predictRollout(testCell({ network, scenario, toolScale: 100 }), virtualArm(name), 0).e2e_ms,
    );
    return (chain ?? Number.NaN) - (append ?? Number.NaN);
  };
  assert.ok(Math.abs(gain(200, false) - gain(2, false)) < 1e-6);
  assert.ok(gain(200, true) - gain(2, true) >= 3 * 190, 'a round trip more after each of three slow tools');
});

test('what it does not know it refuses', () => {
  for (const name of ['append-ws early', 'chain-ws ahead'])
    assert.throws(() => predictRollout(testCell(), virtualArm(name), 0), RangeError);
  const session = { policy: 'per-conversation', ttlMs: 2000 } as const;
  assert.throws(() => predictRollout(testCell({ session }), virtualArm('chain-ws'), 0), /time to live/);
});
