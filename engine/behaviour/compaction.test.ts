import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ResponseObject } from '../protocol/server-events.js';
import { checkGrammar } from '../testing/grammar.js';
import { call, callIdsOf, eventsOf, Lab, message, output, refusal, say, turn } from '../testing/lab.js';

const compacting = { context_management: [{ type: 'compaction', compact_threshold: 200 }] };

function types(items: ResponseObject['output']): string[] {
  return items.map(({ type }) => type);
}

test('above its threshold the context is compacted before the next turn, and the newest turn stays whole', async () => {
  const lab = new Lab([turn(call('read')), turn(call('read')), turn(say('done'))]);
  const response = await lab.create({ input: 'fix it', ...compacting });
  await lab.append(response, output(callIdsOf(response)[0], 'x'.repeat(300)));
  assert.deepEqual(lab.prompt.slice(1), ['assistant to=read: {}', `tool: ${'x'.repeat(300)}`]);
  assert.match(lab.prompt[0] ?? '', /^developer: user: fix it/);
  await lab.append(response, output(callIdsOf(response)[1], 'short'));
  const { outcome } = await response.settled;
  assert.equal(outcome.status, 'completed');
  assert.deepEqual(types(response.snapshot().output), [
    'function_call',
    'compaction',
    'function_call',
    'compaction',
    'message',
  ]);
  assert.match(
    lab.prompt[0] ?? '',
    /user: fix it\ncall read: {}\noutput: x{300}/,
    'the summary goes on from the one before',
  );
  checkGrammar(eventsOf(response), { native: true });
});

test('a compaction item is fed back as it is and read as its summary (P46)', async () => {
  const lab = new Lab([turn(say('ok'))]);
  const first = await lab.create({ input: [message('remember 42'), { type: 'compaction_trigger' }] });
  const [item] = first.snapshot().output;
  assert.equal(item?.type, 'compaction');
  assert.equal(lab.turns.length, 0, 'nothing is sampled');
  await lab.create({ input: [item, message('what was it?')] });
  assert.deepEqual(lab.prompt, ['developer: user: remember 42', 'user: what was it?']);
});

test('what continues a compacted conversation reads the compaction, held nowhere and counted anew', async () => {
  const lab = new Lab([turn(say('a'.repeat(300))), turn(say('b')), turn(say('c'))]);
  const first = await lab.create({ input: 'one', ...compacting }, { handOff: 'complete' });
  const second = await lab.create({ input: 'two', ...compacting }, { handOff: 'complete', kept: first.kept });
  assert.deepEqual(types(second.snapshot().output), ['compaction', 'message']);
  assert.equal(second.snapshot().usage?.input_tokens_details.cached_tokens, 0);
  await lab.create({ input: 'three' }, { handOff: 'complete', kept: second.kept });
  assert.deepEqual(lab.prompt.slice(1), ['user: two', 'assistant: b', 'user: three']);
  assert.equal(lab.model.stats.released, lab.model.stats.opened);
  const hydrated = await lab.engine.hydrate(second.id);
  assert.deepEqual(
    hydrated?.transcript.items().map(({ type }) => type),
    second.kept.transcript.items().map(({ type }) => type),
  );
});

test('truncation auto drops the oldest items, an output with its call, and the newest turn stays (P60)', async () => {
  let asked = 0;
  const lab = new Lab(() => (++asked < 3 ? turn(call('read')) : turn(say('done'))), {
    contextTokensMax: 300,
  });
  const response = await lab.create({ input: 'y'.repeat(100), truncation: 'auto' });
  await lab.append(response, output(callIdsOf(response)[0], 'x'.repeat(120)));
  await lab.append(response, output(callIdsOf(response)[1], 'z'.repeat(120)));
  assert.equal((await response.settled).outcome.status, 'completed');
  assert.deepEqual(lab.prompt, ['assistant to=read: {}', `tool: ${'z'.repeat(120)}`]);
  const disabled = await refusal(lab.create({ input: 'y'.repeat(400) }));
  assert.equal(disabled.code, 'context_length_exceeded');
});

test('a turn that alone is too long fails, whatever may be dropped', async () => {
  const lab = new Lab([turn(say('x'))], { contextTokensMax: 100 });
  const response = await lab.create({ input: 'y'.repeat(400), truncation: 'auto' });
  const { outcome } = await response.settled;
  assert.equal(outcome.status === 'failed' && outcome.code, 'context_length_exceeded');
});

test('output that was compacted away is classified, stored and billed all the same (S5)', async () => {
  const lab = new Lab([turn(say('secret word'), call('read')), turn(say('done'))]);
  const response = await lab.create({ input: 'fix it', ...compacting });
  await lab.append(response, output(callIdsOf(response)[0], 'x'.repeat(300)));
  await response.settled;
  const stored = await lab.store.load(response.id, '');
  assert.ok(stored?.items.some((item) => JSON.stringify(item).includes('secret word')));
});
