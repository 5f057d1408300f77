/** What the parts of an item, its annotations and what it encloses become in the log. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import type { LogEntry } from './log-entry.js';
import type { OwedCall } from './calls.js';
import type { SampledStart, SamplerEvent } from './samplers/sampler.js';
import { Turn, type TurnRules } from './turn.js';

function sampled(events: readonly SamplerEvent[], rules: Partial<TurnRules> = {}) {
  const owed: OwedCall[] = [];
  const counts = new Map<string, number>();
  const turn = new Turn(0, {
    choice: 'auto',
    parallelToolCalls: true,
    callsLeft: Infinity,
    outputTokensMax: Infinity,
    mintId(prefix) {
      const count = (counts.get(prefix) ?? 0) + 1;
      counts.set(prefix, count);
      return `${prefix}_${count}`;
    },
    owe: (call) => owed.push(call),
    ...rules,
  });
  const log: LogEntry[] = [];
  for (const event of events) if (turn.cut === null) log.push(...turn.accept(event));
  return { turn, log, owed };
}

const item = (start: SampledStart, key = 0): SamplerEvent => ({ type: 'item', key, start });
const part = (kind: Extract<SamplerEvent, { type: 'part' }>['part'], key = 0): SamplerEvent => ({
  type: 'part',
  key,
  part: kind,
});
const delta = (text: string | Uint8Array, key = 0): SamplerEvent => ({
  type: 'delta',
  key,
  delta: text,
  tokens: 1,
});
const end = (encrypted_content?: string): SamplerEvent => ({ type: 'item_end', key: 0, encrypted_content });
const annotation = (fields: Record<string, unknown>): SamplerEvent => ({
  type: 'annotation',
  key: 0,
  annotation: fields,
});
const opaque = (fields: { type: string } & Record<string, unknown>): SampledStart => ({
  type: 'opaque',
  item: { ...fields, opaque: true },
});
const short = ({ type }: LogEntry): string => type.replace('response.', '');

test('a part is announced with the first thing that is said in it, and not with its item (U5)', () => {
  const { log } = sampled([item({ type: 'message' })]);
  assert.deepEqual(log.map(short), ['output_item.added']);
  const said = sampled([item({ type: 'message' }), delta(Uint8Array.of(0xf0, 0x9f))]);
  assert.deepEqual(said.log.map(short), ['output_item.added'], 'half a character says nothing yet');
  const begun = sampled([item({ type: 'message' }), part('refusal')]);
  assert.deepEqual(begun.log.map(short), ['output_item.added', 'content_part.added']);
});

test('a message that stays empty has one empty part; reasoning has none (U5, P52)', () => {
  const empty = sampled([item({ type: 'message' }), delta(''), end()]);
  assert.deepEqual(empty.log.map(short), [
    'output_item.added',
    'content_part.added',
    'output_text.done',
    'content_part.done',
    'output_item.done',
  ]);
  const cut = sampled([item({ type: 'message' }), { type: 'cut' }]);
  assert.deepEqual(cut.turn.sampled[0]?.output['content'], [
    { type: 'output_text', text: '', annotations: [] },
  ]);
  const thought = sampled([item({ type: 'reasoning' }), delta(''), end()]);
  assert.deepEqual(thought.log.map(short), ['output_item.added', 'output_item.done']);
  assert.deepEqual(thought.turn.sampled[0]?.output['summary'], []);
});

test('a refusal has events of its own, and a text before it is whole (P52, P53)', () => {
  const { turn, log } = sampled([
    item({ type: 'message' }),
    delta('Well, '),
    part('refusal'),
    delta('I ca'),
    delta("n't"),
    end(),
  ]);
  assert.deepEqual(log.slice(1, -1).map(short), [
    'content_part.added',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'content_part.added',
    'refusal.delta',
    'refusal.delta',
    'refusal.done',
    'content_part.done',
  ]);
  assert.deepEqual(log.slice(5, 7), [
    {
      type: 'response.content_part.added',
      output_index: 0,
      item_id: 'msg_1',
      content_index: 1,
      part: { type: 'refusal', refusal: '' },
    },
    { type: 'response.refusal.delta', output_index: 0, item_id: 'msg_1', content_index: 1, delta: 'I ca' },
  ]);
  assert.deepEqual(turn.sampled[0]?.output['content'], [
    { type: 'output_text', text: 'Well, ', annotations: [] },
    { type: 'refusal', refusal: "I can't" },
  ]);
});

test('summaries are counted, and so is raw thought, each in its own list (P62)', () => {
  const { turn, log } = sampled([
    item({ type: 'reasoning' }),
    delta('one'),
    part('summary'),
    delta('two'),
    part('reasoning_text'),
    delta('raw'),
    end(),
  ]);
  const places = log.flatMap((entry) => {
    if ('summary_index' in entry) return [`${short(entry)} ${entry.summary_index}`];
    return 'content_index' in entry ? [`${short(entry)} ${entry.content_index}`] : [];
  });
  const summary = (index: number) =>
    ['part.added', 'text.delta', 'text.done', 'part.done'].map(
      (name) => `reasoning_summary_${name} ${index}`,
    );
  assert.deepEqual(places, [
    ...summary(0),
    ...summary(1),
    'content_part.added 0',
    'reasoning_text.delta 0',
    'reasoning_text.done 0',
    'content_part.done 0',
  ]);
  assert.deepEqual(turn.sampled[0]?.output, {
    type: 'reasoning',
    id: 'rs_1',
    status: 'completed',
    summary: [
      { type: 'summary_text', text: 'one' },
      { type: 'summary_text', text: 'two' },
    ],
    content: [{ type: 'reasoning_text', text: 'raw' }],
  });
  assert.equal(turn.usage.reasoning, 3);
});

test('annotations are counted within their part and stand in it when it is done (P53)', () => {
  const url = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 3 };
  const file = { type: 'file_citation', file_id: 'f', index: 3, filename: 'a.txt' };
  const { turn, log } = sampled([
    item({ type: 'message' }),
    delta('see'),
    annotation(url),
    annotation(file),
    part('text'),
    annotation(file),
    end(),
  ]);
  const told = log.filter((entry) => entry.type === 'response.output_text.annotation.added');
  assert.deepEqual(
    told.map((entry) => [entry.content_index, entry.annotation_index, entry.annotation]),
    [
      [0, 0, url],
      [0, 1, file],
      [1, 0, file],
    ],
  );
  assert.deepEqual(turn.sampled[0]?.output['content'], [
    { type: 'output_text', text: 'see', annotations: [url, file] },
    { type: 'output_text', text: '', annotations: [file] },
  ]);
});

test('what an item has no place for is a fault of the sampler', () => {
  const message = item({ type: 'message' });
  const call = item({ type: 'function_call', name: 'f' });
  for (const events of [
    [message, part('summary')],
    [message, part('refusal'), annotation({})],
    [item({ type: 'reasoning' }), part('text')],
    [item({ type: 'reasoning' }), annotation({})],
    [call, part('text')],
    [call, annotation({})],
    [part('text')],
    [annotation({})],
    [item(opaque({ type: 'compaction' })), part('text')],
  ])
    assert.throws(() => sampled(events), /part|annotation|not open/);
});

test('parts and annotations of a call that was dropped are dropped too', () => {
  const call: SampledStart = { type: 'function_call', name: 'f' };
  const events = [item(call), item(call, 1), part('text', 1), delta('{}', 1)];
  assert.deepEqual(sampled(events, { parallelToolCalls: false }).log.map(short), ['output_item.added']);
});

test('a phase stands in the message from its announcement on, and is absent where none was said (P59)', () => {
  const { log } = sampled([item({ type: 'message', phase: 'commentary' }), delta('x'), end()]);
  for (const entry of log) if ('item' in entry) assert.equal(entry.item['phase'], 'commentary');
  const plain = sampled([item({ type: 'message' }), end()]);
  for (const entry of plain.log) if ('item' in entry) assert.ok(!('phase' in entry.item));
});

test('encrypted content is kept for the transcript, and shown only where it was asked for', () => {
  const events = [item({ type: 'reasoning' }), delta('hm'), end('gAAA')];
  const hidden = sampled(events).turn.sampled[0];
  assert.ok(hidden !== undefined && !('encrypted_content' in hidden.output));
  assert.deepEqual(hidden.item, { ...hidden.output, encrypted_content: 'gAAA' });
  const shown = sampled(events, { encrypted: true });
  assert.equal(shown.turn.sampled[0]?.output['encrypted_content'], 'gAAA');
  assert.ok(!JSON.stringify(shown.log[0]).includes('encrypted'), 'absent, not null, before it is known');
  const none = sampled([item({ type: 'reasoning' }), end()], { encrypted: true }).turn.sampled[0];
  assert.ok(none !== undefined && !('encrypted_content' in none.output));
});

test('what a sampler learns at the end replaces what was counted', () => {
  const { turn } = sampled([
    { type: 'prefill', held: 1, read: 9 },
    item({ type: 'message' }),
    delta('x'),
    { type: 'usage', held: 4, output: 70, reasoning: 60 },
  ]);
  assert.deepEqual(turn.usage, { held: 4, output: 70, reasoning: 60 });
  assert.equal(turn.cut, null);
});

test('a content filter cuts like a token bound does, under its own name (P58)', () => {
  const { turn, log } = sampled([
    item({ type: 'message' }),
    delta('some'),
    { type: 'cut', reason: 'content_filter' },
  ]);
  assert.equal(turn.cut, 'content_filter');
  assert.equal(turn.sampled[0]?.output['status'], 'incomplete');
  assert.equal(log.at(-1)?.type, 'response.output_item.done');
});

test('a hosted call that ran elsewhere is shown as it is, counted as a call, and owed by nobody', () => {
  const search = { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } };
  const found = { type: 'tool_search_call', execution: 'server', call_id: null, arguments: {} };
  const broken = { type: 'mcp_call', status: 'failed', name: 'x', arguments: '{}', error: 'no' };
  const { turn, owed } = sampled([search, found, broken].map((fields, key) => item(opaque(fields), key)));
  assert.deepEqual(owed, []);
  assert.equal(turn.calls, 3);
  assert.deepEqual(
    turn.sampled.map(({ output }) => output),
    [search, found, broken].map((fields, index) => ({ ...fields, id: `item_${index + 1}` })),
  );
});

test('a hosted call that ran elsewhere is no parallel call', () => {
  const search = opaque({ type: 'web_search_call', status: 'completed' });
  const events = [item(search), item(search, 1), item({ type: 'function_call', name: 'f' }, 2)];
  const { turn, owed } = sampled(events, { parallelToolCalls: false });
  assert.equal(turn.calls, 3);
  assert.deepEqual(
    owed.map(({ type }) => type),
    ['function_call'],
  );
});

test('an approval request is owed under its own id', () => {
  const request = { type: 'mcp_approval_request', server_label: 's', name: 'rm', arguments: '{}' };
  const { turn, owed } = sampled([item(opaque(request))]);
  assert.deepEqual(owed, [{ call_id: 'item_1', type: 'mcp_approval_request' }]);
  assert.deepEqual(turn.sampled[0]?.output, { ...request, id: 'item_1' });
});
