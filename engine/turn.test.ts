import { test } from 'node:test';
import assert from 'node:assert/strict';

import * as fc from 'fast-check';

import { VirtualClock } from './clock.js';
import { Engine } from './engine.js';
import type { LogEntry } from './log-entry.js';
import { ProtocolError } from './protocol/errors.js';
import type { SampledStart, Sampler, SamplerEvent } from './samplers/sampler.js';
import type { OwedCall } from './calls.js';
import { checkGrammar } from './testing/grammar.js';
import { eventsOf, unitTokenizer } from './testing/lab.js';
import { Turn, type TurnRules } from './turn.js';

const message: SampledStart = { type: 'message' };
const callOf = (name: string): SampledStart => ({ type: 'function_call', name });

function item(key: number, start: SampledStart): SamplerEvent {
  return { type: 'item', key, start };
}
function delta(key: number, text: string | Uint8Array, tokens = 1): SamplerEvent {
  return { type: 'delta', key, delta: text, tokens };
}
function end(key: number, tokens?: Uint32Array): SamplerEvent {
  return { type: 'item_end', key, tokens };
}

/** A turn fed with those events, what it logged and what it owes. */
function sampled(events: readonly SamplerEvent[], rules: Partial<TurnRules> = {}, firstIndex = 0) {
  const owed: OwedCall[] = [];
  const counts = new Map<string, number>();
  const turn = new Turn(firstIndex, {
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

const typesOf = (log: readonly LogEntry[]): string[] =>
  log.map((entry) => entry.type.replace('response.', ''));
const textOf = (log: readonly LogEntry[], itemId: string): string =>
  log.map((entry) => ('delta' in entry && entry.item_id === itemId ? entry.delta : '')).join('');

test('a message is announced, opened, grown, closed part by part, and carries its tokens on (U1, P51, P52)', () => {
  const tokens = Uint32Array.of(1, 2);
  const { turn, log } = sampled([
    { type: 'prefill', held: 5, read: 7 },
    item(0, message),
    delta(0, 'hel', 2),
    delta(0, 'lo', 1),
    end(0, tokens),
  ]);
  assert.deepEqual(typesOf(log), [
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
  ]);
  const part = { type: 'output_text', text: 'hello', annotations: [] };
  const done = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part] };
  assert.deepEqual(log[0], {
    type: 'response.output_item.added',
    output_index: 0,
    item: { ...done, status: 'in_progress', content: [] },
  });
  assert.deepEqual(log.at(-1), { type: 'response.output_item.done', output_index: 0, item: done });
  assert.deepEqual(turn.sampled, [{ index: 0, output: done, item: done, tokens }]);
  assert.deepEqual(turn.usage, { held: 5, output: 3, reasoning: 0 });
});

test('a call is announced with empty arguments, and grows and closes without content parts (P56, B53)', () => {
  const { log } = sampled([
    item(0, { ...callOf('ls'), namespace: 'sh' } as SampledStart),
    delta(0, '{"a"'),
    delta(0, ':1}'),
    end(0),
  ]);
  assert.deepEqual(typesOf(log), [
    'output_item.added',
    'function_call_arguments.delta',
    'function_call_arguments.delta',
    'function_call_arguments.done',
    'output_item.done',
  ]);
  const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'ls', namespace: 'sh' };
  assert.deepEqual(log[0], {
    type: 'response.output_item.added',
    output_index: 0,
    item: { ...call, arguments: '', status: 'in_progress' },
  });
  assert.deepEqual(log.at(-1), {
    type: 'response.output_item.done',
    output_index: 0,
    item: { ...call, arguments: '{"a":1}', status: 'completed' },
  });
});

test('custom calls and reasoning have events of their own, and reasoning is counted apart', () => {
  const { turn, log } = sampled([
    item(0, { type: 'reasoning' }),
    delta(0, 'hm', 4),
    end(0),
    item(1, { type: 'custom_tool_call', name: 'patch' }),
    delta(1, '***', 2),
    end(1),
  ]);
  assert.deepEqual(typesOf(log), [
    'output_item.added',
    'reasoning_summary_part.added',
    'reasoning_summary_text.delta',
    'reasoning_summary_text.done',
    'reasoning_summary_part.done',
    'output_item.done',
    'output_item.added',
    'custom_tool_call_input.delta',
    'custom_tool_call_input.done',
    'output_item.done',
  ]);
  assert.deepEqual(turn.usage, { held: 0, output: 6, reasoning: 4 });
});

test('the deltas of parallel calls go to their own items, and both are owed (U1, B15)', () => {
  const { log, owed } = sampled([
    item(0, callOf('f')),
    item(1, callOf('g')),
    delta(0, '{"x":'),
    delta(1, '{"y":'),
    delta(0, '1}'),
    delta(1, '2}'),
    end(0),
    end(1),
  ]);
  assert.deepEqual([textOf(log, 'fc_1'), textOf(log, 'fc_2')], ['{"x":1}', '{"y":2}']);
  for (const entry of log)
    if ('item_id' in entry) assert.equal(entry.item_id, `fc_${entry.output_index + 1}`, entry.type);
  const done = log.filter((entry) => entry.type === 'response.function_call_arguments.done');
  assert.deepEqual(
    done.map((entry) => entry.arguments),
    ['{"x":1}', '{"y":2}'],
  );
  assert.deepEqual(
    owed.map((call) => call.call_id),
    ['call_1', 'call_2'],
  );
});

test('items enter in the order of their announcement, whichever of them ends first (S2, P54)', () => {
  const { turn, log } = sampled([
    item(0, callOf('first')),
    item(1, callOf('second')),
    item(2, message),
    delta(0, '{}'),
    delta(1, '{}'),
    end(2),
    end(1),
    end(0),
  ]);
  assert.deepEqual(
    log.flatMap((entry) => (entry.type === 'response.output_item.done' ? [entry.output_index] : [])),
    [2, 1, 0],
  );
  assert.deepEqual(
    turn.sampled.map(({ index, output }) => [index, output['name']]),
    [
      [0, 'first'],
      [1, 'second'],
      [2, undefined],
    ],
  );
});

test('a call is owed when it is announced, before its arguments exist (U2, S1)', () => {
  const { owed, log } = sampled([item(0, callOf('ls')), item(1, { type: 'custom_tool_call', name: 'p' })]);
  assert.equal(log.length, 2);
  assert.deepEqual(owed, [
    { call_id: 'call_1', type: 'function_call', name: 'ls' },
    { call_id: 'call_2', type: 'custom_tool_call', name: 'p' },
  ]);
});

test('an opaque item comes whole, and is owed if it is a call (U2)', () => {
  const { turn, log, owed } = sampled([
    item(0, {
      type: 'opaque',
      item: { type: 'shell_call', id: 'own', call_id: 'own', action: 'ls', opaque: true },
    }),
    item(1, { type: 'opaque', item: { type: 'compaction', encrypted_content: 'x', opaque: true } }),
  ]);
  const shell = { type: 'shell_call', id: 'item_1', call_id: 'call_1', action: 'ls', status: 'completed' };
  assert.deepEqual(typesOf(log), [
    'output_item.added',
    'output_item.done',
    'output_item.added',
    'output_item.done',
  ]);
  assert.deepEqual(log[0], {
    type: 'response.output_item.added',
    output_index: 0,
    item: { ...shell, status: 'in_progress' },
  });
  assert.deepEqual(turn.sampled[0]?.output, shell);
  assert.deepEqual(turn.sampled[0]?.item, { ...shell, opaque: true });
  assert.deepEqual(owed, [{ call_id: 'call_1', type: 'shell_call' }]);
  assert.equal(turn.calls, 1);
});

test('indexes go on from the turn before (B47)', () => {
  const { log, turn } = sampled([item(0, message), end(0), item(1, message), end(1)], {}, 7);
  assert.deepEqual(
    new Set(log.map((entry) => ('output_index' in entry ? entry.output_index : -1))),
    new Set([7, 8]),
  );
  assert.deepEqual(
    turn.sampled.map(({ index }) => index),
    [7, 8],
  );
});

const [half, rest] = [Uint8Array.of(0xf0, 0x9f), Uint8Array.of(0xa6, 0x8a)];

test('bytes that end inside a character wait for the rest (U3, B72)', () => {
  const { log, turn } = sampled([item(0, message), delta(0, half), delta(0, rest), delta(0, ' ok'), end(0)]);
  const deltas = log.flatMap((entry) => (entry.type === 'response.output_text.delta' ? [entry.delta] : []));
  assert.deepEqual(deltas, ['🦊', ' ok']);
  assert.deepEqual(turn.sampled[0]?.output['content'], [
    { type: 'output_text', text: '🦊 ok', annotations: [] },
  ]);
});

for (const [what, events] of [
  ['the end of the item', [delta(0, half), end(0)]],
  ['a text after it', [delta(0, half), delta(0, ''), end(0)]],
] as const)
  test(`a character cut off by ${what} becomes one replacement character (U3, B72)`, () => {
    const { log, turn } = sampled([item(0, message), delta(0, 'x'), ...events]);
    assert.equal(textOf(log, 'msg_1'), 'x\uFFFD');
    assert.deepEqual(turn.sampled[0]?.output['content'], [
      { type: 'output_text', text: 'x\uFFFD', annotations: [] },
    ]);
  });

test('two items that are cut inside a character each keep their own rest (U3)', () => {
  const { log } = sampled([
    item(0, message),
    item(1, message),
    delta(0, half),
    delta(1, 'a'),
    delta(1, half),
    delta(0, rest),
    delta(1, rest),
    end(0),
    end(1),
  ]);
  assert.deepEqual([textOf(log, 'msg_1'), textOf(log, 'msg_2')], ['🦊', 'a🦊']);
});

test('any text, cut into bytes anywhere, comes out whole (U3)', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.nat(), { maxLength: 6 }), (text, cuts) => {
      const bytes = Buffer.from(text.replaceAll('\uFFFD', ''));
      const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
      const pieces = places.slice(1).map((to, index) => delta(0, bytes.subarray(places[index] ?? 0, to)));
      const { log } = sampled([item(0, message), ...pieces, end(0)]);
      assert.equal(textOf(log, 'msg_1'), bytes.toString());
    }),
    { seed: 5, numRuns: 200 },
  );
});

test('a cut closes what is open as incomplete, and what was done stays done (U4, P58)', () => {
  const { turn, log } = sampled([
    item(0, message),
    delta(0, 'done'),
    end(0),
    item(1, callOf('f')),
    delta(1, '{"a'),
    { type: 'cut' },
    delta(1, 'never heard'),
  ]);
  assert.equal(turn.cut, 'max_output_tokens');
  assert.deepEqual(
    turn.sampled.map(({ output }) => output['status']),
    ['completed', 'incomplete'],
  );
  assert.equal(turn.sampled[1]?.output['arguments'], '{"a');
  assert.equal(log.at(-1)?.type, 'response.output_item.done');
  assert.equal(turn.open, false);
});

test('a sampler that passes the bound is cut where it passes it, and not at the bound itself (P58)', () => {
  const atBound = sampled([item(0, message), delta(0, 'abc', 3), end(0)], { outputTokensMax: 3 });
  assert.equal(atBound.turn.cut, null);
  const past = sampled([item(0, message), delta(0, 'abc', 3), delta(0, 'd', 1), end(0)], {
    outputTokensMax: 3,
  });
  assert.equal(past.turn.cut, 'max_output_tokens');
  assert.equal(past.turn.sampled[0]?.output['status'], 'incomplete');
});

test('what is open when the rollout is cancelled or fails closes as incomplete, once (U4, B107)', () => {
  const { turn } = sampled([item(0, message), delta(0, 'half'), item(1, callOf('f'))]);
  assert.equal(turn.open, true);
  const closed = turn.close();
  assert.deepEqual(
    closed.flatMap((entry) => (entry.type === 'response.output_item.done' ? [entry.item['status']] : [])),
    ['incomplete', 'incomplete'],
  );
  assert.deepEqual(turn.close(), []);
  assert.equal(turn.sampled.length, 2);
});

test('without parallel calls the second call is dropped with all that belongs to it, and is not owed', () => {
  const { turn, log, owed } = sampled(
    [
      item(0, callOf('f')),
      item(1, callOf('g')),
      delta(0, '{}'),
      delta(1, '{"dropped":1}', 5),
      end(1),
      end(0),
      item(2, message),
      delta(2, 'x'),
      end(2),
    ],
    { parallelToolCalls: false },
  );
  assert.deepEqual(
    owed.map((call) => call.name),
    ['f'],
  );
  assert.deepEqual([turn.calls, turn.sampled.length, turn.cut], [1, 2, null]);
  assert.ok(!JSON.stringify(log).includes('dropped'));
  assert.deepEqual(
    turn.sampled.map(({ index }) => index),
    [0, 1],
    'the message takes the next index',
  );
  assert.equal(turn.usage.output, 7, 'what was sampled is paid for');
});

test('the call after the last one allowed cuts the turn before it is announced', () => {
  const { turn, log, owed } = sampled(
    [item(0, callOf('f')), delta(0, '{}'), end(0), item(1, callOf('g')), delta(1, '{}')],
    { callsLeft: 1 },
  );
  assert.equal(turn.cut, 'max_tool_calls');
  assert.equal(owed.length, 1);
  assert.ok(!JSON.stringify(log).includes('"g"'));
  const none = sampled([item(0, callOf('f'))], { callsLeft: 0 });
  assert.deepEqual([none.turn.cut, none.log, none.owed], ['max_tool_calls', [], []]);
});

test('a call that tool_choice does not allow is a fault of the model (P57)', () => {
  const shell: SampledStart = { type: 'opaque', item: { type: 'shell_call', opaque: true } };
  const tools = [{ type: 'function', name: 'f' }];
  const refused: [SampledStart, TurnRules['choice']][] = [
    [callOf('f'), 'none'],
    [shell, 'none'],
    [callOf('g'), { type: 'function', name: 'f' }],
    [callOf('g'), { type: 'allowed_tools', mode: 'auto', tools }],
  ];
  for (const [start, choice] of refused)
    assert.throws(
      () => sampled([item(0, start)], { choice }),
      (fault) =>
        fault instanceof ProtocolError &&
        fault.code === 'server_error' &&
        fault.message.includes('tool_choice'),
    );
  assert.equal(sampled([item(0, message), end(0)], { choice: 'none' }).turn.sampled.length, 1);
  assert.equal(sampled([item(0, callOf('f')), end(0)], { choice: 'required' }).turn.calls, 1);
});

test('a sampler that speaks of an item it has not announced, or has ended, is at fault', () => {
  for (const events of [
    [delta(0, 'x')],
    [end(0)],
    [item(0, message), end(0), delta(0, 'x')],
    [item(0, message), end(0), end(0)],
  ])
    assert.throws(() => sampled(events), /item 0, which is not open/);
});

test('an item without content closes empty', () => {
  const { turn } = sampled([item(0, message), end(0), item(1, callOf('f')), end(1)]);
  assert.deepEqual(turn.sampled[0]?.output['content'], [{ type: 'output_text', text: '', annotations: [] }]);
  assert.equal(turn.sampled[1]?.output['arguments'], '');
});

test('a sampler that ends its turn inside an item fails the rollout, and the item closes as incomplete (U4, P55)', async () => {
  const sampler: Sampler = {
    contextTokensMax: 1000,
    open: () => ({
      async *sample() {
        yield item(0, callOf('ls'));
        yield delta(0, '{"a"');
      },
      suspend: () => undefined,
      release: () => undefined,
    }),
  };
  const engine = new Engine({ sampler, clock: new VirtualClock(), tokenizer: unitTokenizer });
  const response = await engine.create({ model: 'm', input: 'hi' });
  assert.equal((await response.settled).outcome.status, 'failed');
  const { output } = response.snapshot();
  assert.deepEqual([output.length, output[0]?.['status']], [1, 'incomplete']);
  checkGrammar(eventsOf(response), { native: true });
});
