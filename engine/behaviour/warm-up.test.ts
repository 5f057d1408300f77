/** `generate:false`: pre-inference work done ahead of the first turn. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import {
  call,
  eventsOf,
  eventsOfType,
  Lab,
  message,
  output,
  postRuns,
  refusal,
  say,
  turn,
  typesOf,
} from '../testing/lab.js';

const script = [turn(call('ls')), turn(say('done'))];
const warm = { generate: false, instructions: 'be brief', input: 'about trees:' };

test('a suspended warm-up owes nothing, samples nothing, and goes on at the first message', async () => {
  const lab = new Lab(script);
  const response = await lab.create(warm);
  assert.deepEqual(typesOf(response), ['response.created', 'response.in_progress', 'response.done']);
  const [done] = eventsOfType(response, 'response.done');
  assert.deepEqual([done?.turn, done?.output, done?.required_input], [0, [], []]);
  assert.deepEqual([response.suspended, lab.engine.suspendedCount, lab.model.stats.turns], [true, 1, 0]);

  await lab.append(response, message('oaks'));
  assert.deepEqual(lab.prompt, ['system: be brief', 'user: about trees:', 'user: oaks']);
  await lab.append(response, output('call_1', 'quercus'));
  const { outcome, turns } = await response.settled;
  assert.deepEqual([outcome.status, turns], ['completed', 2]);
  assert.deepEqual(
    eventsOfType(response, 'response.done').map((event) => event.turn),
    [0, 1],
  );
  assert.deepEqual([response.stageRuns['pre.render']?.runs, postRuns(response)], [1, [1, 1, 1]]);
});

test('a warm-up in which nothing is said takes no outputs, expires like any suspension, and can be cancelled', async () => {
  const lab = new Lab(script, { engine: { limits: { suspensionMsMax: 1000 } } });
  const response = await lab.create(warm);
  assert.equal((await refusal(response.append([output('call_1', 'x')]))).code, 'unknown_call_id');
  await response.append([]);
  await lab.clock.advance(999);
  assert.equal(response.suspended, true);
  await lab.clock.advance(1);
  assert.deepEqual((await response.settled).outcome, { status: 'incomplete', reason: 'suspension_expired' });

  const other = await lab.create(warm);
  other.cancel();
  await lab.settle();
  assert.equal((await other.settled).outcome.status, 'cancelled');
  assert.deepEqual(postRuns(other), [1, 1, 1]);
  assert.equal(lab.model.stats.turns, 0);
});

test('in complete mode a warm-up completes without a turn, and its continuation does its work no second time', async () => {
  const lab = new Lab(script);
  const warmUp = await lab.create(warm, { handOff: 'complete' });
  assert.equal((await warmUp.settled).outcome.status, 'completed');
  assert.deepEqual(typesOf(warmUp), ['response.created', 'response.in_progress', 'response.completed']);
  assert.deepEqual([lab.model.stats.turns, warmUp.snapshot().output], [0, []]);

  const next = await lab.create(
    { instructions: 'be brief', input: 'oaks' },
    { kept: warmUp.kept, handOff: 'complete' },
  );
  assert.deepEqual(lab.prompt, ['system: be brief', 'user: about trees:', 'user: oaks']);
  const render = next.receipts.find((receipt) => receipt.stage === 'render');
  assert.deepEqual([render?.items, render?.tokens], [1, '<user<oaks>'.length]);
});

test('what a warm-up read is billed once, to the turn that first read it, in both modes', async () => {
  const native = new Lab(script);
  const response = await native.create(warm);
  await native.append(response, message('oaks'));
  await native.append(response, output('call_1', 'quercus'));
  await response.settled;

  const chain = new Lab(script);
  const request = { instructions: 'be brief' };
  const warmUp = await chain.create(warm, { handOff: 'complete' });
  const first = await chain.create({ ...request, input: 'oaks' }, { kept: warmUp.kept, handOff: 'complete' });
  const answers = [output('call_1', 'quercus')];
  const second = await chain.create(
    { ...request, input: answers },
    { kept: first.kept, handOff: 'complete' },
  );
  assert.equal((await second.settled).outcome.status, 'completed');

  assert.ok(native.store.billed.uncached_input_tokens > 0);
  assert.deepEqual({ ...chain.store.billed, count: 0 }, { ...native.store.billed, count: 0 });
  assert.equal(eventsOf(response).at(-1)?.type, 'response.completed');
});
