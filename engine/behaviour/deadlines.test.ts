/** Every wait has a bound, and what a rollout becomes at it. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import type { LiveResponse } from '../live-response.js';
import {
  call,
  callIdsOf,
  eventsOf,
  eventsOfType,
  Lab,
  message,
  output,
  postRuns,
  refusal,
  say,
  turn,
  type LabOptions,
} from '../testing/lab.js';
import type { Limits } from '../limits.js';

const minuteMs = 60_000;
const oneCall = [turn(call('ls')), turn(say('done'))];
const twoCalls = [turn(call('a'), call('b')), turn(say('done'))];

function limited(limits: Partial<Limits>, scripted: LabOptions = {}): LabOptions {
  return { ...scripted, engine: { limits } };
}

async function assertExpired(lab: Lab, response: LiveResponse, reason: string): Promise<void> {
  assert.deepEqual((await response.settled).outcome, { status: 'incomplete', reason });
  const last = eventsOf(response).at(-1);
  assert.ok(last?.type === 'response.incomplete');
  assert.deepEqual(last.response.incomplete_details, { reason });
  assert.deepEqual(postRuns(response), [1, 1, 1]);
  assert.deepEqual([lab.engine.liveCount, lab.clock.pending, lab.model.stats.released], [0, 0, 1]);
}

test('a suspension that nobody ends expires at its bound and not before, and calls are answered as aborted', async () => {
  const lab = new Lab(twoCalls, limited({ suspensionMsMax: 1000 }));
  const response = await lab.create();
  const [a, b] = callIdsOf(response);
  await lab.append(response, output(a, '1'));
  await lab.clock.advance(999);
  assert.equal(response.suspended, true);
  await lab.clock.advance(1);
  await assertExpired(lab, response, 'suspension_expired');
  assert.equal((await refusal(response.append([output(b, '2')]))).code, 'response_already_completed');
  assert.deepEqual(response.kept.transcript.output('call_2'), output('call_2', 'aborted'));
  assert.equal(lab.clock.now(), 1000);
});

test('every suspension has the whole bound for itself; messages do not prolong it', async () => {
  const lab = new Lab(
    [turn(call('a')), turn(call('b')), turn(say('done'))],
    limited({ suspensionMsMax: 1000 }),
  );
  const response = await lab.create();
  await lab.clock.advance(900);
  await lab.append(response, output('call_1', '1'));
  await lab.clock.advance(900);
  assert.equal(response.suspended, true);
  await lab.append(response, message('hurry'));
  await lab.clock.advance(100);
  await assertExpired(lab, response, 'suspension_expired');
});

test('the default bound of a suspension is an hour (B24)', async () => {
  const lab = new Lab(oneCall);
  const response = await lab.create();
  await lab.clock.advance(59 * minuteMs);
  await lab.append(response, output('call_1', 'at last'));
  assert.equal((await response.settled).outcome.status, 'completed');
});

for (const [name, suspensionMsMax] of [
  ['of 30 days, beyond what setTimeout can count,', 30 * 24 * 60 * minuteMs],
  ['without end', Infinity],
] as const)
  test(`a suspension bound ${name} holds`, async () => {
    const lab = new Lab(oneCall, limited({ suspensionMsMax }));
    const response = await lab.create();
    await lab.clock.advance(2 ** 31 + 1);
    assert.equal(response.suspended, true);
    if (suspensionMsMax === Infinity) {
      assert.equal(lab.clock.pending, 0);
      await lab.append(response, output('call_1', 'ok'));
      assert.equal((await response.settled).outcome.status, 'completed');
    } else {
      await lab.clock.advance(suspensionMsMax - 2 ** 31 - 1);
      await assertExpired(lab, response, 'suspension_expired');
    }
  });

test('the bound of a rollout ends it while it is suspended, however short each suspension was', async () => {
  const lab = new Lab(() => turn(call('again')), limited({ rolloutMsMax: 2500, suspensionMsMax: 2000 }));
  const response = await lab.create();
  await lab.clock.advance(1000);
  await lab.append(response, output('call_1', '1'));
  await lab.clock.advance(1000);
  await lab.append(response, output('call_2', '2'));
  await lab.clock.advance(499);
  assert.equal(response.suspended, true);
  await lab.clock.advance(1);
  await assertExpired(lab, response, 'rollout_expired');
});

test('the bound of a rollout ends it while the model speaks', async () => {
  const lab = new Lab(
    [turn(say('a long answer '.repeat(100)))],
    limited({ rolloutMsMax: 100 }, { decodeTokensPerSecond: 1000 }),
  );
  const response = await lab.create();
  await lab.clock.runToIdle();
  await assertExpired(lab, response, 'rollout_expired');
  assert.equal(lab.model.stats.aborted, 1);
  assert.equal(lab.clock.now(), 100);
});

test('a bound of a rollout may lie beyond 2^31 ms, and one rollout may have bounds of its own', async () => {
  const lab = new Lab(oneCall, limited({ suspensionMsMax: Infinity }));
  const response = await lab.create('hi', { limits: { rolloutMsMax: 2 ** 31 + 5000 } });
  const other = await lab.create('hi');
  await lab.clock.advance(2 ** 31 + 4999);
  assert.equal(response.suspended, true);
  await lab.clock.advance(1);
  assert.deepEqual((await response.settled).outcome, { status: 'incomplete', reason: 'rollout_expired' });
  assert.equal(other.suspended, true);
});

test('a bound that is no number is refused at create, and nothing exists', async () => {
  const lab = new Lab(oneCall);
  for (const rolloutMsMax of [Number.NaN, -1])
    await assert.rejects(lab.create('hi', { limits: { rolloutMsMax } }), RangeError);
  assert.deepEqual([lab.engine.liveCount, lab.model.stats.opened], [0, 0]);
});

test('a model that falls silent after an answer fails the Response within the bound of a step (B60)', async () => {
  const lab = new Lab(
    [turn(call('ls')), { items: [say('never')], stallAfterTokens: 0 }],
    limited({ samplerStepMsMax: 2000 }),
  );
  const response = await lab.create();
  await lab.append(response, output('call_1', 'bin'));
  await lab.clock.advance(1999);
  assert.equal(response.settlement, null);
  await lab.clock.advance(1);
  const { outcome } = await response.settled;
  assert.ok(outcome.status === 'failed');
  assert.equal(outcome.code, 'server_error');
  assert.equal(eventsOfType(response, 'response.failed').length, 1);
  assert.deepEqual(postRuns(response), [1, 1, 1]);
  assert.deepEqual([lab.engine.liveCount, lab.clock.pending], [0, 0]);
  const next = await lab.create('again', { kept: null });
  assert.equal(next.suspended, true, 'the slot is free');
});

test('the bound of a step is on silence, not on the turn', async () => {
  const lab = new Lab(
    [turn(say('a long answer '.repeat(100)))],
    limited({ samplerStepMsMax: 50 }, { decodeTokensPerSecond: 100, tickMs: 0 }),
  );
  const response = await lab.create();
  await lab.clock.runToIdle();
  assert.equal((await response.settled).outcome.status, 'completed');
  assert.ok(lab.clock.now() > 1000);
});

test('a rollout that never ends by itself is ended at the bound of its turns', async () => {
  const lab = new Lab(() => turn(call('again')), limited({ turnsMax: 3 }));
  const response = await lab.create();
  for (let number = 1; number <= 3; number++) await lab.append(response, output(`call_${number}`, 'x'));
  const { outcome, turns } = await response.settled;
  assert.ok(outcome.status === 'failed');
  assert.deepEqual([outcome.code, turns], ['server_error', 3]);
  assert.deepEqual(postRuns(response), [1, 1, 1]);
});
