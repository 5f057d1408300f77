import { test } from 'node:test';
import assert from 'node:assert/strict';

import { Engine, scriptedSampler, VirtualClock, type ScriptItem } from '../engine/index.js';
import { entryFrame } from './frames.js';

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

test('a frame says what the event says, for every kind of entry, named or not', async () => {
  const { clock, response } = await playedResponse();
  await response.append(response.requiredInput.map(({ type, call_id }) => ({ type, call_id, output: 'ok' })));
  await clock.advance(0);
  await response.settled;
  const entries = response.entries(0);
  const kinds = new Set(entries.map(({ type }) => type));
  assert.equal(kinds.size, 19, [...kinds].join(' '));
  entries.forEach((entry, number) => {
    const event = response.event(entry, number);
    assert.deepEqual(JSON.parse(entryFrame(entry, number, response, false)), event);
    const named = 'response' in event ? event : { ...event, response_id: response.id };
    assert.deepEqual(JSON.parse(entryFrame(entry, number, response, true)), named);
  });
});
