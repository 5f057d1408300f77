import { test } from 'node:test';
import assert from 'node:assert/strict';

import { builtinScenarios, expectedTokens, rolloutOf, turnsOf } from '../../scenarios/index.js';
import { builtinProfiles } from '../service/profile.js';
import { prototype, shipped, virtualArm, virtualArms } from './arm.js';
import { playVirtual, type VirtualCell } from './rollout.js';

function cellOf(name: string): VirtualCell {
  const scenario = builtinScenarios.get(name) ?? assert.fail(name);
  const profile = builtinProfiles.get('hosted') ?? assert.fail('hosted');
  return {
    scenario,
    profile,
    seed: 1,
    network: {
      rttMs: 20,
      bytesPerSecond: Infinity,
      restartsAfterIdle: false,
      connection: 'kept',
      tls: false,
    },
    decodeTokensPerSecond: 1000,
    prefillTokensPerSecond: 20_000,
    toolScale: 1,
    session: { policy: 'per-conversation' },
    cold: false,
  };
}

test('follow-ups are played in every arm, their turns numbered through, and no time passes between them', async () => {
  const cell = cellOf('session');
  const planned = turnsOf(rolloutOf(cell.scenario, 1, 0));
  const written = expectedTokens(rolloutOf(cell.scenario, 1, 0)).outputTokens;
  for (const arm of virtualArms) {
    const { status, turns, e2e_ms, tool_ms } = await playVirtual(cell, arm, 0);
    assert.deepEqual([status, turns.length], ['completed', planned.length], arm.name);
    assert.deepEqual(
      turns.map(({ turn }) => turn),
      planned.map((_, index) => index + 1),
    );
    assert.equal(
      turns.reduce((sum, { output_tokens }) => sum + output_tokens, 0),
      written,
      arm.name,
    );
    const inTurns = turns.reduce((sum, { ms }) => sum + ms, 0);
    assert.ok(Math.abs(inTurns + tool_ms - e2e_ms) < tool_ms + 1, `${arm.name}: ${inTurns} of ${e2e_ms} ms`);
  }
});

test("the prototype's once ends with each request: pre and post stages run once for each", async () => {
  const cell = cellOf('session');
  const requests = 1 + (rolloutOf(cell.scenario, 1, 0).follow_ups?.length ?? 0);
  const { stage_runs } = await playVirtual(cell, prototype, 0);
  assert.deepEqual([stage_runs['pre.validate']?.runs, stage_runs['post.bill']?.runs], [requests, requests]);
  const { stage_runs: each } = await playVirtual(cell, shipped, 0);
  assert.equal(each['pre.validate']?.runs, turnsOf(rolloutOf(cell.scenario, 1, 0)).length);
});

test('a long rollout is compacted once in every arm, and a client that sends its history sends less after it', async () => {
  const cell = cellOf('long');
  for (const name of ['append-ws', 'chain-ws', 'replay-http']) {
    const { turns } = await playVirtual(cell, virtualArm(name), 0);
    const shrunk = turns.filter(({ input_tokens }, at) => input_tokens < (turns[at - 1]?.input_tokens ?? 0));
    assert.equal(shrunk.length, 1, name);
    if (name !== 'replay-http') continue;
    const [first] = shrunk;
    const next = turns[first?.turn ?? 0];
    assert.ok(
      (next?.bytes_up ?? Infinity) < (turns[(first?.turn ?? 0) - 1]?.bytes_up ?? 0),
      'fewer bytes go up',
    );
  }
});
