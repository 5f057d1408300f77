import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { OutputItem } from '../engine/index.js';
import { ClientHistory } from './client-history.js';
import { ToolRun } from './client-tools.js';

const call = (call_id: string): OutputItem => ({
  type: 'function_call',
  id: `fc_${call_id}`,
  call_id,
  name: 'look',
  arguments: '{}',
  status: 'completed',
});
const compaction: OutputItem = { type: 'compaction', id: 'cmp_1', encrypted_content: 'x' };
const output = (call_id: string): object => ({ type: 'function_call_output', call_id, output: 'seen' });

/** A turn that calls once and is answered. */
async function answered(history: ClientHistory, call_id: string): Promise<void> {
  history.add(call(call_id));
  const run = new ToolRun(Promise.resolve(output(call_id)));
  history.handOff([run]);
  await run.done;
}

test('the whole history is what was said before, the new message, and every call with its output', async () => {
  const history = new ClientHistory(['before'], 'now');
  await answered(history, 'a');
  assert.deepEqual(history.items, [call('a'), output('a')]);
  assert.deepEqual(history.sent, [
    'before',
    { type: 'message', role: 'user', content: 'now' },
    call('a'),
    output('a'),
  ]);
});

test('a tool that is still at work has a place, and no output yet', () => {
  const history = new ClientHistory([], []);
  history.add(call('a'));
  history.handOff([new ToolRun(new Promise(() => undefined))]);
  assert.deepEqual(history.sent, [call('a')]);
});

test('a compaction stands for all but the newest turn', async () => {
  const history = new ClientHistory(['before'], 'now');
  await answered(history, 'a');
  await answered(history, 'b');
  history.add(compaction);
  await answered(history, 'c');
  assert.deepEqual(history.sent, [compaction, call('b'), output('b'), call('c'), output('c')]);
  history.add(compaction);
  assert.deepEqual(history.sent, [compaction, call('c'), output('c')], 'the next one for the one before too');
  assert.equal(history.items.length, 8, 'a report has everything');
});

test('a compaction before the first turn of a follow-up leaves the new message', () => {
  const history = new ClientHistory(['before', 'after'], ['now']);
  history.add(compaction);
  assert.deepEqual(history.sent, [compaction, 'now']);
});
