import { test } from 'node:test';
import assert from 'node:assert/strict';

import type { CreateRequest, ToolChoice } from './protocol/requests.js';
import { allowsCall, choiceForTurn, demandsCall } from './tool-choice.js';

const request = (tool_choice?: ToolChoice | null): CreateRequest => ({ model: 'm', input: [], tool_choice });
const allowed = (mode: 'auto' | 'required'): ToolChoice => ({
  type: 'allowed_tools',
  mode,
  tools: [
    { type: 'function', name: 'ls' },
    { type: 'custom', name: 'patch' },
  ],
});
const named: ToolChoice = { type: 'function', name: 'ls' };

test('without a choice it is auto', () => {
  for (const turn of [1, 2]) {
    assert.equal(choiceForTurn(request(), turn), 'auto');
    assert.equal(choiceForTurn(request(null), turn), 'auto');
  }
});

test('a demand binds the first turn of a rollout alone (P57)', () => {
  assert.equal(choiceForTurn(request('required'), 1), 'required');
  assert.equal(choiceForTurn(request('required'), 2), 'auto');
  assert.equal(choiceForTurn(request(named), 1), named);
  assert.equal(choiceForTurn(request(named), 2), 'auto');
});

test('none and the bounds of allowed_tools hold in every turn, its demand in the first (P57)', () => {
  assert.equal(choiceForTurn(request('none'), 7), 'none');
  assert.deepEqual(choiceForTurn(request(allowed('required')), 1), allowed('required'));
  assert.deepEqual(choiceForTurn(request(allowed('required')), 2), allowed('auto'));
  assert.deepEqual(choiceForTurn(request(allowed('auto')), 2), allowed('auto'));
});

test('required, a named tool and required allowed_tools demand a call', () => {
  const choices: ToolChoice[] = ['auto', 'none', 'required', named, allowed('auto'), allowed('required')];
  assert.deepEqual(choices.map(demandsCall), [false, false, true, true, false, true]);
});

test('a choice allows what it names, and none allows nothing', () => {
  for (const choice of ['auto', 'required'] as const) assert.equal(allowsCall(choice, 'anything'), true);
  assert.equal(allowsCall('none', 'ls'), false);
  assert.deepEqual(
    ['ls', 'patch', 'rm'].map((name) => allowsCall(allowed('auto'), name)),
    [true, true, false],
  );
  assert.deepEqual(
    ['ls', 'patch'].map((name) => allowsCall(named, name)),
    [true, false],
  );
});
