/** Streams with parts of every kind: the good one passes, and each way to break it is found. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import type { ServerEvent } from '../protocol/server-events.js';
import type { ScriptItem } from '../samplers/scripted.js';
import { checkGrammar } from './grammar.js';
import { eventsOf, Lab, turn } from './lab.js';
import { windowsOf } from './windows.js';

type Loose = Record<string, unknown>;

const items: readonly ScriptItem[] = [
  {
    type: 'reasoning',
    parts: [
      { part: 'summary', text: 'first this' },
      { part: 'summary', text: 'then that' },
      { part: 'reasoning_text', text: 'in the raw' },
    ],
  },
  {
    type: 'message',
    phase: 'final_answer',
    parts: [
      {
        part: 'text',
        text: 'see there',
        annotations: [{ type: 'file_citation', index: 1 }, { type: 'file_path' }],
      },
      { part: 'refusal', text: 'and no more' },
    ],
  },
  { type: 'opaque', item: { type: 'web_search_call', status: 'completed', opaque: true } },
  { type: 'opaque', item: { type: 'mcp_approval_request', name: 'rm', arguments: '{}', opaque: true } },
];

/** The events of one turn that completes its Response, one token each. */
async function goodStream(): Promise<ServerEvent[]> {
  const lab = new Lab([turn(...items)], { deltaTokensMax: 1 });
  const response = await lab.create();
  const [created] = eventsOf(response);
  assert.ok(created?.type === 'response.created');
  const [window = []] = windowsOf(created.response, response.entries(0));
  return window;
}

const good = await goodStream();

test('a stream with parts of every kind keeps the grammar (P51 to P54, P61, P62)', () => {
  checkGrammar(good);
  const types = new Set(good.map(({ type }) => type));
  for (const type of [
    'response.output_text.annotation.added',
    'response.refusal.done',
    'response.reasoning_text.done',
    'response.reasoning_summary_part.done',
  ] as const)
    assert.ok(types.has(type), type);
});

function placeOf(stream: readonly Loose[], type: ServerEvent['type'], nth = 0): number {
  const places = stream.flatMap((event, index) => (event['type'] === type ? [index] : []));
  return places[nth] ?? assert.fail(`no ${type} number ${nth}`);
}

type Change = (stream: Loose[]) => void;

function damaged(change: Change): Loose[] {
  const stream: Loose[] = structuredClone(good);
  change(stream);
  return stream.map((event, index) => ({ ...event, sequence_number: index }));
}

const drop =
  (type: ServerEvent['type'], nth = 0): Change =>
  (stream) => {
    stream.splice(placeOf(stream, type, nth), 1);
  };
const move =
  (type: ServerEvent['type'], by: number, nth = 0): Change =>
  (stream) => {
    const place = placeOf(stream, type, nth);
    const [event] = stream.splice(place, 1);
    if (event !== undefined) stream.splice(place + by, 0, event);
  };
const set =
  (type: ServerEvent['type'], fields: Loose, nth = 0): Change =>
  (stream) => {
    const place = placeOf(stream, type, nth);
    stream[place] = { ...stream[place], ...fields };
  };
const setIn =
  (type: ServerEvent['type'], name: string, fields: Loose, nth = 0): Change =>
  (stream) => {
    const place = placeOf(stream, type, nth);
    const event = stream[place] ?? {};
    stream[place] = { ...event, [name]: { ...(event[name] as Loose), ...fields } };
  };

const citation = { type: 'file_citation', index: 1 };

const faults: readonly (readonly [string, Change, RegExp])[] = [
  ['refuses outside a part', drop('response.content_part.added', 2), /P52/],
  ['begins a part within a part', move('response.content_part.added', -1, 2), /P52/],
  ['begins a summary within a summary', move('response.reasoning_summary_part.added', -1, 1), /P52/],
  [
    'counts its summaries wrong',
    set('response.reasoning_summary_part.added', { summary_index: 0 }, 1),
    /P52/,
  ],
  ['counts its parts wrong', set('response.content_part.added', { content_index: 0 }, 2), /P52/],
  ['begins its counting above 0', set('response.content_part.added', { content_index: 1 }, 0), /P52/],
  ['loses a delta of a refusal', drop('response.refusal.delta'), /P53/],
  ['loses a delta of raw thought', drop('response.reasoning_text.delta'), /P53/],
  ['never says a refusal whole', drop('response.refusal.done'), /P52/],
  ['never says a thought whole', drop('response.reasoning_text.done'), /P52/],
  ['never closes a part of thought', drop('response.content_part.done', 0), /P52/],
  ['says another refusal than its deltas', set('response.refusal.done', { refusal: 'ok' }), /P53/],
  ['says another thought than its deltas', set('response.reasoning_text.done', { text: 'ok' }), /P53/],
  [
    'closes a part that says something else',
    setIn('response.content_part.done', 'part', { refusal: 'x' }, 2),
    /P53/,
  ],
  [
    'begins a part that has said something',
    setIn('response.content_part.added', 'part', { text: 'x' }, 1),
    /P53/,
  ],
  [
    'begins a text and refuses in it',
    set('response.content_part.added', { part: { type: 'output_text', text: '', annotations: [] } }, 2),
    /P52/,
  ],
  ['refuses in a text part', set('response.refusal.delta', { content_index: 0 }), /P52/],
  [
    'thinks in a message',
    set('response.content_part.added', { part: { type: 'reasoning_text', text: '' } }, 1),
    /P52/,
  ],
  ['loses an annotation', drop('response.output_text.annotation.added'), /P53/],
  [
    'counts its annotations wrong',
    set('response.output_text.annotation.added', { annotation_index: 0 }, 1),
    /P53/,
  ],
  ['annotates outside a part', move('response.output_text.annotation.added', 3, 1), /P5[23]/],
  [
    'closes a part with other annotations',
    setIn('response.content_part.done', 'part', { annotations: [citation] }, 1),
    /P53/,
  ],
  [
    'begins a part with annotations',
    setIn('response.content_part.added', 'part', { annotations: [citation] }, 1),
    /P53/,
  ],
  [
    'closes a message without its annotations',
    (stream) => {
      const item = stream[placeOf(stream, 'response.output_item.done', 1)]?.['item'] as Loose;
      (item['content'] as Loose[])[0] = { type: 'output_text', text: 'see there', annotations: [] };
    },
    /P53/,
  ],
  [
    'closes a message whose refusal is a text',
    (stream) => {
      const item = stream[placeOf(stream, 'response.output_item.done', 1)]?.['item'] as Loose;
      (item['content'] as Loose[])[1] = { type: 'output_text', text: 'and no more', annotations: [] };
    },
    /P53/,
  ],
  [
    'closes reasoning without its thoughts',
    setIn('response.output_item.done', 'item', { content: [] }),
    /P53/,
  ],
  ['closes reasoning without a summary', setIn('response.output_item.done', 'item', { summary: [] }), /P53/],
  [
    'changes the phase of a message',
    setIn('response.output_item.done', 'item', { phase: 'commentary' }, 1),
    /B43/,
  ],
  ['says null for a phase', setIn('response.output_item.added', 'item', { phase: null }, 1), /P59/],
  [
    'says null for encrypted content',
    setIn('response.output_item.done', 'item', { encrypted_content: null }),
    /P59/,
  ],
  ['has a text done without logprobs', set('response.output_text.done', { logprobs: undefined }), /P59/],
  [
    'thinks aloud in events of another dialect',
    set('response.reasoning_text.delta', { type: 'response.reasoning.delta' }),
    /P59/,
  ],
  [
    'runs a hosted call although tool_choice is none',
    setIn('response.created', 'response', { tool_choice: 'none' }),
    /P57/,
  ],
  [
    'shows an approval request under another id at the end',
    (stream) => {
      const output = (stream[stream.length - 1] as { response: { output: Loose[] } }).response.output;
      output[3] = { ...output[3], id: 'item_9' };
    },
    /P54/,
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

test('a message that is done without any part is rejected (P52)', () => {
  const [created, inProgress] = good;
  const item = { type: 'message', id: 'm', role: 'assistant', content: [] };
  const at = { output_index: 0 };
  const stream = [
    created,
    inProgress,
    {
      type: 'response.output_item.added',
      ...at,
      sequence_number: 2,
      item: { ...item, status: 'in_progress' },
    },
    { type: 'response.output_item.done', ...at, sequence_number: 3, item: { ...item, status: 'completed' } },
  ];
  assert.throws(() => checkGrammar(stream), /P52: a message has a part/);
});

test('a hand-off that does not ask for an approval is rejected', async () => {
  const lab = new Lab([turn(...items)]);
  const native: Loose[] = structuredClone(eventsOf(await lab.create()));
  set('response.done', { required_input: [] })(native);
  assert.throws(() => checkGrammar(native, { native: true }), /required_input/);
});
