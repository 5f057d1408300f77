/** Turn → suspension → resume: who answers what, when, and in which order. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import {
  call,
  callIdsOf,
  eventsOf,
  eventsOfType,
  Lab,
  message,
  output,
  refusal,
  say,
  turn,
  typesOf,
} from '../testing/lab.js';

const threeCalls = [turn(call('a'), call('b'), call('c')), turn(say('done'))];

test('a turn that owes a call suspends the same Response, and its answer resumes it (B10)', async () => {
  const lab = new Lab([turn(call('ls', '{"path":"/"}')), turn(say('done'))]);
  const response = await lab.create('list it');
  assert.equal(response.suspended, true);
  assert.equal(lab.engine.suspendedCount, 1);
  const [done] = eventsOfType(response, 'response.done');
  assert.deepEqual(done?.required_input, [{ type: 'function_call_output', call_id: 'call_1', name: 'ls' }]);
  assert.equal(done?.turn, 1);

  const accepted = await lab.append(response, output('call_1', 'bin etc'));
  assert.deepEqual(accepted.call_ids, ['call_1']);
  assert.deepEqual(accepted.required_input, []);
  assert.deepEqual(lab.prompt, ['user: list it', 'assistant to=ls: {"path":"/"}', 'tool: bin etc']);
  const { outcome, turns } = await response.settled;
  assert.deepEqual([outcome.status, turns], ['completed', 2]);
  const closed = eventsOfType(response, 'response.output_item.done').filter(
    ({ item }) => item.type === 'function_call',
  );
  assert.equal(closed.length, 1);
  assert.deepEqual(
    typesOf(response).filter((type) => !/item|part|delta|text|arguments/.test(type)),
    [
      'response.created',
      'response.in_progress',
      'response.done',
      'response.append.accepted',
      'response.completed',
    ],
  );
});

for (const order of ['abc', 'acb', 'bac', 'bca', 'cab', 'cba'])
  for (const together of [false, true])
    test(`three parallel calls answered as ${order}, ${together ? 'together' : 'one by one'}, enter in call order (B11)`, async () => {
      const lab = new Lab(threeCalls);
      const response = await lab.create();
      const calls = callIdsOf(response);
      const answers = order.split('').map((name) => output(calls['abc'.indexOf(name)], `answer ${name}`));
      if (together) await lab.append(response, ...answers);
      else
        for (const [index, answer] of answers.entries()) {
          assert.equal(lab.model.stats.turns, 1, 'the model sampled before all was answered');
          const { required_input } = await lab.append(response, answer);
          assert.equal(required_input.length, 2 - index);
        }
      assert.equal(lab.model.stats.turns, 2);
      assert.deepEqual(lab.prompt.slice(-3), ['tool: answer a', 'tool: answer b', 'tool: answer c']);
      assert.equal((await response.settled).outcome.status, 'completed');
    });

test('one answer of two runs nothing again, the second one samples once (B116)', async () => {
  const lab = new Lab([turn(call('a'), call('b')), turn(say('done'))]);
  const response = await lab.create();
  const [a, b] = callIdsOf(response);
  const preRuns = () => response.stageRuns['pre.render']?.runs;
  await lab.append(response, output(a, '1'));
  await lab.clock.advance(500);
  assert.deepEqual([lab.model.stats.opened, lab.model.stats.turns, preRuns()], [1, 1, 1]);
  await lab.append(response, output(b, '2'));
  assert.deepEqual([lab.model.stats.opened, lab.model.stats.turns, preRuns()], [1, 2, 1]);
});

test('what is still owed, and only that, is listed to whoever asks again (B16)', async () => {
  const lab = new Lab([turn(call('a'), call('b')), turn(say('done'))]);
  const response = await lab.create();
  const [a, b] = callIdsOf(response);
  await lab.append(response, output(a, '1'));
  const found = lab.engine.get(response.id);
  assert.deepEqual(
    found?.requiredInput.map((stub) => stub.call_id),
    [b],
  );
  await lab.append(response, output(b, '2'));
  assert.deepEqual(response.requiredInput, []);
  assert.equal((await response.settled).outcome.status, 'completed');
});

test('an answer given while the model still writes the call is held until the turn is over (B17)', async () => {
  const lab = new Lab([turn(call('a', '{"long":"argument"}')), turn(say('done'))], {
    decodeTokensPerSecond: 1000,
    tickMs: 0,
  });
  const response = await lab.create();
  assert.deepEqual(typesOf(response).slice(2), [
    'response.output_item.added',
    'response.function_call_arguments.delta',
  ]);
  const [a] = callIdsOf(response);
  const accepted = await lab.append(response, output(a, 'early'));
  assert.deepEqual([accepted.call_ids, accepted.required_input, accepted.turn], [[a], [], 1]);
  assert.equal(response.suspended, false);
  await lab.clock.runToIdle();
  assert.deepEqual(lab.turns[1]?.prompt.at(-1), 'tool: early');
  assert.deepEqual(eventsOfType(response, 'response.done')[0]?.required_input, []);
  assert.equal((await response.settled).outcome.status, 'completed');
});

test('the first of two parallel calls may be answered while the model writes the second (B17)', async () => {
  const lab = new Lab([turn(call('a'), call('b', '{"x":"0123456789"}')), turn(say('done'))], {
    decodeTokensPerSecond: 1000,
    tickMs: 0,
  });
  const response = await lab.create();
  await lab.clock.advance(2);
  const [a, b] = callIdsOf(response);
  assert.notEqual(b, undefined);
  await lab.append(response, output(a, '1'));
  assert.equal(response.suspended, false, 'the model is still at work');
  await lab.clock.advance(100);
  assert.equal(response.suspended, true);
  assert.deepEqual(
    eventsOfType(response, 'response.done')[0]?.required_input.map((stub) => stub.call_id),
    [b],
  );
  await lab.append(response, output(b, '2'));
  await lab.clock.runToIdle();
  assert.deepEqual(lab.prompt.slice(-2), ['tool: 1', 'tool: 2']);
});

test('a resend of the same bytes is acknowledged again and changes nothing, a different answer is refused (B5)', async () => {
  const lab = new Lab([turn(call('a'), call('b')), turn(call('c')), turn(say('done'))]);
  const response = await lab.create();
  const [a, b] = callIdsOf(response);
  const first = await lab.append(response, output(a, 'first'));
  const before = eventsOf(response).length;
  assert.deepEqual(await lab.append(response, output(a, 'first')), first, 'while suspended');
  const refused = await refusal(response.append([output(a, 'second')]));
  assert.deepEqual(
    [refused.code, refused.status, refused.param],
    ['call_already_answered', 409, 'input[0].call_id'],
  );

  const second = await lab.append(response, output(b, 'x'));
  assert.deepEqual(await lab.append(response, output(a, 'first')), first, 'after the turn');
  assert.deepEqual(await lab.append(response, output(a, 'first'), output(b, 'x')), second, 'both at once');
  assert.equal((await refusal(response.append([output(a, 'second')]))).code, 'call_already_answered');
  assert.equal(lab.model.stats.turns, 2);

  const [, , c] = callIdsOf(response);
  await lab.append(response, output(c, 'y'));
  await response.settled;
  assert.deepEqual(await lab.append(response, output(a, 'first')), first, 'after the end');
  assert.equal((await refusal(response.append([output(a, 'second')]))).code, 'response_already_completed');
  assert.equal(lab.model.stats.turns, 3);
  assert.equal(lab.prompt.filter((block) => block === 'tool: first').length, 1);
  assert.equal(lab.prompt.includes('tool: second'), false);
  assert.ok(eventsOf(response).length > before);
  assert.equal(eventsOfType(response, 'response.append.accepted').length, 3);
});

test('a resend together with a new answer applies the new one alone', async () => {
  const lab = new Lab([turn(call('a'), call('b')), turn(say('done'))]);
  const response = await lab.create();
  const [a, b] = callIdsOf(response);
  await lab.append(response, output(a, '1'));
  await lab.append(response, output(a, '1'), output(b, '2'));
  assert.deepEqual(lab.prompt.slice(-2), ['tool: 1', 'tool: 2']);
});

test('two different answers to one call in one append are refused whole, two equal ones are one (B5)', async () => {
  const lab = new Lab([turn(call('a'), call('b')), turn(say('done'))]);
  const response = await lab.create();
  const [a, b] = callIdsOf(response);
  const refused = await refusal(response.append([output(b, 'x'), output(a, '1'), output(a, '2')]));
  assert.deepEqual([refused.code, refused.param], ['call_already_answered', 'input[2].call_id']);
  assert.equal(response.requiredInput.length, 2, 'nothing of it was applied');
  await lab.append(response, output(a, '1'), output(a, '1'), output(b, 'x'));
  assert.deepEqual(lab.prompt.slice(-2), ['tool: 1', 'tool: x']);
});

test('appends sent without waiting for each other are taken in the order they came (B19)', async () => {
  const lab = new Lab(threeCalls);
  const response = await lab.create();
  const [a, b, c] = callIdsOf(response);
  const appends = [
    response.append([output(c, '3')]),
    response.append([output(a, '1'), output(b, '2')]),
    response.append([output(a, '1')]),
    response.append([output('call_nope', '?')]),
  ];
  const results = await Promise.allSettled(appends);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected'],
  );
  await lab.settle();
  assert.equal(lab.model.stats.turns, 2);
  assert.deepEqual(lab.prompt.slice(-3), ['tool: 1', 'tool: 2', 'tool: 3']);
});

test('an append goes to the Response it names, whichever was made last (B21)', async () => {
  const lab = new Lab(({ context }) =>
    context.transcript.turns === 0 && context.transcript.length === 1 && context.tokens < 25
      ? turn(call('look'))
      : turn(say('done')),
  );
  const cats = await lab.create('talk about cats');
  const tax = await lab.create('talk about tax, at length');
  assert.equal((await tax.settled).outcome.status, 'completed');
  const accepted = await lab.append(cats, output(callIdsOf(cats)[0], 'meow'));
  assert.equal(accepted.response_id, cats.id);
  assert.deepEqual(lab.prompt, ['user: talk about cats', 'assistant to=look: {}', 'tool: meow']);
});

test('no more than the bound of appends waits for an earlier one to be rendered', async () => {
  const lab = new Lab(threeCalls, { engine: { limits: { pendingAppendsMax: 2 } } });
  const response = await lab.create();
  const [a, b, c] = callIdsOf(response);
  const first = response.append([output(a, '1')]);
  const second = response.append([output(b, '2')]);
  const refused = await refusal(response.append([output(c, '3')]));
  assert.deepEqual([refused.code, refused.retryAfterSeconds], ['rate_limit_exceeded', 1]);
  await Promise.all([first, second]);
  await lab.append(response, output(c, '3'), message('thanks'));
  assert.equal((await response.settled).outcome.status, 'completed');
});
