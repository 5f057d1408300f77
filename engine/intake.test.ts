import { test } from 'node:test';
import assert from 'node:assert/strict';

import { takeIn } from './intake.js';
import { ProtocolError } from './protocol/errors.js';
import type { Item } from './protocol/items.js';
import { assistant, call, entry, output, transcriptOf, user } from './samplers/testing/turns.js';
import { openedCallId } from './calls.js';
import { Transcript } from './transcript.js';

const none = Transcript.empty;
/** A conversation that owes calls a, b and c, and has answered one before. */
const kept = transcriptOf(
  ...[user('go'), call('old'), output('old', 'said'), call('a'), call('b'), call('c')].map((item) =>
    entry(item, 1),
  ),
);
const owed = ['a', 'b', 'c'];
const withId = (item: Item, id: string): Item => ({ ...item, id });
const customCall = (callId: string): Item => ({
  type: 'custom_tool_call',
  call_id: callId,
  name: 'p',
  input: '',
});
const customOutput = (callId: string): Item => ({
  type: 'custom_tool_call_output',
  call_id: callId,
  output: 'x',
});

function assertRefused(
  items: readonly Item[],
  expected: { code: string; status: number; param: string; names: string },
  from: Transcript = none,
  owes: readonly string[] = [],
): void {
  assert.throws(
    () => takeIn(items, from, owes),
    (fault) => {
      assert.ok(fault instanceof ProtocolError);
      const { code, status, param, message } = fault;
      assert.deepEqual(
        { code, status, param },
        { code: expected.code, status: expected.status, param: expected.param },
      );
      assert.ok(message.includes(expected.names), message);
      return true;
    },
  );
}

test('messages and a history whose calls are all answered enter as they are (K1, K2)', () => {
  const items = [
    user('hi'),
    call('x'),
    customCall('y'),
    customOutput('y'),
    output('x', '1'),
    assistant('ok'),
    user('on'),
  ];
  assert.deepEqual(takeIn(items, none, []), items);
  assert.deepEqual(takeIn([], none, []), []);
});

test('reasoning enters with and without the item that belongs to it (B123, B124)', () => {
  const reasoning: Item = { type: 'reasoning', id: 'rs_1', summary: [] };
  for (const items of [
    [user('a'), reasoning, assistant('b'), user('c')],
    [user('a'), reasoning],
    [user('a'), call('x'), output('x', '1')],
  ])
    assert.deepEqual(takeIn(items, none, []), items);
});

test('an output of a call that is nowhere before it is refused by its call_id (K1, B3, P41)', () => {
  const expected = { code: 'unknown_call_id', status: 400, param: 'input[1].call_id', names: 'call_nope' };
  assertRefused([user('x'), output('call_nope', '1')], expected);
  assertRefused([output('a', '1'), output('call_nope', '1')], expected, kept, owed);
  assertRefused([output('x', '1'), call('x')], { ...expected, param: 'input[0].call_id', names: '"x"' });
});

test('an output of the wrong kind is refused, and the message says which kind is right (K1, B4)', () => {
  const expected = {
    code: 'wrong_output_type',
    status: 400,
    param: 'input[1].type',
    names: 'custom_tool_call_output',
  };
  assertRefused([customCall('y'), output('y', '1')], expected);
  assertRefused([user('x'), customOutput('a')], { ...expected, names: 'function_call_output' }, kept, owed);
});

test('a second answer is refused, in the input and to what the transcript has answered (K1, B5)', () => {
  const expected = { code: 'call_already_answered', status: 409, param: 'input[2].call_id', names: '"x"' };
  assertRefused([call('x'), output('x', '1'), output('x', '1')], expected);
  assertRefused(
    [output('old', 'said')],
    { ...expected, param: 'input[0].call_id', names: 'old' },
    kept,
    owed,
  );
});

test('the same call twice is refused, in the input and of the transcript (K1, B10)', () => {
  const expected = { code: 'invalid_value', status: 400, param: 'input[1].call_id', names: '"x"' };
  assertRefused([call('x'), call('x')], expected);
  assertRefused([user('a'), call('old')], { ...expected, names: 'old' }, kept, owed);
});

test('a call without an answer is refused by its call_id, of the transcript first (K2, B12)', () => {
  const expected = { code: 'missing_tool_output', status: 400, param: 'input', names: '"c"' };
  assertRefused([output('a', '1'), output('b', '2')], expected, kept, owed);
  assertRefused([user('hello')], { ...expected, names: '"a"' }, kept, owed);
  assertRefused([call('x'), user('hello')], { ...expected, names: '"x"' });
});

test('outputs that pay the transcript enter first and in call order, whatever stands around them (K3, S2, B12)', () => {
  const items = [
    user('also this'),
    output('c', '3'),
    output('a', '1'),
    call('x'),
    output('x', '9'),
    output('b', '2'),
  ];
  assert.deepEqual(takeIn(items, kept, owed), [
    output('a', '1'),
    output('b', '2'),
    output('c', '3'),
    user('also this'),
    call('x'),
    output('x', '9'),
  ]);
});

test('a call echoed beside its output is dropped, so that one copy is kept (K4, B9)', () => {
  const items = [call('a'), output('a', '1'), call('b'), call('c'), output('b', '2'), output('c', '3')];
  assert.deepEqual(takeIn(items, kept, owed), [output('a', '1'), output('b', '2'), output('c', '3')]);
});

test('an item id that stands twice is refused by its name, whatever the items are (K5, B8)', () => {
  const expected = { code: 'duplicate_item_id', status: 400, param: 'input[2].id', names: 'fc_1' };
  assertRefused([withId(call('c1'), 'fc_1'), output('c1', '1'), withId(call('c2'), 'fc_1')], expected);
  assertRefused([withId(user('a'), 'm'), withId(user('b'), 'm')], {
    ...expected,
    param: 'input[1].id',
    names: '"m"',
  });
  const reference: Item = { type: 'item_reference', id: 'm', opaque: true };
  assert.equal(takeIn([reference, reference], none, []).length, 2, 'a reference is no item of its own');
});

test('opaque calls are paired by call_id, and a hosted call without one is nobody’s to answer (K1, K2)', () => {
  const shell: Item = { type: 'shell_call', call_id: 's', opaque: true };
  const answer: Item = { type: 'shell_call_output', call_id: 's', opaque: true };
  const hosted: Item = { type: 'web_search_call', id: 'ws', opaque: true };
  assert.deepEqual(takeIn([hosted, shell, answer], none, []), [hosted, shell, answer]);
  assertRefused([hosted, shell], { code: 'missing_tool_output', status: 400, param: 'input', names: '"s"' });
  assert.deepEqual([shell, hosted, answer, call('f'), user('x')].map(openedCallId), [
    's',
    null,
    null,
    'f',
    null,
  ]);
});

test('a call id of any length is taken as it is (B90)', () => {
  const long = `call_${'x'.repeat(111)}`;
  const items = [call(long), output(long, '1')];
  assert.deepEqual(takeIn(items, none, []), items);
});

test('hosted calls stand in a history unanswered, client-run ones of every kind do not (K2)', () => {
  const opaque = (fields: { type: string } & Record<string, unknown>): Item => ({ ...fields, opaque: true });
  const hosted = [
    'web_search_call',
    'file_search_call',
    'code_interpreter_call',
    'image_generation_call',
    'mcp_call',
  ];
  const ran = hosted.map((type, index) => opaque({ type, id: `h${index}`, status: 'completed' }));
  const searched = [
    opaque({ type: 'tool_search_call', call_id: null, execution: 'server' }),
    opaque({ type: 'tool_search_output', call_id: null, execution: 'server', tools: [] }),
  ];
  const history = [user('x'), opaque({ type: 'mcp_list_tools', id: 'l' }), ...ran, ...searched, user('y')];
  assert.deepEqual(takeIn(history, Transcript.empty, []), history);
  const pairs = [
    [
      opaque({ type: 'mcp_approval_request', id: 'r' }),
      opaque({ type: 'mcp_approval_response', approval_request_id: 'r' }),
    ],
    [
      opaque({ type: 'local_shell_call', call_id: 'c' }),
      opaque({ type: 'local_shell_call_output', id: 'c' }),
    ],
    [
      opaque({ type: 'shell_call', call_id: 's', status: 'completed' }),
      opaque({ type: 'shell_call_output', call_id: 's' }),
    ],
  ];
  assert.deepEqual(takeIn(pairs.flat(), Transcript.empty, []), pairs.flat());
  for (const [opens, answer] of pairs) {
    if (opens === undefined || answer === undefined) continue;
    assert.throws(() => takeIn([opens], Transcript.empty, []), /No tool output found/);
    assert.throws(() => takeIn([answer], Transcript.empty, []), /No tool call found/);
  }
});
