import { test } from 'node:test';
import assert from 'node:assert/strict';

import { createRequestSchema, type ToolChoice } from '../protocol/requests.js';
import { callableTools, obey } from './choice.js';
import type { ScriptItem } from './script.js';

const tools =
  createRequestSchema.parse({
    model: 'scripted',
    tools: [
      { type: 'web_search' },
      { type: 'function', name: 'ls', parameters: { type: 'object' } },
      { type: 'custom', name: 'patch' },
      { type: 'namespace', name: 'mail', tools: [{ type: 'function', name: 'send' }] },
    ],
  }).tools ?? [];

const text: ScriptItem = { type: 'message', text: 'let me see' };
const ls: ScriptItem = { type: 'function_call', name: 'ls', arguments: '{"path":"/"}' };
const patch: ScriptItem = { type: 'custom_tool_call', name: 'patch', input: '***' };
const search: ScriptItem = { type: 'opaque', item: { type: 'web_search_call', opaque: true } };
const none: ScriptItem = { type: 'message', text: '(no tool)' };

function said(items: readonly ScriptItem[], toolChoice: ToolChoice, parallelToolCalls = true) {
  return obey(items, { toolChoice, parallelToolCalls }, tools);
}

const allowed = (mode: 'auto' | 'required', ...names: { type: string; name?: string }[]): ToolChoice => ({
  type: 'allowed_tools',
  mode,
  tools: names,
});

test('auto says the whole turn, and without parallel calls only its first call', () => {
  const items = [text, ls, search, patch, text];
  assert.deepEqual(said(items, 'auto'), items);
  assert.deepEqual(said(items, 'auto', false), [text, ls, text]);
  assert.deepEqual(said([], 'auto'), []);
});

test('none leaves the calls out, and a turn of calls says that it has no tool', () => {
  assert.deepEqual(said([text, ls, search, patch], 'none'), [text]);
  assert.deepEqual(said([ls, search], 'none'), [none]);
  assert.deepEqual(said([], 'none'), []);
});

test('required is met by the calls of the turn, or by an empty call of the first declared tool and nothing else', () => {
  const lsEmpty: ScriptItem = { type: 'function_call', name: 'ls', namespace: undefined, arguments: '{}' };
  assert.deepEqual(said([text, patch], 'required'), [text, patch]);
  assert.deepEqual(said([text], 'required'), [lsEmpty]);
  assert.throws(() => obey([text], { toolChoice: 'required', parallelToolCalls: true }, []), /no tool/);
});

test('a named tool is called, with the arguments of the turn where it has them', () => {
  assert.deepEqual(said([text, ls, patch, search], { type: 'function', name: 'ls' }), [text, ls]);
  assert.deepEqual(said([text, ls], { type: 'custom', name: 'patch' }), [
    { type: 'custom_tool_call', name: 'patch', namespace: undefined, input: '' },
  ]);
  assert.deepEqual(said([text], { type: 'function', name: 'send' }), [
    { type: 'function_call', name: 'send', namespace: 'mail', arguments: '{}' },
  ]);
});

test('allowed tools leave the calls of others out, and may demand one of their own', () => {
  const onlyPatch = { type: 'custom', name: 'patch' };
  assert.deepEqual(said([text, ls, patch, search], allowed('auto', onlyPatch)), [text, patch]);
  assert.deepEqual(said([ls, search], allowed('auto', { type: 'web_search' })), [search]);
  assert.deepEqual(said([ls], allowed('auto', onlyPatch)), [none]);
  assert.deepEqual(said([text, ls], allowed('required', onlyPatch)), [
    { type: 'custom_tool_call', name: 'patch', namespace: undefined, input: '' },
  ]);
});

test('callable tools are functions and custom tools in order, those in namespaces included', () => {
  assert.deepEqual(callableTools(tools), [
    { type: 'function', name: 'ls', namespace: undefined, parameters: { type: 'object' } },
    { type: 'custom', name: 'patch', namespace: undefined, parameters: undefined },
    { type: 'function', name: 'send', namespace: 'mail', parameters: undefined },
  ]);
});

test('a hosted call that ran elsewhere is no parallel call, and no call where none is allowed', () => {
  const ran: ScriptItem = {
    type: 'opaque',
    item: { type: 'web_search_call', status: 'completed', opaque: true },
  };
  const calls: ScriptItem = { type: 'function_call', name: 'f', arguments: '{}' };
  const items = [ran, ran, calls, { ...calls }];
  assert.deepEqual(obey(items, { toolChoice: 'auto', parallelToolCalls: false }, []), [ran, ran, calls]);
  assert.deepEqual(obey(items, { toolChoice: 'none', parallelToolCalls: true }, []), [
    { type: 'message', text: '(no tool)' },
  ]);
});
