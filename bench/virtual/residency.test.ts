import assert from 'node:assert/strict';
import { test } from 'node:test';

import { builtinProfiles, type Profile } from '../service/profile.js';
import { playAlone } from './alone.js';
import { prototype, shipped, type VirtualArm } from './arm.js';
import { measureResidency, residencyOf } from './residency.js';
import { cpuProfile, smallCell, smallScenario } from './testing.js';

const turn = (startedAt: number, endedAt: number, tokens: number) => ({
  conversation: '0',
  askedAt: startedAt,
  startedAt,
  endedAt,
  tokens,
});
const three = [turn(0, 1000, 100), turn(3000, 4000, 200), turn(14_000, 15_000, 300)];

test('state is kept between turns for as long as its policy says, and by nobody where that is not at all', () => {
  const kept = (ttlMs: number) => residencyOf(three, shipped, { policy: 'per-conversation', ttlMs });
  assert.equal(kept(Infinity).kv_token_seconds, 100 * 2 + 200 * 10);
  assert.equal(kept(5000).kv_token_seconds, 100 * 2 + 200 * 5);
  assert.equal(residencyOf(three, prototype, { policy: 'per-turn' }).kv_token_seconds, 0);
});

test('only a suspended loop holds a Response and a place, unless the place is given back', () => {
  const session = { policy: 'per-conversation', ttlMs: 5000 } as const;
  const of = (arm: VirtualArm) => residencyOf(three, arm, session);
  assert.deepEqual(
    [of(shipped).response_seconds, of(shipped).slot_seconds, of(shipped).transcript_token_seconds],
    [0, 0, 2200],
  );
  assert.deepEqual([of(prototype).response_seconds, of(prototype).slot_seconds], [12, 12]);
  assert.equal(of({ ...prototype, place: 'per-turn' }).slot_seconds, 0);
  assert.equal(of({ ...shipped, place: 'per-conversation' }).slot_seconds, 7);
  assert.equal(of({ ...shipped, state: 'none' }).transcript_token_seconds, 0);
});

async function residency(arm: VirtualArm, profile: Profile, ttlMs: number) {
  const cell = smallCell(smallScenario(6, 1000), profile);
  const session = { policy: 'per-conversation', ttlMs } as const;
  const { turns } = await playAlone({ ...cell, session }, arm, 0);
  assert.equal(turns.length, 6);
  return residencyOf(turns, arm, session);
}

test('the prototype and what shipped keep the same state for the same time, at any time to live', async () => {
  const bare = builtinProfiles.get('bare') ?? assert.fail();
  for (const ttlMs of [0, 300, Infinity]) {
    const [a, b] = [await residency(prototype, bare, ttlMs), await residency(shipped, bare, ttlMs)];
    assert.equal(a.kv_token_seconds, b.kv_token_seconds, `${ttlMs}`);
    assert.equal(a.transcript_token_seconds, b.transcript_token_seconds);
  }
});

test('where a create takes longer than an append its state waits longer, unless it has expired before', async () => {
  const profile = cpuProfile(18, 2);
  const difference = async (ttlMs: number) =>
    (await residency(shipped, profile, ttlMs)).kv_token_seconds -
    (await residency(prototype, profile, ttlMs)).kv_token_seconds;
  assert.ok((await difference(Infinity)) > 0);
  assert.ok(Math.abs(await difference(300)) < 1e-9);
});

test('the section has means over rollouts, and says no number where state lives for ever', async () => {
  const cell = smallCell(smallScenario(3, 1000), cpuProfile(18, 2));
  const forever = { ...cell, session: { policy: 'per-conversation' } as const };
  const { ttl_ms, place_seconds } = await measureResidency(forever, prototype, 2);
  assert.equal(ttl_ms, null);
  assert.ok(Math.abs(place_seconds - 2 * 1.002) < 1e-9, `${place_seconds}`);
  const { token_seconds, ...rest } = await measureResidency(cell, shipped, 1);
  assert.ok(token_seconds > 0);
  assert.deepEqual(rest, { scenario: 'small', ttl_ms: 60_000, arm: 'chain-ws', place_seconds: 0 });
  await assert.rejects(measureResidency(cell, shipped, 0), RangeError);
});
