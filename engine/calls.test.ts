import { test } from 'node:test';
import assert from 'node:assert/strict';

import {
  abortedAnswer,
  answeredCallId,
  callField,
  openedCallId,
  owedCallId,
  outputTypeFor,
  owesAnswer,
  requiredInputFor,
} from './calls.js';

const pairs = [
  [
    { type: 'function_call', call_id: 'c' },
    { type: 'function_call_output', call_id: 'c' },
  ],
  [
    { type: 'custom_tool_call', call_id: 'c' },
    { type: 'custom_tool_call_output', call_id: 'c' },
  ],
  [
    { type: 'local_shell_call', id: 'x', call_id: 'c' },
    { type: 'local_shell_call_output', id: 'c' },
  ],
  [
    { type: 'local_shell_call', call_id: 'c' },
    { type: 'local_shell_call_output', id: 'o', call_id: 'c' },
  ],
  [
    { type: 'shell_call', call_id: 'c', status: 'completed' },
    { type: 'shell_call_output', call_id: 'c' },
  ],
  [
    { type: 'apply_patch_call', call_id: 'c' },
    { type: 'apply_patch_call_output', call_id: 'c' },
  ],
  [
    { type: 'computer_call', call_id: 'c' },
    { type: 'computer_call_output', call_id: 'c' },
  ],
  [
    { type: 'tool_search_call', call_id: 'c', execution: 'client' },
    { type: 'tool_search_output', call_id: 'c', execution: 'client' },
  ],
  [
    { type: 'mcp_approval_request', id: 'c' },
    { type: 'mcp_approval_response', id: 'r', approval_request_id: 'c' },
  ],
  [
    { type: 'future_call', call_id: 'c' },
    { type: 'future_call_output', call_id: 'c' },
  ],
] as const;

for (const [call, answer] of pairs)
  test(`a ${call.type} is answered by a ${answer.type} that names it (D1)`, () => {
    assert.equal(openedCallId(call), 'c');
    assert.equal(answeredCallId(answer), 'c');
    assert.equal(outputTypeFor(call.type), answer.type);
    assert.equal(answeredCallId(call), null);
    assert.equal(openedCallId(answer), null);
  });

test('what has no name asks for nothing and answers nothing (D2)', () => {
  for (const item of [
    { type: 'message', role: 'user', content: 'x' },
    { type: 'reasoning', id: 'rs' },
    { type: 'compaction', id: 'cmp', call_id: 'c' },
    { type: 'web_search_call', id: 'ws', status: 'completed' },
    { type: 'file_search_call', id: 'fs', status: 'completed' },
    { type: 'code_interpreter_call', id: 'ci', status: 'completed' },
    { type: 'image_generation_call', id: 'ig', status: 'completed' },
    { type: 'mcp_call', id: 'mcp', status: 'completed' },
    { type: 'mcp_list_tools', id: 'mcpl' },
    { type: 'tool_search_call', call_id: null, execution: 'server' },
    { type: 'tool_search_call', call_id: 'c', execution: 'server' },
    { type: 'tool_search_output', call_id: 'c', execution: 'server' },
    { type: 'program_output', call_id: 'c' },
    { type: 'shell_call_output', call_id: '' },
  ]) {
    assert.equal(openedCallId(item), null, item.type);
    assert.equal(answeredCallId(item), null, item.type);
  }
});

test('a sampled call is owed, unless it says that it ran elsewhere (D3)', () => {
  const owed = [
    { type: 'shell_call' },
    { type: 'shell_call', status: 'in_progress' },
    { type: 'web_search_call' },
    { type: 'mcp_approval_request' },
    { type: 'tool_search_call', execution: 'client' },
  ];
  const over = [
    { type: 'web_search_call', status: 'completed' },
    { type: 'mcp_call', status: 'failed' },
    { type: 'tool_search_call', execution: 'server' },
    { type: 'mcp_list_tools' },
    { type: 'shell_call_output' },
  ];
  assert.deepEqual(
    owed.map(owesAnswer),
    owed.map(() => true),
  );
  assert.deepEqual(
    over.map(owesAnswer),
    over.map(() => false),
  );
});

test('an answer is refused by the field in which it names its call', () => {
  assert.equal(callField({ type: 'function_call_output', call_id: 'c' }), 'call_id');
  assert.equal(callField({ type: 'local_shell_call_output', id: 'c' }), 'id');
  const approval = { type: 'mcp_approval_response', approval_request_id: 'c' };
  assert.equal(callField(approval), 'approval_request_id');
});

test('what is owed is told by an item as it is announced, and not as it is done (D3)', () => {
  const announced = { type: 'function_call', status: 'in_progress', call_id: 'c' };
  const ran = { type: 'shell_call', status: 'completed', call_id: 'c' };
  assert.deepEqual([owedCallId(announced), owedCallId(ran)], ['c', null]);
});

test('a stub names what is due as its answer names it, and as every stub does', () => {
  assert.deepEqual(requiredInputFor({ type: 'function_call', call_id: 'c', name: 'f' }), {
    type: 'function_call_output',
    call_id: 'c',
    name: 'f',
  });
  assert.deepEqual(requiredInputFor({ type: 'mcp_approval_request', call_id: 'r' }), {
    type: 'mcp_approval_response',
    call_id: 'r',
    approval_request_id: 'r',
  });
  assert.deepEqual(requiredInputFor({ type: 'tool_search_call', call_id: 'c' }), {
    type: 'tool_search_output',
    call_id: 'c',
    execution: 'client',
  });
});

test('the answer that nobody gave answers its call, whatever kind it is', () => {
  for (const [call] of pairs) {
    const answer = abortedAnswer(requiredInputFor({ type: call.type, call_id: 'c' }));
    assert.equal(answeredCallId(answer), 'c', call.type);
    assert.equal(answer.type, outputTypeFor(call.type));
  }
  const denied = abortedAnswer(requiredInputFor({ type: 'mcp_approval_request', call_id: 'r' }));
  assert.deepEqual(denied, {
    type: 'mcp_approval_response',
    approval_request_id: 'r',
    approve: false,
    reason: 'aborted',
    opaque: true,
  });
});
