/** A turn that is ended early, for a message to come in. */
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
} from '../testing/lab.js';
import { checkGrammar } from '../testing/grammar.js';

/** One token a millisecond; ten tokens to a message. */
const slow = { decodeTokensPerSecond: 1000, tickMs: 0, firstTokenMs: 5 };
const first = 'a'.repeat(40);
const second = 'b'.repeat(40);
const two = [turn(say(first), say(second)), turn(say('gone on'))];
const complete = { handOff: 'complete' } as const;

function said(response: LiveResponse): string[] {
  return eventsOfType(response, 'response.output_text.done').map(({ text }) => text);
}

function handOffs(response: LiveResponse): unknown[] {
  return eventsOfType(response, 'response.done').map(
    ({ turn: number, interrupted, required_input: owed }) => [number, interrupted ?? false, owed.length],
  );
}

test('an interrupt inside an item ends the turn at the end of that item (P71)', async () => {
  const lab = new Lab(two, slow);
  const response = await lab.create('hi', complete);
  await lab.clock.advance(8);
  response.interrupt();
  response.interrupt();
  await lab.clock.advance(1000);
  assert.deepEqual(said(response), [first]);
  const { outcome } = await response.settled;
  assert.deepEqual(outcome, { status: 'incomplete', reason: 'steered' });
  assert.deepEqual(response.snapshot().incomplete_details, { reason: 'steered' });
  checkGrammar(eventsOf(response), { native: true });
  assert.deepEqual(postRuns(response), [1, 1, 1]);
  assert.deepEqual([lab.model.stats.released, lab.model.stats.aborted], [1, 0]);
  const next = await lab.create('go', { ...complete, kept: response.kept });
  assert.deepEqual(lab.prompt, ['user: hi', `assistant: ${first}`, 'user: go']);
  next.cancel();
});

test('an interrupt before the first item lets none begin', async () => {
  const lab = new Lab(two, slow);
  const response = await lab.create('hi', complete);
  response.interrupt();
  await lab.clock.advance(1000);
  assert.deepEqual((await response.settled).outcome, { status: 'incomplete', reason: 'steered' });
  assert.deepEqual(response.snapshot().output, []);
});

test('an interrupt does not wait for the model to begin another item', async () => {
  const lab = new Lab([turn(say(first), say(second))], { ...slow, decodeTokensPerSecond: 1 });
  const response = await lab.create('hi', complete);
  await lab.clock.advance(9000);
  response.interrupt();
  assert.equal(response.settlement, null);
  await lab.clock.advance(6);
  assert.deepEqual(said(response), [first]);
  assert.deepEqual((await response.settled).outcome, { status: 'incomplete', reason: 'steered' });
});

test('a turn that has made a call ends in its own time and owes it', async () => {
  const lab = new Lab([turn(call('ls'), say(second)), turn(say('done'))], slow);
  const response = await lab.create('hi', complete);
  await lab.clock.advance(6);
  assert.equal(callIdsOf(response).length, 1);
  response.interrupt();
  await lab.clock.advance(1000);
  assert.deepEqual((await response.settled).outcome, { status: 'completed' });
  assert.deepEqual([said(response), response.kept.owed], [[second], callIdsOf(response)]);
});

test('where its calls were paid early, the next turn ends before its first item', async () => {
  const lab = new Lab([turn(call('ls'), say(second)), turn(say('done'))], slow);
  const response = await lab.create('hi', complete);
  await lab.clock.advance(6);
  response.interrupt();
  await lab.append(response, output(callIdsOf(response)[0], 'bin'));
  await lab.clock.advance(1000);
  assert.deepEqual((await response.settled).outcome, { status: 'incomplete', reason: 'steered' });
  assert.deepEqual([said(response), response.kept.owed, lab.model.stats.turns], [[second], [], 1]);
});

test('an interrupt at the very end changes nothing', async () => {
  const lab = new Lab([turn(say('hello'))]);
  const response = await lab.create('hi', complete);
  response.interrupt();
  await lab.clock.advance(1000);
  assert.deepEqual((await response.settled).outcome, { status: 'completed' });
});

test('native: an append with interrupt ends the turn and is read by the next', async () => {
  const lab = new Lab(two, slow);
  const response = await lab.create();
  await lab.clock.advance(8);
  await response.append([message('stop')], { interrupt: true });
  await lab.clock.advance(1000);
  assert.deepEqual((await response.settled).outcome, { status: 'completed' });
  assert.deepEqual(said(response), [first, 'gone on']);
  assert.deepEqual(handOffs(response), [[1, true, 0]]);
  assert.deepEqual(lab.prompt, ['user: hi', `assistant: ${first}`, 'user: stop']);
  checkGrammar(eventsOf(response), { native: true });
});

test('native: interrupted without a message it waits for one', async () => {
  const lab = new Lab(two, slow);
  const response = await lab.create();
  await lab.clock.advance(8);
  response.interrupt();
  await lab.clock.advance(1000);
  assert.deepEqual([response.suspended, handOffs(response)], [true, [[1, true, 0]]]);
  assert.deepEqual(response.requiredInput, []);
  await lab.append(response, message('go'));
  await lab.clock.advance(1000);
  assert.deepEqual(said(response), [first, 'gone on']);
});

test('native: an interrupt while the client is waited for is for no later turn', async () => {
  const lab = new Lab([turn(call('ls')), turn(say(first), say(second))], slow);
  const response = await lab.create();
  await lab.clock.advance(100);
  const [ls] = callIdsOf(response);
  response.interrupt();
  await response.append([message('and hurry')], { interrupt: true });
  await response.append([output(ls, 'bin')], { interrupt: true });
  await lab.clock.advance(1000);
  assert.deepEqual((await response.settled).outcome, { status: 'completed' });
  assert.deepEqual(said(response), [first, second]);
});

test('native: an interrupt after a call is spent with the hand-off', async () => {
  const lab = new Lab([turn(call('ls'), say(second)), turn(say(first), say(second))], slow);
  const response = await lab.create();
  await lab.clock.advance(6);
  await response.append([message('stop')], { interrupt: true });
  await lab.clock.advance(1000);
  assert.deepEqual(handOffs(response), [[1, false, 1]]);
  await lab.append(response, output(callIdsOf(response)[0], 'bin'));
  await lab.clock.advance(1000);
  assert.deepEqual(said(response), [second, first, second]);
  assert.deepEqual(lab.prompt.slice(-2), ['tool: bin', 'user: stop']);
});

test('an append that has to come early is refused once the turn has handed off, but for a resend', async () => {
  const lab = new Lab([turn(call('a'), call('b'), say(second)), turn(say('done'))], slow);
  const response = await lab.create();
  await lab.clock.advance(8);
  const [a, b] = callIdsOf(response);
  const accepted = await response.append([output(a, '1')], { early: true });
  await lab.clock.advance(100);
  assert.equal(response.suspended, true);
  const late = await refusal(response.append([output(b, '2')], { early: true }));
  assert.equal(late.code, 'response_already_completed');
  const again = await response.append([output(a, '1')], { early: true });
  assert.equal(again.sequence_number, accepted.sequence_number);
  assert.equal(response.suspended, true);
});

test('what was answered early stays so for whoever continues from the hand-off (P75)', async () => {
  const lab = new Lab([turn(call('a'), call('b'), say(second)), turn(say('done'))], slow);
  const response = await lab.create();
  await lab.clock.advance(8);
  const [a, b] = callIdsOf(response);
  await response.append([output(a, '1')]);
  await lab.clock.advance(100);
  const kept = response.handOffs.at(-1)?.kept ?? null;
  assert.deepEqual([kept?.owed, response.kept.owed], [[b], [b]]);
  await lab.create({ input: [output(b, '2')] }, { kept });
  assert.deepEqual(lab.prompt.slice(-2), ['tool: 1', 'tool: 2']);
});

test('an early answer in the very step in which the turn hands off is taken before it or refused', async () => {
  // Nothing takes time here, so the answer meets the end of the turn at each step of the microtasks before it.
  const fates = new Set<string>();
  for (let ticks = 0; ticks < 150; ticks++) {
    const lab = new Lab([turn(call('ls')), turn(say('done'))]);
    const response = await lab.engine.create({ model: 'scripted', input: 'hi' });
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
    const [ls] = callIdsOf(response);
    if (ls === undefined) continue;
    const fate = await response.append([output(ls, 'bin')], { early: true }).then(
      () => 'taken',
      () => 'refused',
    );
    await lab.settle();
    fates.add(fate);
    const owed = eventsOfType(response, 'response.done').map(({ required_input }) => required_input.length);
    assert.deepEqual(
      [owed, response.suspended],
      fate === 'taken' ? [[0], false] : [[1], true],
      `${ticks} ticks`,
    );
  }
  assert.deepEqual([...fates], ['taken', 'refused']);
});

test('an interrupt in whatever step costs no message and leaves nobody waiting', async () => {
  const fates = new Set<string>();
  for (let ticks = 0; ticks < 150; ticks++) {
    const lab = new Lab(({ turn: number }) => (number === 1 ? turn(say('a'), say('b')) : turn(say('c'))));
    const response = await lab.engine.create({ model: 'scripted', input: 'hi' });
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
    const fate = await response.append([message('stop')], { interrupt: true }).then(
      () => 'taken',
      () => 'refused',
    );
    await lab.settle();
    fates.add(fate);
    assert.deepEqual(response.settlement?.outcome, { status: 'completed' }, `${ticks} ticks`);
    assert.equal(lab.prompt.includes('user: stop'), fate === 'taken');
    checkGrammar(eventsOf(response), { native: true });
  }
  assert.deepEqual([...fates], ['taken', 'refused']);
});
