import { test } from 'node:test';
import assert from 'node:assert/strict';

import {
  Engine,
  scriptedSampler,
  VirtualClock,
  VirtualResponse,
  type LiveResponse,
  type ScriptItem,
} from '../engine/index.js';
import { fromStart, TurnResponse } from './turn-response.js';
import { NativeView, type View } from './view.js';

const items: readonly ScriptItem[] = [
  { type: 'reasoning', summary: 'what "now"?' },
  { type: 'message', text: 'a line\nand \u2028 another, with \ud83d\ude00' },
  { type: 'custom_tool_call', name: 'patch', input: '*** \\ "x"' },
  { type: 'function_call', name: 'run', arguments: '{"command":"ls"}' },
  { type: 'opaque', item: { type: 'web_search_call', query: 'q', opaque: true } },
];

/** Every kind of log entry: two turns, a hand-off and its answer between them. */
async function playedResponse() {
  const clock = new VirtualClock();
  const script = [{ items }, { items: [{ type: 'message' as const, text: 'done' }] }];
  const engine = new Engine({ clock, sampler: scriptedSampler({ clock, script }) });
  const response = await engine.create({ model: 'scripted', input: 'go' });
  await clock.advance(0);
  return { clock, response };
}

/** The events of a view, each with the type it was given beside its text. */
function shown(view: View, response: LiveResponse): unknown[] {
  const events: unknown[] = [];
  const put = (type: string, text: string): void => {
    const event = JSON.parse(text) as { type: string };
    assert.equal(event.type, type);
    events.push(event);
  };
  view.begin(put);
  response.entries(view.first).forEach((entry, at) => {
    if (!view.over) view.show(entry, view.first + at, put);
  });
  return events;
}

async function paidResponse() {
  const { clock, response } = await playedResponse();
  await response.append(response.requiredInput.map(({ type, call_id }) => ({ type, call_id, output: 'ok' })));
  await clock.advance(0);
  await response.settled;
  return response;
}

test('a native frame says what the event says, for every kind of entry, and names its response', async () => {
  const response = await paidResponse();
  const entries = response.entries(0);
  const kinds = new Set(entries.map(({ type }) => type));
  assert.equal(kinds.size, 19, [...kinds].join(' '));
  const events = entries.map((entry, number) => {
    const event = response.event(entry, number);
    return 'response' in event ? event : { ...event, response_id: response.id };
  });
  assert.deepEqual(shown(new NativeView(response, -1), response), events);
});

test('a frame of a window says what its event says, in a lane and without one (P27)', async () => {
  const response = await paidResponse();
  const second = response.handOffs[0];
  assert.ok(second !== undefined);
  const later = { first: second.number + 1, outputItems: second.outputItems, inputFrom: 0 };
  for (const window of [fromStart(null), later])
    for (const lane of [null, 'lane-1']) {
      const unixSeconds = () => 7;
      const projection = new VirtualResponse(response.created, { ...window, unixSeconds });
      const events = [
        ...projection.begin(),
        ...response
          .entries(window.first)
          .flatMap((entry) => (projection.over ? [] : (projection.project(entry) ?? []))),
      ].map((event) => (lane === null ? event : { ...event, stream_id: lane }));
      const turn = new TurnResponse(response, response.created, window, lane);
      assert.deepEqual(shown(turn.view(response, { unixSeconds }), response), events);
    }
});
