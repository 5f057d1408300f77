import { test } from 'node:test';
import assert from 'node:assert/strict';

import * as fc from 'fast-check';

import { ProtocolError } from './errors.js';
import { isOpaque, isSampled, isToolCall, isToolOutput, itemSchema, type Item } from './items.js';
import { parse } from './parse.js';

const item = (raw: unknown): Item => parse(itemSchema, raw);

function refusalOf(raw: unknown): { code: string; param: string | null; message: string } {
  try {
    item(raw);
  } catch (fault) {
    assert.ok(fault instanceof ProtocolError);
    return { code: fault.code, param: fault.param, message: fault.message };
  }
  return assert.fail(`accepted ${JSON.stringify(raw)}`);
}

test('a message without a type is a message, as public clients send it', () => {
  assert.deepEqual(item({ role: 'user', content: 'hi' }), { type: 'message', role: 'user', content: 'hi' });
});

test('a message keeps its parts, role, status and phase', () => {
  const parts = [
    { type: 'input_text', text: 'look' },
    { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' },
    { type: 'input_file', file_data: 'data:text/plain;base64,eA==', filename: 'x.txt' },
  ];
  const message = { type: 'message', id: 'msg_1', role: 'developer', status: 'completed', content: parts };
  assert.deepEqual(item(message), message);
  const answer = {
    type: 'message',
    role: 'assistant',
    phase: 'commentary',
    content: [
      { type: 'output_text', text: 'so', annotations: [] },
      { type: 'refusal', refusal: 'no' },
    ],
  };
  assert.deepEqual(item(answer), answer);
});

test('an output_text part without annotations gets an empty list of them (B50)', () => {
  assert.deepEqual(item({ role: 'assistant', content: [{ type: 'output_text', text: 'x' }] }), {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'x', annotations: [] }],
  });
});

test('fields that an SDK has added to a known item are dropped, not refused (B70, P11)', () => {
  const call = {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'c',
    name: 'f',
    arguments: '{}',
    status: 'completed',
  };
  assert.deepEqual(item({ ...call, parsed_arguments: {}, created_by: 'sdk', opaque: true }), call);
  const output = { type: 'function_call_output', call_id: 'c', output: 'x' };
  assert.deepEqual(item({ ...output, id: null, status: null, extra: 1 }), {
    ...output,
    id: null,
    status: null,
  });
});

test('a call keeps its namespace, in both kinds (B85)', () => {
  for (const call of [
    { type: 'function_call', call_id: 'c', name: 'g', namespace: 'n', arguments: '{}' },
    { type: 'custom_tool_call', call_id: 'c', name: 'g', namespace: 'n', input: 'x' },
  ])
    assert.deepEqual(item(call), call);
});

test('an output is a text or parts of text, image and file (B82)', () => {
  const parts = [
    { type: 'input_text', text: 'shot' },
    { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
  ];
  for (const type of ['function_call_output', 'custom_tool_call_output'])
    for (const output of ['', 'x', [], parts]) {
      const raw = { type, call_id: 'c', output };
      assert.deepEqual(item(raw), raw);
    }
});

for (const [output, param] of [
  [42, 'output'],
  [{ k: 1 }, 'output'],
  [null, 'output'],
  [true, 'output'],
  [
    [
      { type: 'input_text', text: 'x' },
      { type: 'output_text', text: 'x' },
    ],
    'output[1].type',
  ],
  [[{ type: 'input_text', text: 5 }], 'output[0].text'],
  [['x'], 'output[0]'],
] as const)
  test(`an output of ${JSON.stringify(output)} is refused by its field, ${param} (B82)`, () => {
    const refused = refusalOf({ type: 'function_call_output', call_id: 'c', output });
    assert.deepEqual([refused.code, refused.param], ['invalid_value', param]);
  });

test('an output without an output is a missing parameter', () => {
  const { code, param } = refusalOf({ type: 'function_call_output', call_id: 'c' });
  assert.deepEqual([code, param], ['missing_required_parameter', 'output']);
});

for (const [what, raw, code, param] of [
  ['a message without content', { role: 'user' }, 'missing_required_parameter', 'content'],
  ['a message of a stranger', { role: 'tool', content: 'x' }, 'invalid_value', 'role'],
  [
    'a part of an unknown kind',
    { role: 'user', content: [{ type: 'video' }] },
    'invalid_value',
    'content[0].type',
  ],
  ['content that is a number', { role: 'user', content: 5 }, 'invalid_value', 'content'],
  [
    'a call without an id',
    { type: 'function_call', name: 'f', arguments: '' },
    'missing_required_parameter',
    'call_id',
  ],
  [
    'an empty call id',
    { type: 'function_call', call_id: '', name: 'f', arguments: '' },
    'invalid_value',
    'call_id',
  ],
  [
    'arguments as an object',
    { type: 'function_call', call_id: 'c', name: 'f', arguments: {} },
    'invalid_value',
    'arguments',
  ],
  ['an unknown status', { role: 'user', content: 'x', status: 'odd' }, 'invalid_value', 'status'],
  ['a type that is no text', { type: 5 }, 'invalid_value', 'type'],
  ['an empty type', { type: '' }, 'invalid_value', 'type'],
  ['neither type nor role', { content: 'x' }, 'missing_required_parameter', 'type'],
] as const)
  test(`${what} is refused by its field`, () => {
    const refused = refusalOf(raw);
    assert.deepEqual([refused.code, refused.param], [code, param]);
    assert.ok(refused.message.includes(param), refused.message);
  });

for (const raw of [null, 'hi', 5, [], [{ role: 'user', content: 'x' }]])
  test(`${JSON.stringify(raw)} is no item`, () => {
    assert.equal(refusalOf(raw).code, 'invalid_value');
  });

test('every other kind is opaque: carried with all its fields', () => {
  const raw = {
    type: 'shell_call',
    id: 'sh_1',
    call_id: 's',
    action: { command: ['ls'] },
    status: 'completed',
  };
  const parsed = item(raw);
  assert.deepEqual(parsed, { ...raw, opaque: true });
  assert.ok(isOpaque(parsed));
  assert.ok(
    isOpaque(item({ type: 'toString', x: 1 })),
    'the name of a method of every object is a type like any other',
  );
  assert.equal(refusalOf({ type: 'shell_call', call_id: 5 }).param, 'call_id');
});

test('kinds are told apart: calls, outputs, and what a model writes', () => {
  const items = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: 'x' },
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '' },
    { type: 'custom_tool_call', call_id: 'c', name: 'f', input: '' },
    { type: 'function_call_output', call_id: 'c', output: '' },
    { type: 'custom_tool_call_output', call_id: 'c', output: '' },
    { type: 'reasoning' },
    { type: 'web_search_call' },
    { type: 'shell_call_output', call_id: 'c' },
    { type: 'item_reference', id: 'x' },
  ].map(item);
  const places = (is: (each: Item) => boolean): number[] =>
    items.flatMap((each, index) => (is(each) ? [index] : []));
  assert.deepEqual(places(isToolCall), [2, 3]);
  assert.deepEqual(places(isToolOutput), [4, 5]);
  assert.deepEqual(places(isSampled), [1, 2, 3, 6, 7]);
  assert.deepEqual(places(isOpaque), [7, 8, 9]);
});

test('whatever stands in an input, it is an item or a refusal with a code, and an item parses to itself', () => {
  const type = fc.oneof(
    fc.constantFrom(
      'message',
      'function_call',
      'function_call_output',
      'custom_tool_call',
      'reasoning',
      'x_call',
    ),
    fc.string(),
  );
  const raw = fc.record(
    {
      type,
      role: fc.constantFrom('user', 'assistant', 'x'),
      content: fc.jsonValue(),
      call_id: fc.jsonValue(),
      name: fc.string(),
      arguments: fc.jsonValue(),
      output: fc.jsonValue(),
      id: fc.jsonValue(),
      summary: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(raw, fc.jsonValue()), (value) => {
      try {
        const parsed = item(value);
        assert.deepEqual(item(parsed), parsed);
      } catch (fault) {
        assert.ok(fault instanceof ProtocolError, String(fault));
        assert.equal(fault.status, 400);
      }
    }),
    { seed: 3, numRuns: 500 },
  );
});

test('an opaque item may say null for the ids it has none of', () => {
  const raw = { type: 'tool_search_call', id: null, call_id: null, execution: 'server' };
  assert.deepEqual(parse(itemSchema, raw), { ...raw, opaque: true });
});

test('a model writes calls, approvals and lists of tools, a client what answers them', () => {
  const of = (type: string): Item => ({ type, opaque: true });
  for (const type of ['shell_call', 'web_search_call', 'mcp_approval_request', 'mcp_list_tools'])
    assert.equal(isSampled(of(type)), true, type);
  for (const type of ['shell_call_output', 'mcp_approval_response', 'tool_search_output', 'item_reference'])
    assert.equal(isSampled(of(type)), false, type);
});
