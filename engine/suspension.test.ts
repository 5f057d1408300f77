import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import assert from 'node:assert/strict';

import * as fc from 'fast-check';

import { VirtualClock } from './clock.js';
import { RolloutEnd } from './outcome.js';
import { ProtocolError } from './protocol/errors.js';
import type { Item } from './protocol/items.js';
import { assistant, call, entry, output, transcriptOf, user } from './samplers/testing/turns.js';
import { answeredCallId, outputTypeFor } from './calls.js';
import { Suspension } from './suspension.js';
import { Transcript } from './transcript.js';

const never = new AbortController().signal;
const hourMs = 3_600_000;

/** A ledger whose turn is over, owing function calls of these ids. */
function owing(...callIds: readonly string[]): Suspension {
  const suspension = new Suspension();
  for (const callId of callIds) suspension.owe({ call_id: callId, type: 'function_call', name: 'ls' });
  suspension.sampled();
  return suspension;
}

/** Plans and pays in one step, as an append does. */
function pay(suspension: Suspension, items: readonly Item[], transcript = Transcript.empty) {
  const plan = suspension.plan(items, transcript);
  suspension.pay(plan.items.map((item) => entry(item, 1)));
  return plan;
}

const received = (suspension: Suspension): Item[] => suspension.received.map(({ item }) => item);

/** A wait and whether it is over. */
function waiting(suspension: Suspension, clock = new VirtualClock(), signal = never, msMax = hourMs) {
  const wait = { over: false, promise: suspension.resumed(signal, clock, msMax), clock };
  const end = (): void => {
    wait.over = true;
  };
  wait.promise.then(end, end);
  return wait;
}

test('an answer that comes while the model still writes the call is held until the turn is over (S1, B17)', async () => {
  const suspension = new Suspension();
  suspension.owe({ call_id: 'a', type: 'function_call' });
  pay(suspension, [output('a', 'early')]);
  suspension.owe({ call_id: 'b', type: 'function_call' });
  assert.deepEqual(
    suspension.requiredInput.map((stub) => stub.call_id),
    ['b'],
  );
  suspension.sampled();
  const wait = waiting(suspension);
  await wait.clock.advance(0);
  assert.equal(wait.over, false);
  pay(suspension, [output('b', 'late')]);
  await wait.promise;
  assert.deepEqual(received(suspension), [output('a', 'early'), output('b', 'late')]);
});

test('a turn whose calls were all answered while it was sampled does not wait, and sets no timer (S1)', async () => {
  const suspension = new Suspension();
  suspension.owe({ call_id: 'a', type: 'function_call' });
  pay(suspension, [output('a', 'early')]);
  const clock = new VirtualClock();
  suspension.sampled();
  const resumed = suspension.resumed(never, clock, hourMs);
  assert.deepEqual([clock.pending, suspension.waiting], [0, false]);
  await resumed;
});

test('outputs leave in call order and before messages, whatever order they came in (S2, B11, B130)', () => {
  const suspension = owing('a', 'b', 'c');
  pay(suspension, [user('also add tests')]);
  pay(suspension, [output('c', '3')]);
  pay(suspension, [user('please'), output('b', '2'), output('a', '1')]);
  assert.deepEqual(received(suspension), [
    output('a', '1'),
    output('b', '2'),
    output('c', '3'),
    user('also add tests'),
    user('please'),
  ]);
  assert.equal(suspension.messagesPending, 2);
  assert.equal(suspension.tokens, 5);
});

test('a message alone does not release the wait, the last answer does (B116, B130)', async () => {
  const suspension = owing('a', 'b');
  const wait = waiting(suspension);
  pay(suspension, [user('wait for me')]);
  pay(suspension, [output('a', '1')]);
  await wait.clock.advance(hourMs / 2);
  assert.deepEqual([wait.over, suspension.waiting], [false, true]);
  pay(suspension, [output('b', '2')]);
  await wait.promise;
  assert.equal(suspension.waiting, false);
});

test('after a warm-up only a message releases the wait', async () => {
  const suspension = new Suspension();
  suspension.expectMessage();
  const wait = waiting(suspension);
  await wait.clock.advance(1000);
  assert.equal(wait.over, false);
  pay(suspension, [user('go')]);
  await wait.promise;
});

const shellCall: Item = { type: 'shell_call', call_id: 'shell', opaque: true };
const earlier = transcriptOf(
  entry(call('old'), 1),
  entry(output('old', 'said before'), 1),
  entry(shellCall, 1),
);
const custom = (callId: string, text: string): Item => ({
  type: 'custom_tool_call_output',
  call_id: callId,
  output: text,
});

const refusals: readonly {
  readonly what: string;
  readonly items: readonly Item[];
  readonly code: string;
  readonly status: number;
  readonly param: string;
  readonly names: string;
}[] = [
  {
    what: 'an output for a call nobody made (B1)',
    items: [output('call_nope', 'x')],
    code: 'unknown_call_id',
    status: 400,
    param: 'input[0].call_id',
    names: 'call_nope',
  },
  {
    what: "an output that names the item's id in place of the call's (B3)",
    items: [output('b', '2'), output('fc_1', 'x')],
    code: 'unknown_call_id',
    status: 400,
    param: 'input[1].call_id',
    names: 'fc_1',
  },
  {
    what: 'an output of the wrong kind (B4)',
    items: [custom('a', 'x')],
    code: 'wrong_output_type',
    status: 400,
    param: 'input[0].type',
    names: 'function_call_output',
  },
  {
    what: 'an output of the wrong kind for an opaque call',
    items: [output('shell', 'x')],
    code: 'wrong_output_type',
    status: 400,
    param: 'input[0].type',
    names: 'shell_call_output',
  },
  {
    what: 'a second, different answer in this turn (B5)',
    items: [output('b', '2'), output('a', 'second')],
    code: 'call_already_answered',
    status: 409,
    param: 'input[1].call_id',
    names: '"a"',
  },
  {
    what: 'a different answer to a call of an earlier turn',
    items: [output('old', 'something else')],
    code: 'call_already_answered',
    status: 409,
    param: 'input[0].call_id',
    names: 'old',
  },
  {
    what: 'two different answers in one append (B5)',
    items: [output('b', '1'), user('x'), output('b', '2')],
    code: 'call_already_answered',
    status: 409,
    param: 'input[2].call_id',
    names: '"b"',
  },
  {
    what: 'a message of the assistant',
    items: [output('b', '2'), assistant('I said')],
    code: 'invalid_value',
    status: 400,
    param: 'input[1]',
    names: 'message',
  },
  {
    what: 'a call',
    items: [call('mine')],
    code: 'invalid_value',
    status: 400,
    param: 'input[0]',
    names: 'function_call',
  },
  {
    what: 'an opaque item that answers nothing',
    items: [{ type: 'compaction', opaque: true }],
    code: 'invalid_value',
    status: 400,
    param: 'input[0]',
    names: 'compaction',
  },
];

for (const { what, items, code, status, param, names } of refusals)
  test(`${what} is refused by name, and nothing of its append is applied (S2)`, async () => {
    const suspension = owing('a', 'b');
    pay(suspension, [output('a', 'first')], earlier);
    const wait = waiting(suspension);
    const before = { received: received(suspension), owed: suspension.requiredInput };
    assert.throws(
      () => pay(suspension, items, earlier),
      (fault) => {
        assert.ok(fault instanceof ProtocolError);
        assert.deepEqual([fault.code, fault.status, fault.param], [code, status, param]);
        assert.ok(fault.message.includes(names), fault.message);
        return true;
      },
    );
    assert.deepEqual({ received: received(suspension), owed: suspension.requiredInput }, before);
    await wait.clock.advance(0);
    assert.equal(wait.over, false);
    pay(suspension, [output('b', 'right')], earlier);
    await wait.promise;
    assert.deepEqual(received(suspension), [output('a', 'first'), output('b', 'right')]);
  });

test('a byte-identical resend plans nothing, in the turn and after it (S2, B5)', () => {
  const suspension = owing('a', 'b');
  pay(suspension, [output('a', 'first')], earlier);
  for (const items of [
    [output('a', 'first')],
    [output('old', 'said before')],
    [output('old', 'said before'), output('a', 'first')],
  ]) {
    const plan = suspension.plan(items, earlier);
    assert.deepEqual(plan, { items: [], call_ids: items.map((item) => answeredCallId(item)), resend: true });
  }
  assert.deepEqual(received(suspension), [output('a', 'first')]);
});

test('a resend beside a new answer applies the new one, and names both calls', () => {
  const suspension = owing('a', 'b');
  pay(suspension, [output('a', '1')]);
  const plan = pay(suspension, [output('a', '1'), output('b', '2')]);
  assert.deepEqual(plan, { items: [output('b', '2')], call_ids: ['a', 'b'], resend: false });
});

test('the same answer twice in one append is one answer, named once', () => {
  const suspension = owing('a');
  const plan = pay(suspension, [output('a', '1'), output('a', '1')]);
  assert.deepEqual(plan, { items: [output('a', '1')], call_ids: ['a'], resend: false });
});

test('answers in parts are compared part by part, and text is not an array of one text', () => {
  const parts = (text: string): Item => ({
    type: 'function_call_output',
    call_id: 'a',
    output: [{ type: 'input_text', text }],
  });
  const suspension = owing('a');
  pay(suspension, [parts('x')]);
  assert.equal(suspension.plan([parts('x')], Transcript.empty).resend, true);
  for (const other of [parts('y'), output('a', 'x')])
    assert.throws(() => suspension.plan([other], Transcript.empty), { code: 'call_already_answered' });
});

test('opaque answers are compared whole', () => {
  const answer = (text: string): Item => ({
    type: 'shell_call_output',
    call_id: 's',
    opaque: true,
    stdout: text,
  });
  const suspension = new Suspension();
  suspension.owe({ call_id: 's', type: 'shell_call' });
  suspension.sampled();
  assert.deepEqual(suspension.requiredInput, [{ type: 'shell_call_output', call_id: 's' }]);
  pay(suspension, [answer('x')]);
  assert.equal(suspension.plan([answer('x')], Transcript.empty).resend, true);
  assert.throws(() => suspension.plan([answer('y')], Transcript.empty), { code: 'call_already_answered' });
});

test('what is owed is listed in call order with the type and the name that answer it (B16)', () => {
  const suspension = new Suspension();
  suspension.owe({ call_id: 'a', type: 'function_call', name: 'ls' });
  suspension.owe({ call_id: 'b', type: 'custom_tool_call', name: 'patch' });
  suspension.owe({ call_id: 'c', type: 'shell_call' });
  pay(suspension, [output('a', '1')]);
  assert.deepEqual(suspension.requiredInput, [
    { type: 'custom_tool_call_output', call_id: 'b', name: 'patch' },
    { type: 'shell_call_output', call_id: 'c' },
  ]);
  assert.equal(outputTypeFor('custom_tool_call'), 'custom_tool_call_output');
});

test('a deadline above 2^31 ms is waited for to its end, and then ends the rollout (S8, P82)', async () => {
  const clock = new VirtualClock();
  const wait = waiting(owing('a'), clock, never, 2 ** 31 + 5);
  await clock.advance(2 ** 31 + 4);
  assert.equal(wait.over, false);
  await clock.advance(1);
  await assert.rejects(wait.promise, (fault) => {
    assert.ok(fault instanceof RolloutEnd);
    assert.deepEqual(fault.outcome, { status: 'incomplete', reason: 'suspension_expired' });
    return true;
  });
  assert.equal(clock.pending, 0);
});

test('an infinite deadline sets no timer, and the wait ends like any other (S8)', async () => {
  const clock = new VirtualClock();
  const suspension = owing('a');
  const wait = waiting(suspension, clock, never, Infinity);
  assert.equal(clock.pending, 0);
  await clock.advance(2 ** 40);
  assert.equal(wait.over, false);
  pay(suspension, [output('a', '1')]);
  await wait.promise;
});

test('an abort ends the wait with its reason and leaves no listener and no timer (S3)', async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const suspension = owing('a');
  const wait = waiting(suspension, clock, controller.signal);
  assert.equal(getEventListeners(controller.signal, 'abort').length, 1);
  const reason = new RolloutEnd({ status: 'cancelled', reason: 'cancelled' });
  controller.abort(reason);
  await assert.rejects(wait.promise, (fault) => fault === reason);
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  assert.deepEqual([clock.pending, suspension.waiting], [0, false]);
  pay(suspension, [output('a', 'too late to matter')]);
});

test('a signal that has aborted already lets nobody wait', async () => {
  const clock = new VirtualClock();
  const suspension = owing('a');
  await assert.rejects(
    suspension.resumed(AbortSignal.abort('gone'), clock, hourMs),
    (fault) => fault === 'gone',
  );
  pay(suspension, [output('a', '1')]);
  await assert.rejects(
    suspension.resumed(AbortSignal.abort('gone'), clock, hourMs),
    (fault) => fault === 'gone',
  );
  assert.equal(clock.pending, 0);
});

test('ten thousand turns leave no listener on the signal and no timer on the clock (S3, B125)', async () => {
  const clock = new VirtualClock();
  const { signal } = new AbortController();
  for (let turn = 0; turn < 10_000; turn++) {
    const suspension = owing('a');
    const resumed = suspension.resumed(signal, clock, hourMs);
    if (turn % 1000 === 0)
      assert.deepEqual([getEventListeners(signal, 'abort').length, clock.pending], [1, 1]);
    pay(suspension, [output('a', 'x')]);
    await resumed;
  }
  assert.deepEqual([getEventListeners(signal, 'abort').length, clock.pending], [0, 0]);
});

test('whatever is appended in whatever order, a ledger agrees with a plain account of it (S2)', async () => {
  const calls = ['a', 'b', 'c'];
  const item = fc.oneof(
    fc.record({ callId: fc.constantFrom(...calls, 'nope'), text: fc.constantFrom('x', 'y') }),
    fc.record({ callId: fc.constant(null), text: fc.constantFrom('hello', 'again') }),
  );
  const append = fc.array(item, { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fc.array(append, { maxLength: 12 }), async (appends) => {
      const suspension = owing(...calls);
      const wait = waiting(suspension);
      const answers = new Map<string, string>();
      const messages: string[] = [];
      for (const items of appends) {
        const next = new Map(answers);
        const wrong = items.some(({ callId, text }) => {
          if (callId === null) return false;
          if (!calls.includes(callId) || (next.get(callId) ?? text) !== text) return true;
          next.set(callId, text);
          return false;
        });
        const sent = items.map(({ callId, text }) => (callId === null ? user(text) : output(callId, text)));
        if (wrong) assert.throws(() => pay(suspension, sent), ProtocolError);
        else {
          const wasPaid = answers.size === calls.length;
          const plan = pay(suspension, sent);
          assert.equal(plan.resend, plan.items.length === 0);
          for (const [callId, text] of next) answers.set(callId, text);
          for (const { callId, text } of items) if (callId === null) messages.push(text);
          assert.ok(!wasPaid || plan.items.every((each) => each.type === 'message'));
        }
        const outputs = calls.flatMap((callId) => {
          const text = answers.get(callId);
          return text === undefined ? [] : [output(callId, text)];
        });
        assert.deepEqual(received(suspension), [...outputs, ...messages.map(user)]);
        assert.deepEqual(
          suspension.requiredInput.map((stub) => stub.call_id),
          calls.filter((callId) => !answers.has(callId)),
        );
        await wait.clock.advance(0);
        assert.equal(wait.over, answers.size === calls.length);
      }
    }),
    { seed: 11, numRuns: 60 },
  );
});

test('a call of an earlier turn that asks for nothing is not answered', () => {
  const answer: Item = { type: 'shell_call_output', call_id: 'shell', opaque: true };
  assert.throws(
    () => new Suspension().plan([answer], earlier),
    (fault) =>
      fault instanceof ProtocolError &&
      fault.code === 'unknown_call_id' &&
      /waits for an output/.test(fault.message),
  );
});

test('an approval and the output of a local shell are answers like any other, under the names they have', () => {
  const suspension = new Suspension();
  suspension.owe({ call_id: 'r', type: 'mcp_approval_request' });
  suspension.owe({ call_id: 'c', type: 'local_shell_call' });
  const approval = (id: string, approve = true): Item => ({
    type: 'mcp_approval_response',
    approval_request_id: id,
    approve,
    opaque: true,
  });
  const shell: Item = { type: 'local_shell_call_output', id: 'c', output: 'a', opaque: true };
  assert.deepEqual(suspension.requiredInput, [
    { type: 'mcp_approval_response', call_id: 'r', approval_request_id: 'r' },
    { type: 'local_shell_call_output', call_id: 'c' },
  ]);
  const plan = suspension.plan([shell, approval('r')], Transcript.empty);
  assert.deepEqual(plan.call_ids, ['c', 'r']);
  pay(suspension, plan.items);
  assert.deepEqual(
    suspension.received.map(({ item }) => item),
    [approval('r'), shell],
    'in call order (S2)',
  );
  for (const [item, code] of [
    [approval('x'), 'unknown_call_id'],
    [approval('r', false), 'call_already_answered'],
  ] as const)
    assert.throws(
      () => suspension.plan([item], Transcript.empty),
      (fault) =>
        fault instanceof ProtocolError &&
        fault.code === code &&
        fault.param === 'input[0].approval_request_id',
    );
});
