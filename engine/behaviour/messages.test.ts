/** User messages that ride along with a rollout. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import {
  call,
  callIdsOf,
  eventsOfType,
  Lab,
  message,
  output,
  refusal,
  say,
  turn,
  typesOf,
} from '../testing/lab.js';

const oneCall = [turn(call('ls')), turn(say('done'))];
const twoCalls = [turn(call('a'), call('b')), turn(say('done'))];
const slow = { decodeTokensPerSecond: 1000, tickMs: 0 };

test('a message alone does not answer a call; it is read after the output (B130)', async () => {
  const lab = new Lab(oneCall);
  const response = await lab.create();
  const accepted = await lab.append(response, message('also add tests'));
  assert.deepEqual([accepted.call_ids, accepted.messages], [[], 1]);
  assert.deepEqual(
    accepted.required_input.map((stub) => stub.call_id),
    ['call_1'],
  );
  await lab.clock.advance(60_000);
  assert.deepEqual([response.suspended, lab.model.stats.turns], [true, 1]);
  await lab.append(response, output('call_1', 'bin'));
  assert.equal(lab.model.stats.turns, 2);
  assert.deepEqual(lab.prompt, ['user: hi', 'assistant to=ls: {}', 'tool: bin', 'user: also add tests']);
});

for (const [place, answers] of [
  ['before', [message('hey'), output('call_1', '1'), output('call_2', '2')]],
  ['between', [output('call_1', '1'), message('hey'), output('call_2', '2')]],
  ['after', [output('call_2', '2'), output('call_1', '1'), message('hey')]],
] as const)
  test(`a message ${place} the outputs of its append is read after them`, async () => {
    const lab = new Lab(twoCalls);
    const response = await lab.create();
    await lab.append(response, ...answers);
    assert.equal(lab.model.stats.turns, 2);
    assert.deepEqual(lab.prompt.slice(-3), ['tool: 1', 'tool: 2', 'user: hey']);
    assert.equal((await response.settled).outcome.status, 'completed');
  });

test('a message right behind the append that ends the wait is read by that turn or by one more (B19)', async () => {
  const lab = new Lab([...oneCall, turn(say('and that'))]);
  const response = await lab.create();
  const [answer, ride] = await Promise.all([
    response.append([output('call_1', 'bin')]),
    response.append([message('hey')]),
  ]);
  assert.deepEqual([answer.call_ids, answer.messages, ride.call_ids, ride.messages], [['call_1'], 0, [], 1]);
  await lab.settle();
  assert.equal((await response.settled).outcome.status, 'completed');
  assert.equal(lab.prompt.filter((block) => block === 'user: hey').length, 1);
});

test('a resend of an append with a message beside its output brings the message once (B5)', async () => {
  const lab = new Lab([turn(call('a'), call('b')), turn(say('done'))]);
  const response = await lab.create();
  const both = [output('call_1', '1'), message('hey')];
  const first = await lab.append(response, ...both);
  assert.deepEqual(await lab.append(response, ...both), first);
  await lab.append(response, output('call_2', '2'));
  assert.deepEqual(lab.prompt.slice(-3), ['tool: 1', 'tool: 2', 'user: hey']);
  await response.settled;
  assert.deepEqual(await lab.append(response, ...both), first, 'after the end');
});

test('messages keep their order, over all the appends of a suspension', async () => {
  const lab = new Lab(twoCalls);
  const response = await lab.create();
  const [a, b] = callIdsOf(response);
  await lab.append(response, message('first'), message('second'));
  await lab.append(response, output(b, '2'), message('third'));
  await lab.append(response, message('fourth'), output(a, '1'));
  assert.deepEqual(lab.prompt.slice(-6), [
    'tool: 1',
    'tool: 2',
    'user: first',
    'user: second',
    'user: third',
    'user: fourth',
  ]);
});

test('an append may be one string, which is a user message, and a message may be a developer’s', async () => {
  const lab = new Lab(oneCall);
  const response = await lab.create();
  await response.append('be quick');
  await response.append([{ role: 'developer', content: [{ type: 'input_text', text: 'be terse' }] }]);
  await lab.append(response, output('call_1', 'bin'));
  assert.deepEqual(lab.prompt.slice(-2), ['user: be quick', 'developer: be terse']);
});

test('a message while the turn that ends the rollout is sampled brings one more turn', async () => {
  const lab = new Lab([turn(say('it is done')), turn(say('that too'))], slow);
  const response = await lab.create();
  const accepted = await lab.append(response, message('and the tests?'));
  assert.deepEqual([accepted.turn, accepted.messages, accepted.required_input], [1, 1, []]);
  await lab.clock.runToIdle();
  assert.deepEqual(lab.prompt, ['user: hi', 'assistant: it is done', 'user: and the tests?']);
  const { outcome, turns } = await response.settled;
  assert.deepEqual([outcome.status, turns], ['completed', 2]);
  const [done, ...others] = eventsOfType(response, 'response.done');
  assert.deepEqual([done?.required_input, others], [[], []]);
  assert.equal(typesOf(response).filter((type) => type === 'response.completed').length, 1);
});

test('a message with the early answer of a call that is still being written waits for the turn', async () => {
  const lab = new Lab([turn(call('ls', '{"path":"/"}')), turn(say('done'))], slow);
  const response = await lab.create();
  await lab.append(response, message('hey'), output('call_1', 'bin'));
  assert.equal(lab.model.stats.turns, 1);
  await lab.clock.runToIdle();
  assert.deepEqual(lab.prompt.slice(1), ['assistant to=ls: {"path":"/"}', 'tool: bin', 'user: hey']);
});

test('a message after the end is refused, and nothing is sampled for it', async () => {
  const lab = new Lab([turn(say('done'))]);
  const response = await lab.create();
  await response.settled;
  const refused = await refusal(response.append([message('wait')]));
  assert.deepEqual([refused.code, refused.status], ['response_already_completed', 409]);
  assert.equal(lab.model.stats.turns, 1);
});

test('no more messages wait for a turn than the bound, and after the turn there is room again', async () => {
  const lab = new Lab([turn(call('ls')), turn(call('ls')), turn(say('done'))], {
    engine: { limits: { pendingMessagesMax: 2 } },
  });
  const response = await lab.create();
  await lab.append(response, message('a'), message('b'));
  const refused = await refusal(response.append([message('c')]));
  assert.deepEqual([refused.code, refused.param], ['limit_exceeded', 'input']);
  await lab.append(response, output('call_1', '1'));
  await lab.append(response, message('c'), output('call_2', '2'));
  assert.equal((await response.settled).outcome.status, 'completed');
  assert.deepEqual(lab.prompt.slice(-2), ['tool: 2', 'user: c']);
});
