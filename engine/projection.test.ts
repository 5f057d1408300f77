import { test } from 'node:test';
import assert from 'node:assert/strict';

import type { LiveResponse } from './live-response.js';
import type { LogEntry } from './log-entry.js';
import { nativeEvent, VirtualResponse } from './projection.js';
import type { ResponseObject, ServerEvent } from './protocol/server-events.js';
import { createdObject } from './response-object.js';
import { checkGrammar } from './testing/grammar.js';
import { call, callIdsOf, eventsOf, Lab, message, output, say, turn, typesOf } from './testing/lab.js';
import { windowsOf } from './testing/windows.js';

/** The log of a Response as one response per turn. */
function virtualOf(response: LiveResponse): ServerEvent[][] {
  const [first] = eventsOf(response);
  assert.ok(first?.type === 'response.created');
  return windowsOf(first.response, response.entries(0));
}

function shown(event: ServerEvent | undefined): ResponseObject {
  assert.ok(event !== undefined && 'response' in event, `${event?.type} shows no response`);
  return event.response as ResponseObject;
}

const shownCreated = createdObject('resp_1', { model: 'm', input: [] }, 1);

const withoutNumbers = (events: readonly ServerEvent[]): unknown[] =>
  events.map((event) => ({ ...event, sequence_number: undefined }));

test('one rollout of three turns is one native Response and three virtual ones, with one pre and one post run', async () => {
  const lab = new Lab([
    turn(say('let me look'), call('ls', '{"path":"/"}'), call('cat', '{"path":"/etc/hosts"}')),
    turn({ type: 'reasoning', summary: 'hm' }, { type: 'custom_tool_call', name: 'patch', input: '***' }),
    turn(say('all done')),
  ]);
  const response = await lab.create({ input: 'fix it', metadata: { k: 'v' } });
  const [ls, cat] = callIdsOf(response);
  await lab.append(response, output(cat, 'localhost'));
  await lab.append(response, output(ls, 'etc'));
  const patch = callIdsOf(response)[2];
  await lab.append(response, { type: 'custom_tool_call_output', call_id: patch, output: 'ok' });
  const { outcome, turns, stage_runs } = await response.settled;
  assert.deepEqual([outcome.status, turns], ['completed', 3]);

  const native = eventsOf(response);
  checkGrammar(native, { native: true });
  assert.throws(() => checkGrammar(native), /native dialect/);
  const virtual = virtualOf(response);
  assert.equal(virtual.length, 3);
  for (const stream of virtual) checkGrammar(stream);

  // Whatever the shape, what was said is the same, and so is what was done around it.
  const terminals = virtual.map((stream) => shown(stream.at(-1)));
  assert.deepEqual(
    terminals.flatMap((terminal) => terminal.output),
    shown(native.at(-1)).output,
  );
  const isContent = (event: ServerEvent): boolean => 'output_index' in event;
  const bases = [0, 3, 5];
  assert.deepEqual(
    virtual.flatMap((stream, index) =>
      withoutNumbers(stream.filter(isContent)).map((event) => {
        const { output_index, ...rest } = event as { output_index: number };
        return { ...rest, output_index: output_index + (bases[index] ?? 0) };
      }),
    ),
    withoutNumbers(native.filter(isContent)),
  );
  assert.deepEqual(
    terminals.map(({ id, previous_response_id, status }) => [id, previous_response_id, status]),
    [
      [response.id, null, 'completed'],
      ['virtual_2', response.id, 'completed'],
      ['virtual_3', 'virtual_2', 'completed'],
    ],
  );
  const runs = (stage: string): number | undefined => stage_runs[stage]?.runs;
  for (const stage of ['pre.validate', 'pre.admit', 'pre.resolve', 'pre.classify', 'pre.render'])
    assert.equal(runs(stage), 1, stage);
  for (const stage of ['post.classify', 'post.store', 'post.bill']) assert.equal(runs(stage), 1, stage);
  assert.equal(runs('append.validate'), 3);

  // The bill is the uncached input and the output, however it is shown (B113).
  const bill = (usages: readonly ResponseObject['usage'][]): number =>
    usages.reduce(
      (sum, usage) =>
        sum +
        (usage?.input_tokens ?? 0) -
        (usage?.input_tokens_details.cached_tokens ?? 0) +
        (usage?.output_tokens ?? 0),
      0,
    );
  assert.equal(bill(terminals.map(({ usage }) => usage)), bill([shown(native.at(-1)).usage]));
  assert.ok(bill([shown(native.at(-1)).usage]) > 0);
});

test('the native events are one for each entry, under the number it has in the log (J2, B55)', async () => {
  const lab = new Lab([turn(call('a')), turn(say('x'))]);
  const response = await lab.create();
  await lab.append(response, output(callIdsOf(response)[0], '1'));
  const entries = response.entries(0);
  const events = eventsOf(response);
  assert.deepEqual(
    events.map((event) => event.sequence_number),
    entries.map((_, index) => index),
  );
  const types = entries.map((entry) =>
    entry.type === 'response.settled' ? 'response.completed' : entry.type,
  );
  assert.deepEqual(
    events.map((event) => event.type),
    types,
  );
});

test('the same entries give the same events, whoever reads and however often (J1)', async () => {
  const lab = new Lab([turn(call('a')), turn(say('x'))]);
  const response = await lab.create();
  await lab.append(response, output(callIdsOf(response)[0], '1'));
  const before = JSON.stringify(response.entries(0));
  assert.deepEqual(eventsOf(response), eventsOf(response));
  assert.deepEqual(virtualOf(response), virtualOf(response));
  assert.equal(JSON.stringify(response.entries(0)), before);
});

test('a cancelled rollout is shown as incomplete with the status cancelled, a failed one as failed (decision 5)', () => {
  const terminalOf = (outcome: Extract<LogEntry, { type: 'response.settled' }>['outcome']): unknown => {
    const usage = { held: 0, read: 0, output: 0, reasoning: 0 };
    const window = new VirtualResponse(shownCreated, { outputItems: 0, unixSeconds: () => 1 });
    const event = window.project({ type: 'response.settled', outcome, usage }) ?? undefined;
    const { status, error, incomplete_details } = shown(event);
    return [event?.type, status, error, incomplete_details];
  };
  assert.deepEqual(terminalOf({ status: 'cancelled', reason: 'cancelled' }), [
    'response.incomplete',
    'cancelled',
    null,
    { reason: 'cancelled' },
  ]);
  assert.deepEqual(terminalOf({ status: 'incomplete', reason: 'rollout_expired' }), [
    'response.incomplete',
    'incomplete',
    null,
    { reason: 'rollout_expired' },
  ]);
  assert.deepEqual(terminalOf({ status: 'failed', code: 'server_error', message: 'no' }), [
    'response.failed',
    'failed',
    { code: 'server_error', message: 'no' },
    null,
  ]);
});

test('a rollout that ends while it is suspended ends no further virtual response (J3)', async () => {
  const lab = new Lab([turn(call('a'), call('b')), turn(say('x'))]);
  const response = await lab.create();
  await lab.append(response, output(callIdsOf(response)[0], '1'));
  response.cancel();
  await lab.settle();
  const native = eventsOf(response);
  checkGrammar(native, { native: true });
  assert.deepEqual(
    shown(native.at(-1)).output.map((item) => item['status']),
    ['completed', 'incomplete'],
    'the call that was answered is done, the other one is not (B107)',
  );
  const virtual = virtualOf(response);
  assert.deepEqual([virtual.length, shown(virtual[0]?.at(-1)).status], [1, 'completed']);
  virtual.forEach((stream) => checkGrammar(stream));
});

test('a turn whose calls were answered while it was sampled hands nothing off: its response goes on (J3)', async () => {
  const lab = new Lab([turn(call('a', '{"long":"argument"}')), turn(say('done'))], {
    decodeTokensPerSecond: 1000,
    tickMs: 0,
  });
  const response = await lab.create();
  await lab.append(response, output(callIdsOf(response)[0], 'early'));
  await lab.clock.runToIdle();
  checkGrammar(eventsOf(response), { native: true });
  const virtual = virtualOf(response);
  assert.equal(virtual.length, 1);
  for (const stream of virtual) checkGrammar(stream);
});

test('what is answered in the very step in which a turn ends is not asked for again (S1)', async () => {
  // Nothing takes time here, so the answer meets the end of the turn at each step of the microtasks between the two.
  const orders = new Set<string>();
  for (let ticks = 0; ticks < 120; ticks++) {
    const lab = new Lab([turn(call('a'), say('and more')), turn(say('done'))]);
    const response = await lab.engine.create({ model: 'scripted', input: 'hi' });
    while (callIdsOf(response).length === 0) await Promise.resolve();
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
    await response.append([output(callIdsOf(response)[0], 'quick')]);
    await lab.settle();
    assert.equal(response.settlement?.outcome.status, 'completed');
    checkGrammar(eventsOf(response), { native: true });
    for (const stream of virtualOf(response)) checkGrammar(stream);
    const done = eventsOf(response).find((event) => event.type === 'response.done');
    const accepted = eventsOf(response).find((event) => event.type === 'response.append.accepted');
    const early = (accepted?.sequence_number ?? 0) < (done?.sequence_number ?? 0);
    orders.add(early ? 'before' : 'after');
  }
  assert.deepEqual([...orders], ['before', 'after']);
});

test('a message after a final answer begins the next response at once (J3)', async () => {
  const lab = new Lab([turn(say('a final answer')), turn(say('one more'))], { decodeTokensPerSecond: 1000 });
  const response = await lab.create();
  await lab.append(response, message('and also'));
  await lab.clock.runToIdle();
  checkGrammar(eventsOf(response), { native: true });
  const virtual = virtualOf(response);
  assert.equal(virtual.length, 2);
  for (const stream of virtual) checkGrammar(stream);
});

test('a warm-up is a response without output, and the message that ends its wait begins the next one (P24, J3)', async () => {
  const lab = new Lab([turn(say('hello'))]);
  const response = await lab.create({ generate: false, input: [] });
  assert.deepEqual(typesOf(response).at(-1), 'response.done');
  await lab.append(response, message('go'));
  checkGrammar(eventsOf(response), { native: true });
  const virtual = virtualOf(response);
  assert.equal(virtual.length, 2);
  for (const stream of virtual) checkGrammar(stream);
  assert.deepEqual(
    virtual.map((stream) => shown(stream.at(-1)).output.length),
    [0, 1],
  );
});

test('items that end out of order stand in the order of their index in every snapshot (P54)', async () => {
  const lab = new Lab([
    { items: [call('long', '{"a":"aaaaaaaaaaaa"}'), call('short', '{}')], interleave: true },
    turn(say('x')),
  ]);
  const response = await lab.create();
  const names = (items: readonly Record<string, unknown>[]): unknown[] => items.map((item) => item['name']);
  assert.deepEqual(names(response.snapshot().output), ['long', 'short']);
  const done = eventsOf(response).find((event) => event.type === 'response.done');
  assert.deepEqual(names(done?.type === 'response.done' ? done.output : []), ['long', 'short']);
  const [long, short] = callIdsOf(response);
  await lab.append(response, output(short, 'S'), output(long, 'L'));
  assert.deepEqual(lab.prompt.slice(1), [
    'assistant to=long: {"a":"aaaaaaaaaaaa"}',
    'assistant to=short: {}',
    'tool: L',
    'tool: S',
  ]);
  checkGrammar(eventsOf(response), { native: true });
  for (const stream of virtualOf(response)) checkGrammar(stream);
});

test('a snapshot in the middle of interleaved items shows those that are done, and no holes', async () => {
  const lab = new Lab(
    [
      { items: [call('long', '{"a":"aaaaaaaaaaaa"}'), call('short', '{}')], interleave: true },
      turn(say('x')),
    ],
    { decodeTokensPerSecond: 1000, tickMs: 0 },
  );
  const response = await lab.create();
  await lab.clock.advance(2);
  assert.deepEqual(
    response.snapshot().output.map((item) => item['name']),
    ['short'],
  );
  await lab.clock.advance(10);
  response.cancel();
  await lab.settle();
});

test('a repeated in_progress reaches whoever has an open response, and nobody else (P15, J3)', async () => {
  const lab = new Lab([turn(call('a')), turn(say('slow'))], { firstTokenMs: 100_000 });
  const response = await lab.create();
  const reader = response.events();
  const seen: ServerEvent[] = [];
  const reading = (async () => {
    for await (const event of reader) seen.push(event);
  })();
  await lab.clock.advance(100_000);
  await lab.clock.advance(100_000);
  await lab.append(response, output(callIdsOf(response)[0], '1'));
  await lab.clock.runUntil(reading);
  const [one, two] = virtualOf(response);
  const beats = (stream: readonly ServerEvent[] | undefined): number =>
    stream?.filter((event) => event.type === 'response.in_progress').length ?? 0;
  assert.equal(seen.filter((event) => event.type === 'response.in_progress').length, 10);
  assert.deepEqual([beats(one), beats(two)], [4, 4]);
  checkGrammar(seen, { native: true });
});

test('an event of the native projection names its response wherever the dialect is its own', () => {
  const usage = { held: 1, read: 2, output: 3, reasoning: 1 };
  const view = { id: 'resp_1', created: () => shownCreated, snapshot: () => shownCreated };
  const done = nativeEvent(
    { type: 'response.done', turn: 1, output: [], required_input: [], usage },
    9,
    view,
  );
  assert.deepEqual(done, {
    type: 'response.done',
    sequence_number: 9,
    response_id: 'resp_1',
    turn: 1,
    output: [],
    required_input: [],
    usage: {
      input_tokens: 3,
      input_tokens_details: { cached_tokens: 1 },
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: 6,
    },
  });
});
