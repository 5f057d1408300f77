/** The event stream of one Response: shape, order, numbers, ids. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { serverEventSchema, type ServerEvent } from '../protocol/server-events.js';
import type { LiveResponse } from '../live-response.js';
import type { ScriptItem, ScriptTurn } from '../samplers/scripted.js';
import {
  call,
  callIdsOf,
  customCall,
  eventsOf,
  eventsOfType,
  Lab,
  message,
  output,
  say,
  turn,
  typesOf,
} from '../testing/lab.js';

const think: ScriptItem = { type: 'reasoning', summary: 'let me think' };
const threeSteps: ScriptTurn[] = [
  turn(think, say('looking'), call('ls', '{"path":"/"}')),
  turn(call('a', '{"a":1}'), call('b', '{"b":2}')),
  turn(customCall('patch', '*** Begin')),
  turn(say('all done')),
];

/** A rollout of three tool steps, with everything answered. */
async function threeStepRollout(lab = new Lab(threeSteps, { deltaTokensMax: 1 })): Promise<LiveResponse> {
  const response = await lab.create();
  while (response.suspended)
    await lab.append(
      response,
      ...response.requiredInput.map(({ type, call_id }) => ({ type, call_id, output: 'x' })),
      message('go on'),
    );
  return response;
}

/** Runs that end in every way there is. */
async function rolloutsOfAllKinds(): Promise<LiveResponse[]> {
  const failing = { items: [say('some words')], failAfterTokens: { tokens: 1, fault: new Error('x') } };
  const failed = await new Lab([failing]).create();
  const incomplete = await new Lab([turn(think, say('some words'))]).create({ max_output_tokens: 4 });
  const cancelLab = new Lab(threeSteps);
  const cancelled = await cancelLab.create({ tools: [{ type: 'function', name: 'ls' }] });
  await cancelLab.append(cancelled, message('hurry'));
  cancelled.cancel();
  await cancelLab.settle();
  return [await threeStepRollout(), failed, incomplete, cancelled];
}

test('every event passes the schema of a strict client, however the Response ends (B48)', async () => {
  const terminals: string[] = [];
  for (const response of await rolloutsOfAllKinds()) {
    const events = eventsOf(response);
    for (const event of events) {
      const parsed = serverEventSchema.safeParse(JSON.parse(JSON.stringify(event)));
      assert.ok(parsed.success, `${event.type}: ${parsed.error?.message}`);
    }
    terminals.push(events.at(-1)?.type ?? '');
  }
  assert.deepEqual(terminals, [
    'response.completed',
    'response.failed',
    'response.incomplete',
    'response.incomplete',
  ]);
});

test('numbers rise by one from 0 over every suspension and append (B55)', async () => {
  for (const response of await rolloutsOfAllKinds())
    assert.deepEqual(
      eventsOf(response).map((event) => event.sequence_number),
      Array.from({ length: response.lastNumber + 1 }, (_, number) => number),
    );
});

test('response.created comes first and once, and the terminal event last and once (B46)', async () => {
  for (const response of await rolloutsOfAllKinds()) {
    const types = typesOf(response);
    assert.equal(types.indexOf('response.created'), 0);
    assert.equal(types.lastIndexOf('response.created'), 0);
    const terminals = types.filter((type) => /^response\.(completed|failed|incomplete)$/.test(type));
    assert.deepEqual(terminals, types.slice(-1));
  }
});

/** The events of each item, by its id. */
function byItem(events: readonly ServerEvent[]): Map<string, string[]> {
  const items = new Map<string, string[]>();
  for (const event of events) {
    const { item, item_id } = event as { item?: { id: string }; item_id?: string };
    const id = item?.id ?? item_id;
    if (id !== undefined) items.set(id, [...(items.get(id) ?? []), event.type.replace('response.', '')]);
  }
  return items;
}

/** One `delta` however many there were. */
const joined = (types: readonly string[]) =>
  types.filter((type, index) => !type.endsWith('delta') || types[index - 1] !== type);

test('an item is added, grows part by part and is done, in that order (B46, B53)', async () => {
  const response = await threeStepRollout();
  const kinds = [...byItem(eventsOf(response))].map(([id, types]) => [id, joined(types)]);
  const args = ['function_call_arguments.delta', 'function_call_arguments.done'];
  const item = (...inner: string[]) => ['output_item.added', ...inner, 'output_item.done'];
  const text = item('content_part.added', 'output_text.delta', 'output_text.done', 'content_part.done');
  const summary = ['part.added', 'text.delta', 'text.done', 'part.done'].map(
    (name) => `reasoning_summary_${name}`,
  );
  assert.deepEqual(kinds, [
    ['rs_1', item(...summary)],
    ['msg_1', text],
    ['fc_1', item(...args)],
    ['fc_2', item(...args)],
    ['fc_3', item(...args)],
    ['ctc_1', item('custom_tool_call_input.delta', 'custom_tool_call_input.done')],
    ['msg_2', text],
  ]);
});

test('all of a call is told before the Response waits for its answer, as a finished item (B53)', async () => {
  const lab = new Lab([turn(call('ls', '{"path":"/"}'))]);
  const response = await lab.create();
  assert.deepEqual(typesOf(response).slice(-3), [
    'response.function_call_arguments.done',
    'response.output_item.done',
    'response.done',
  ]);
  const done = eventsOfType(response, 'response.output_item.done')[0]?.item;
  assert.deepEqual(done, {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'call_1',
    name: 'ls',
    arguments: '{"path":"/"}',
    status: 'completed',
  });
  assert.deepEqual(eventsOfType(response, 'response.done')[0]?.output, [done]);
});

test('ids and contents are the same wherever an item is told of (B43)', async () => {
  const response = await threeStepRollout();
  const events = eventsOf(response);
  const added = eventsOfType(response, 'response.output_item.added').map(({ item }) => item);
  const done = eventsOfType(response, 'response.output_item.done').map(({ item }) => item);
  const last = events.at(-1);
  assert.ok(last?.type === 'response.completed');
  assert.deepEqual(last.response.output, done);
  assert.deepEqual(response.snapshot(), last.response);
  const names = (items: readonly Record<string, unknown>[]) =>
    items.map(({ id, type, call_id, name }) => [id, type, call_id, name]);
  assert.deepEqual(names(added), names(done));
  for (const item of done) {
    const deltas = events.flatMap((event) => {
      const { item_id, delta } = event as { item_id?: string; delta?: string };
      return item_id === item.id && delta !== undefined ? [delta] : [];
    });
    const parts = (item['content'] ?? item['summary'] ?? []) as { text: string }[];
    assert.ok(deltas.length > 1);
    assert.equal(deltas.join(''), parts[0]?.text ?? item['arguments'] ?? item['input']);
  }
});

test('every event of an item says its place, and no place is used twice in a rollout (B47)', async () => {
  const response = await threeStepRollout();
  const places = new Map<unknown, string>();
  for (const event of eventsOf(response)) {
    const { item, item_id, output_index } = event as {
      item?: { id: string };
      item_id?: string;
      output_index?: number;
    };
    const id = item?.id ?? item_id;
    if (id === undefined) continue;
    assert.equal(places.get(output_index) ?? id, id);
    places.set(output_index, id);
    if (/output_text|content_part/.test(event.type)) assert.equal(event['content_index'], 0);
    if (/summary/.test(event.type)) assert.equal(event['summary_index'], 0);
  }
  assert.deepEqual([...places.keys()], [0, 1, 2, 3, 4, 5, 6]);
});

test('parallel calls whose arguments come mixed stay apart (B15)', async () => {
  const mixed = { items: [call('a', '{"x":1}'), call('b', '{"y":2}')], interleave: true };
  const lab = new Lab([mixed, turn(say('done'))], { deltaTokensMax: 1 });
  const response = await lab.create();
  const deltas = eventsOfType(response, 'response.function_call_arguments.delta');
  assert.deepEqual(
    deltas.map(({ output_index, item_id, delta }) => [output_index, item_id, delta]),
    [
      [0, 'fc_1', '{"x'],
      [1, 'fc_2', '{"y'],
      [0, 'fc_1', '":1}'],
      [1, 'fc_2', '":2}'],
    ],
  );
  assert.deepEqual(
    eventsOfType(response, 'response.function_call_arguments.done').map((event) => event.arguments),
    ['{"x":1}', '{"y":2}'],
  );
  assert.deepEqual(
    response.requiredInput.map((stub) => stub.call_id),
    callIdsOf(response),
  );
  await lab.append(response, output('call_1', '1'), output('call_2', '2'));
  assert.equal((await response.settled).outcome.status, 'completed');
});

test('mixed calls of which the second ends first are still owed, listed and answered in call order (B15, B11)', async () => {
  const mixed = { items: [call('a', '{"x":"a long one"}'), call('b', '{}')], interleave: true };
  const lab = new Lab([mixed, turn(say('done'))], { deltaTokensMax: 1 });
  const response = await lab.create();
  assert.deepEqual(
    eventsOfType(response, 'response.done')[0]?.output.map((item) => item['name']),
    ['a', 'b'],
  );
  assert.deepEqual(
    response.snapshot().output.map((item) => item['name']),
    ['a', 'b'],
  );
  await lab.append(response, output('call_2', '2'), output('call_1', '1'));
  assert.deepEqual(lab.prompt.slice(1), [
    'assistant to=a: {"x":"a long one"}',
    'assistant to=b: {}',
    'tool: 1',
    'tool: 2',
  ]);
});

const bytes = (...values: number[]) => Uint8Array.from(values);

for (const [what, pieces, text] of [
  ['in two', [bytes(0xf0, 0x9f), bytes(0xa6, 0x8a), bytes(0x20, 0x6f, 0x6b)], '🦊 ok'],
  ['byte by byte', [0xf0, 0x9f, 0xa6, 0x8a].map((value) => bytes(value)), '🦊'],
  ['and never completed', [bytes(0x61), bytes(0xf0, 0x9f)], 'a\ufffd'],
] as const)
  test(`a character that comes ${what} is told once it is whole (B72)`, async () => {
    const lab = new Lab([turn({ type: 'message', text: pieces })]);
    const response = await lab.create();
    const deltas = eventsOfType(response, 'response.output_text.delta').map(({ delta }) => delta);
    assert.equal(deltas.join(''), text);
    assert.equal(deltas.includes(''), false);
    assert.equal(eventsOfType(response, 'response.output_text.done')[0]?.text, text);
    assert.equal((await response.settled).outcome.status, 'completed');
    assert.equal(response.kept.transcript.at(1).tokens.length, '<assistant<>'.length + text.length);
  });
