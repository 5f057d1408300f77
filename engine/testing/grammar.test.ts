import { test } from 'node:test';
import assert from 'node:assert/strict';

import type { ServerEvent } from '../protocol/server-events.js';
import { checkGrammar } from './grammar.js';
import { call, callIdsOf, eventsOf, Lab, output, say, turn } from './lab.js';
import { windowsOf } from './windows.js';

type Loose = Record<string, unknown>;

/** The native events of a rollout of two turns, and the standard ones of its first turn. */
async function goodStreams(): Promise<{ native: ServerEvent[]; standard: ServerEvent[] }> {
  const lab = new Lab(
    [
      turn(
        { type: 'reasoning', summary: 'let me think' },
        say('I will look'),
        call('ls', '{"path":"/"}'),
        call('id'),
      ),
      turn({ type: 'custom_tool_call', name: 'patch', input: '***' }),
      turn(say('done')),
    ],
    { decodeTokensPerSecond: 1000, deltaTokensMax: 1 },
  );
  const response = await lab.create({ tools: [{ type: 'function', name: 'ls' }] });
  await lab.clock.advance(100);
  const [ls, id] = callIdsOf(response);
  await lab.append(response, output(ls, 'etc'));
  await lab.append(response, output(id, 'root'));
  await lab.clock.advance(100);
  await lab.append(response, {
    type: 'custom_tool_call_output',
    call_id: callIdsOf(response)[2],
    output: 'ok',
  });
  await lab.clock.runToIdle();
  const native = eventsOf(response);
  const [created] = native;
  assert.ok(created?.type === 'response.created');
  const [standard = []] = windowsOf(created.response, response.entries(0));
  return { native, standard };
}

const good = await goodStreams();

test('the streams of the engine keep the grammar, in both shapes', () => {
  checkGrammar(good.native, { native: true });
  checkGrammar(good.standard);
  checkGrammar(
    good.standard.map((event) => ({ ...event, stream_id: 's', obfuscation: 'x' })),
    {},
  );
});

test('events that are not logged stand in a native stream wherever they come', () => {
  const error = { type: 'invalid_request_error', code: 'unknown_call_id', message: 'no', param: null };
  const failed = {
    type: 'response.append.failed',
    sequence_number: 3,
    response_id: 'resp_1',
    input: [],
    error,
  };
  const stream: unknown[] = [...good.native];
  stream.splice(5, 0, failed, { type: 'error', status: 400, sequence_number: 3, error });
  checkGrammar(stream, { native: true });
  assert.throws(() => checkGrammar([...good.standard.slice(0, 4), failed]), /native dialect/);
});

test('an error stands in a standard stream right before response.failed, and nowhere else (P66)', () => {
  const [created, inProgress] = good.standard;
  const body = { type: 'server_error', code: 'server_error', message: 'no', param: null };
  const error = { type: 'error', status: 500, sequence_number: 1, error: body };
  const failed = {
    type: 'response.failed',
    sequence_number: 2,
    response: {
      ...((created as Loose)['response'] as Loose),
      status: 'failed',
      error: { code: 'server_error', message: 'no' },
    },
  };
  checkGrammar([created, inProgress, error, failed]);
  assert.throws(() => checkGrammar([created, error, inProgress, failed]), /P66/);
});

/** The place of the nth event of a type. */
function placeOf(stream: readonly ServerEvent[], type: ServerEvent['type'], nth = 0): number {
  const places = stream.flatMap((event, index) => (event.type === type ? [index] : []));
  return places[nth] ?? assert.fail(`no ${type} number ${nth}`);
}

/** A copy of the standard stream that a change has damaged; numbers are put right again, so that they hide nothing. */
function damaged(change: (stream: Loose[]) => void, from = good.standard): Loose[] {
  const stream: Loose[] = structuredClone(from);
  change(stream);
  return stream.map((event, index) => ({ ...event, sequence_number: index }));
}

const drop =
  (type: ServerEvent['type'], nth = 0) =>
  (stream: Loose[]): void => {
    stream.splice(placeOf(stream as ServerEvent[], type, nth), 1);
  };
const swap =
  (type: ServerEvent['type'], by: number, nth = 0) =>
  (stream: Loose[]): void => {
    const place = placeOf(stream as ServerEvent[], type, nth);
    const [event] = stream.splice(place, 1);
    if (event !== undefined) stream.splice(place + by, 0, event);
  };
const set =
  (type: ServerEvent['type'], fields: Loose, nth = 0) =>
  (stream: Loose[]): void => {
    const place = placeOf(stream as ServerEvent[], type, nth);
    stream[place] = { ...stream[place], ...fields };
  };
const setIn =
  (type: ServerEvent['type'], field: string, fields: Loose, nth = 0) =>
  (stream: Loose[]): void => {
    const place = placeOf(stream as ServerEvent[], type, nth);
    stream[place] = { ...stream[place], [field]: { ...(stream[place]?.[field] as Loose), ...fields } };
  };

/** The Response that an event shows. */
function shownBy(event: Loose | undefined): Loose {
  const response = event?.['response'];
  assert.ok(typeof response === 'object' && response !== null);
  return response as Loose;
}

const faults: readonly (readonly [string, (stream: Loose[]) => void, RegExp])[] = [
  ['does not begin with response.created', drop('response.created'), /P49/],
  ['has a second response.created', (stream) => stream.splice(2, 0, stream[0] ?? {}), /P49/],
  ['goes on without response.in_progress', drop('response.in_progress'), /in_progress/],
  ['has no terminal event', drop('response.completed'), /P49/],
  ['goes on after its terminal event', (stream) => stream.push(stream[1] ?? {}), /P49/],
  ['has two terminal events', (stream) => stream.push(stream.at(-1) ?? {}), /P49/],
  ['changes the id of its response', setIn('response.completed', 'response', { id: 'other' }), /P49/],
  ['does not announce an item', drop('response.output_item.added', 1), /P51/],
  ['does not close an item', drop('response.output_item.done', 1), /P5[14]/],
  ['leaves an index out', set('response.output_item.added', { output_index: 7 }, 1), /P51/],
  [
    'gives a delta the index of another item',
    set('response.output_text.delta', { output_index: 0 }),
    /P51|another kind/,
  ],
  ['gives a delta the id of another item', set('response.output_text.delta', { item_id: 'msg_9' }), /P51/],
  [
    'says something of an item after its end',
    (stream) => {
      const said = stream[placeOf(stream as ServerEvent[], 'response.output_text.delta')];
      stream.splice(-1, 0, said ?? {});
    },
    /P51/,
  ],
  ['has text before its part', swap('response.content_part.added', 1), /P52/],
  ['has text after what it adds up to', swap('response.output_text.done', -1), /P5[23]/],
  ['does not close a part', drop('response.content_part.done'), /P52/],
  [
    'says the whole text twice',
    (stream) => {
      const place = placeOf(stream as ServerEvent[], 'response.output_text.done');
      stream.splice(place, 0, stream[place] ?? {});
    },
    /P52/,
  ],
  ['loses a delta of a text', drop('response.output_text.delta', 1), /P53/],
  ['loses a delta of arguments', drop('response.function_call_arguments.delta', 1), /P53/],
  ['loses a delta of reasoning', drop('response.reasoning_summary_text.delta'), /P53/],
  ['never says whole arguments', drop('response.function_call_arguments.done'), /P52/],
  [
    'closes an item that says something else',
    setIn('response.output_item.done', 'item', { arguments: '{"path":"/x"}' }, 2),
    /P53/,
  ],
  ['closes an item under another id', setIn('response.output_item.done', 'item', { id: 'fc_9' }, 2), /B43/],
  [
    'closes a call under another call_id',
    setIn('response.output_item.done', 'item', { call_id: 'call_9' }, 2),
    /B43/,
  ],
  [
    'closes an item that is still in progress',
    setIn('response.output_item.done', 'item', { status: 'in_progress' }, 1),
    /P51/,
  ],
  [
    'announces an item that has said something',
    setIn('response.output_item.added', 'item', { arguments: '{' }, 2),
    /P53/,
  ],
  ['uses an id twice', setIn('response.output_item.added', 'item', { id: 'fc_1' }, 3), /P56/],
  [
    'has one id for an item and its call',
    setIn('response.output_item.added', 'item', { call_id: 'fc_1' }, 2),
    /P56/,
  ],
  [
    'leaves an item out of the terminal event',
    (stream) => {
      const last = shownBy(stream.at(-1));
      last['output'] = (last['output'] as unknown[]).slice(1);
    },
    /P54/,
  ],
  [
    'shows items in another order in the terminal event',
    (stream) => {
      const last = shownBy(stream.at(-1));
      last['output'] = (last['output'] as unknown[]).toReversed();
    },
    /P54/,
  ],
  [
    'completes with an item that is incomplete',
    (stream) => {
      setIn('response.output_item.done', 'item', { status: 'incomplete' }, 3)(stream);
      const items = shownBy(stream.at(-1))['output'] as Loose[];
      items[3] = { ...items[3], status: 'incomplete' };
    },
    /P55/,
  ],
  [
    'begins an item after one that was cut',
    setIn('response.output_item.done', 'item', { status: 'incomplete' }, 1),
    /P58/,
  ],
  [
    'calls although tool_choice is none',
    setIn('response.created', 'response', { tool_choice: 'none' }),
    /P57/,
  ],
  [
    'calls what allowed_tools does not name',
    setIn('response.created', 'response', {
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'ls' }] },
    }),
    /P57/,
  ],
  [
    'lacks a field of the Response',
    (stream) => {
      delete shownBy(stream[0])['top_p'];
    },
    /P59/,
  ],
  [
    'echoes a tool without strict',
    (stream) => {
      delete (shownBy(stream[0])['tools'] as Loose[])[0]?.['strict'];
    },
    /P59/,
  ],
  [
    'has a text delta without logprobs',
    (stream) => {
      delete stream[placeOf(stream as ServerEvent[], 'response.output_text.delta')]?.['logprobs'];
    },
    /P59/,
  ],
  [
    'has an event of a kind that no client knows',
    (stream) => stream.splice(3, 0, { type: 'keepalive' }),
    /P59/,
  ],
  [
    'says completed in an event of another type',
    set('response.completed', { type: 'response.incomplete' }),
    /type of the terminal/,
  ],
  [
    'fails without an error',
    (stream) => {
      setIn('response.completed', 'response', { status: 'failed' })(stream);
      set('response.completed', { type: 'response.failed' })(stream);
    },
    /error/,
  ],
  [
    'adds its usage up wrong',
    (stream) => {
      const usage = shownBy(stream.at(-1))['usage'] as Loose;
      usage['total_tokens'] = 1;
    },
    /.*/,
  ],
];

for (const [what, change, names] of faults)
  test(`a stream that ${what} is rejected`, () => {
    assert.throws(
      () => checkGrammar(damaged(change)),
      (fault) => {
        assert.ok(fault instanceof assert.AssertionError, String(fault));
        assert.match(fault.message, names);
        return true;
      },
    );
  });

test('numbers that skip, repeat or begin above 0 are rejected (P50)', () => {
  const renumbered = (number: (index: number) => number): unknown[] =>
    good.standard.map((event, index) => ({ ...event, sequence_number: number(index) }));
  for (const number of [
    (index: number) => index + 1,
    (index: number) => (index < 4 ? index : index + 1),
    () => 0,
  ])
    assert.throws(() => checkGrammar(renumbered(number)), /P50/);
  assert.throws(() => checkGrammar(renumbered((index) => index - 1)), /P59/);
});

test('a demand that no call has met is rejected, a demand that a continuation inherits is not (P57)', async () => {
  const lab = new Lab([turn(say('no call'))]);
  const events = eventsOf(await lab.create());
  checkGrammar(events, { native: true });
  for (const tool_choice of [
    'required',
    { type: 'function', name: 'f' },
    { type: 'allowed_tools', mode: 'required', tools: [] },
  ]) {
    const demanding = damaged(setIn('response.created', 'response', { tool_choice }), events);
    assert.throws(() => checkGrammar(demanding, { native: true }), /P57/);
    setIn('response.created', 'response', { previous_response_id: 'resp_0' })(demanding);
    checkGrammar(demanding, { native: true });
  }
});

const nativeFaults: readonly (readonly [string, (stream: Loose[]) => void, RegExp])[] = [
  ['does not say that an append was taken', drop('response.append.accepted', 1), /S2/],
  [
    'asks for a call that has been answered',
    (stream) => {
      const done = stream[placeOf(stream as ServerEvent[], 'response.done')];
      set('response.append.accepted', { required_input: done?.['required_input'] })(stream);
    },
    /required_input/,
  ],
  [
    'hands a turn off without asking for its calls',
    set('response.done', { required_input: [] }),
    /required_input/,
  ],
  ['hands a turn off in the middle of an item', swap('response.done', -1), /P51/],
  ['shows a hand-off without its items', set('response.done', { output: [] }), /P54/],
  ['counts its turns wrong', set('response.done', { turn: 5 }, 1), /turns/],
  ['begins with turn two', set('response.done', { turn: 2 }), /first hand-off/],
  ['names another response', set('response.done', { response_id: 'resp_2' }), /names its response/],
];

for (const [what, change, names] of nativeFaults)
  test(`a native stream that ${what} is rejected`, () => {
    assert.throws(() => checkGrammar(damaged(change, good.native), { native: true }), names);
  });

test('arguments that are no JSON are rejected in a completed call, and pass in one that was cut (P56)', async () => {
  const stream = async (settings: Loose): Promise<ServerEvent[]> => {
    const lab = new Lab([turn(call('ls', '{"path":'))]);
    const response = await lab.create(settings);
    response.cancel();
    await lab.settle();
    return eventsOf(response);
  };
  const whole = await stream({});
  assert.throws(() => checkGrammar(whole, { native: true }), /P56/);
  checkGrammar(await stream({ max_output_tokens: 1 }), { native: true });
});
