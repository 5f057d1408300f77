import { test } from 'node:test';
import assert from 'node:assert/strict';

import { call, Lab, output, turn } from '../engine/testing/lab.js';
import { Adoption, callIdIn, type Adoptable } from './adoption.js';

async function adoptable(lab: Lab, credential: string): Promise<Adoptable> {
  const rollout = await lab.create('hi', { credential });
  return {
    rollout,
    created: rollout.created,
    settings: '',
    parentId: null,
    from: 0,
    newest: null,
    left: false,
    until: 0,
    uncertain: false,
    resuming: false,
  };
}

test('a history is found by its newest known call first, then by its key', async () => {
  await using lab = new OneLab();
  const adoption = new Adoption(10);
  const [one, two] = [await adoptable(lab.lab, 'alice'), await adoptable(lab.lab, 'alice')];
  adoption.begun(one, 'key');
  adoption.begun(two, undefined);
  adoption.shown(one.rollout, ['a']);
  adoption.shown(two.rollout, ['b']);
  const find = (ids: string[], key?: string): Adoptable[] => [
    ...adoption.find(
      'alice',
      ids.map((id) => output(id, 'x')),
      key,
    ),
  ];
  assert.deepEqual(find(['a', 'b']), [two]);
  assert.deepEqual(find(['b', 'a', 'unknown']), [one]);
  assert.deepEqual(find(['b'], 'key'), [two, one]);
  assert.deepEqual(find([], 'key'), [one]);
  assert.deepEqual(find(['unknown'], 'other'), []);
});

test('another credential finds nothing, however its name is written', async () => {
  await using lab = new OneLab();
  const adoption = new Adoption(10);
  const known = await adoptable(lab.lab, 'alice call b');
  adoption.begun(known, undefined);
  adoption.shown(known.rollout, ['c']);
  assert.equal(adoption.find('alice', [output('b call c', 'x')], undefined).size, 0);
  assert.equal(adoption.find('alice call b', [output('c', 'x')], undefined).size, 1);
});

test('the index is bounded, and the oldest go first', async () => {
  await using lab = new OneLab();
  const adoption = new Adoption(2);
  const known = await adoptable(lab.lab, '');
  adoption.begun(known, undefined);
  adoption.shown(known.rollout, ['a', 'b', 'c']);
  const found = ['a', 'b', 'c'].map((id) => adoption.find('', [output(id, 'x')], undefined).size);
  assert.deepEqual(found, [0, 1, 1]);
});

test('a call is named by whatever its kind names it by', () => {
  assert.equal(callIdIn({ type: 'mcp_approval_request', id: 'r' }), 'r');
  assert.equal(callIdIn({ type: 'mcp_approval_response', approval_request_id: 'r' }), 'r');
  assert.equal(callIdIn({ type: 'local_shell_call_output', id: 's' }), 's');
  assert.equal(callIdIn({ type: 'web_search_call', id: 'w' }), null);
  for (const nothing of [null, 5, 'x', {}, { type: 5 }, { call_id: 'a' }, { role: 'user', content: 'x' }])
    assert.equal(callIdIn(nothing), null);
});

/** A laboratory that ends what it has begun. */
class OneLab implements AsyncDisposable {
  readonly lab = new Lab(() => turn(call('ls')));

  [Symbol.asyncDispose](): Promise<void> {
    return this.lab.engine[Symbol.asyncDispose]();
  }
}
