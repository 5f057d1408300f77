/** Cancel at every point of a rollout: one terminal event, post-inference once, nothing left behind. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { deferred, type Deferred } from '../clock.js';
import type { LiveResponse } from '../live-response.js';
import type { Tokenizer } from '../ports.js';
import type { Stage } from '../stages.js';
import {
  call,
  callIdsOf,
  customCall,
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
  unitTokenizer,
} from '../testing/lab.js';

const slow = { firstTokenMs: 100, decodeTokensPerSecond: 1000, tickMs: 0 };
const terminals = ['response.completed', 'response.failed', 'response.incomplete'];

/** What holds after every cancel. */
async function assertCancelled(lab: Lab, response: LiveResponse): Promise<void> {
  await lab.settle();
  const { outcome } = await response.settled;
  assert.deepEqual(outcome, { status: 'cancelled', reason: 'cancelled' });
  const events = eventsOf(response);
  assert.equal(events.filter(({ type }) => terminals.includes(type)).length, 1);
  const last = events.at(-1);
  assert.ok(last?.type === 'response.incomplete');
  assert.deepEqual(
    [last.response.status, last.response.incomplete_details],
    ['cancelled', { reason: 'cancelled' }],
  );
  assert.deepEqual(last.response, response.snapshot());
  assert.deepEqual(postRuns(response), [1, 1, 1]);
  assert.equal(lab.store.bills.length, 1);
  assert.equal(lab.store.bills[0]?.status, 'cancelled');
  const { opened, released, turns, aborted } = lab.model.stats;
  assert.deepEqual([opened, released], [1, 1]);
  assert.ok(aborted <= 1 && aborted <= turns, 'the model was stopped twice');
  assert.deepEqual([lab.engine.liveCount, lab.engine.suspendedCount, lab.clock.pending], [0, 0, 0]);
  assert.equal(
    (await refusal(response.append([message('still there?')]))).code,
    'response_already_completed',
  );
}

test('before the first token, while the model reads, a cancel ends the rollout with no output (B110)', async () => {
  const lab = new Lab([turn(say('hello'))], slow);
  const response = await lab.create();
  await lab.clock.advance(50);
  response.cancel();
  await assertCancelled(lab, response);
  assert.equal(lab.model.stats.aborted, 1);
  assert.deepEqual(response.snapshot().output, []);
});

test('before the rollout has run at all, a cancel ends it', async () => {
  const lab = new Lab([turn(say('hello'))]);
  const response = await lab.engine.create({ model: 'scripted', input: 'hi' });
  response.cancel();
  await assertCancelled(lab, response);
  assert.deepEqual(typesOf(response), ['response.created', 'response.in_progress', 'response.incomplete']);
});

test('mid text, what was said is closed as incomplete, and kept (B110)', async () => {
  const lab = new Lab([turn(say('one two three four'))], slow);
  const response = await lab.create();
  await lab.clock.advance(101);
  response.cancel();
  await assertCancelled(lab, response);
  assert.equal(lab.model.stats.aborted, 1);
  const [item] = response.snapshot().output;
  const deltas = eventsOfType(response, 'response.output_text.delta').map(({ delta }) => delta);
  assert.deepEqual(item?.['content'], [{ type: 'output_text', text: deltas.join(''), annotations: [] }]);
  assert.equal(item?.['status'], 'incomplete');
  assert.ok(deltas.length > 0 && deltas.join('').length < 18);
  assert.equal(eventsOfType(response, 'response.output_item.done').length, 1);
});

test('mid call, the call is closed as incomplete and answered as aborted for whoever goes on (B105)', async () => {
  const lab = new Lab([turn(call('ls', '{"path":"/usr/share"}')), turn(say('done'))], slow);
  const response = await lab.create();
  await lab.clock.advance(101);
  response.cancel();
  await assertCancelled(lab, response);
  const [item] = response.snapshot().output;
  assert.deepEqual([item?.type, item?.['status']], ['function_call', 'incomplete']);
  assert.deepEqual(response.kept.owed, []);
  assert.deepEqual(response.kept.transcript.unanswered(), []);
});

test('after a call that is complete, while the turn goes on, nobody is left to take it for a finished one (B107)', async () => {
  const lab = new Lab([turn(call('ls'), call('rm', '{"path":"/usr/share"}'))], slow);
  const response = await lab.create();
  await lab.clock.advance(102);
  assert.equal(eventsOfType(response, 'response.output_item.done').length, 1);
  response.cancel();
  await assertCancelled(lab, response);
  assert.deepEqual(
    response.snapshot().output.map((item) => item['status']),
    ['incomplete', 'incomplete'],
  );
});

test('a call that was answered before the cancel stays a completed one', async () => {
  const lab = new Lab([turn(call('ls'), call('rm', '{"path":"/usr/share"}'))], slow);
  const response = await lab.create();
  await lab.clock.advance(102);
  await lab.append(response, output('call_1', 'bin'));
  response.cancel();
  await assertCancelled(lab, response);
  assert.deepEqual(
    response.snapshot().output.map((item) => item['status']),
    ['completed', 'incomplete'],
  );
  const { transcript } = response.kept;
  assert.deepEqual(transcript.output('call_1'), output('call_1', 'bin'));
  assert.deepEqual(transcript.output('call_2'), output('call_2', 'aborted'));
});

for (const answered of [0, 1])
  test(`suspended, with ${answered} of a function and a custom call answered, both are settled (B104, B105, B107)`, async () => {
    const lab = new Lab([turn(call('ls'), customCall('patch')), turn(say('went on'))]);
    const response = await lab.create();
    const [ls, patch] = callIdsOf(response);
    if (answered === 1) await lab.append(response, output(ls, 'bin'));
    response.cancel();
    await assertCancelled(lab, response);
    assert.equal(lab.model.stats.aborted, 0, 'no turn was being sampled');
    assert.deepEqual(
      response.snapshot().output.map((item) => item['status']),
      [answered === 1 ? 'completed' : 'incomplete', 'incomplete'],
    );
    assert.deepEqual(response.requiredInput, []);
    assert.equal((await refusal(response.append([output(patch, 'x')]))).code, 'response_already_completed');

    const next = await lab.create('go on', { kept: response.kept });
    assert.equal((await next.settled).outcome.status, 'completed');
    assert.deepEqual(lab.prompt, [
      'user: hi',
      'assistant to=ls: {}',
      'assistant to=patch: ',
      answered === 1 ? 'tool: bin' : 'tool: aborted',
      'tool: aborted',
      'user: go on',
    ]);
  });

test('what was answered and what was aborted stand in call order, and messages after them', async () => {
  const lab = new Lab([turn(call('a'), call('b'), call('c')), turn(say('went on'))]);
  const response = await lab.create();
  await lab.append(response, message('hurry'), output('call_2', 'answer b'));
  response.cancel();
  await assertCancelled(lab, response);
  await lab.create('go on', { kept: response.kept });
  assert.deepEqual(lab.prompt.slice(4), [
    'tool: aborted',
    'tool: answer b',
    'tool: aborted',
    'user: hurry',
    'user: go on',
  ]);
});

/** A tokenizer that waits wherever a text says so. */
function tokenizerThatWaits(at: string, wait: Deferred<void>): Tokenizer {
  return {
    encode: (text, signal) =>
      text.includes(at)
        ? wait.promise.then(() => unitTokenizer.encode(text, signal))
        : unitTokenizer.encode(text, signal),
  };
}

test('while an append is being rendered, the append is refused and nothing of it stays', async () => {
  const wait = deferred<void>();
  const lab = new Lab([turn(call('ls')), turn(say('done'))], {
    engine: { tokenizer: tokenizerThatWaits('slow', wait) },
  });
  const response = await lab.create();
  const appended = refusal(response.append([output('call_1', 'slow')]));
  await lab.settle();
  assert.equal(response.suspended, true);
  response.cancel();
  await assertCancelled(lab, response);
  const refused = await appended;
  assert.deepEqual([refused.code, refused.status], ['response_already_completed', 409]);
  wait.resolve();
  await lab.settle();
  assert.deepEqual(response.kept.transcript.output('call_1'), output('call_1', 'aborted'));
  assert.equal(eventsOfType(response, 'response.append.accepted').length, 0);
});

test('while post-inference runs, a cancel comes too late to change the outcome', async () => {
  const wait = deferred<void>();
  let signal: AbortSignal | null = null;
  const audit: Stage = {
    name: 'audit',
    phases: ['post'],
    reads: 'new',
    refuses: false,
    critical: true,
    run(passage) {
      signal = passage.signal;
      return wait.promise;
    },
  };
  const lab = new Lab([turn(say('done'))], { engine: { stages: (standard) => [...standard, audit] } });
  const response = await lab.create();
  response.cancel();
  await lab.settle();
  assert.deepEqual([response.settlement, signal?.['aborted']], [null, false]);
  wait.resolve();
  await lab.settle();
  assert.deepEqual((await response.settled).outcome, { status: 'completed' });
  assert.deepEqual(postRuns(response), [1, 1, 1]);
});

test('a second cancel, and one after the end, do nothing', async () => {
  const lab = new Lab([turn(say('one two three four'))], slow);
  const response = await lab.create();
  await lab.clock.advance(101);
  response.cancel();
  response.cancel('disconnected');
  await assertCancelled(lab, response);
  const { lastNumber } = response;
  response.cancel();
  await assertCancelled(lab, response);
  assert.equal(response.lastNumber, lastNumber);
});
