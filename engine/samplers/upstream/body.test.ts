/** What one turn's request shares with the one before it. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { compactionItem } from '../../protocol/compaction-item.js';
import { entry, openingOf, transcriptOf, turnOn } from '../testing/turns.js';
import { ask, asResponses, call, items, output, transcriptWith } from './testing/bodies.js';
import * as streams from './testing/chat-streams.js';
import { recording } from './testing/recorded.js';
import * as responseStreams from './testing/responses-streams.js';
import { upstreamOf } from './testing/sampling.js';

test('each turn begins with the bytes of the one before it, and renders only what is new', async () => {
  for (const options of [{}, asResponses]) {
    const stream = options === asResponses ? responseStreams.responsesAll : streams.openaiText;
    const { http, sampler } = upstreamOf([recording(stream)], options);
    const session = sampler.open(
      openingOf({ instructions: 'Be brief.', tools: [{ type: 'function', name: 'ls' }] }),
    );
    let rendered = 0;
    const watched = (raw: object) => {
      const [item] = items(raw);
      const [key] = Object.keys(raw).slice(-1);
      const value: unknown = Object.getOwnPropertyDescriptor(item, key ?? '')?.value;
      return Object.defineProperty(item ?? assert.fail(), key ?? '', {
        enumerable: true,
        get: () => (rendered++, value),
      });
    };
    let transcript = transcriptOf();
    const perTurn: number[] = [];
    for (let turn = 1; turn <= 4; turn++) {
      const fresh = [watched(call(`call_${turn}`)), watched(output(`call_${turn}`)), watched(ask)];
      transcript = transcript.extend(fresh.map((item) => entry(item, 1)));
      rendered = 0;
      const settings = { turn, toolChoice: turn === 1 ? ('required' as const) : ('auto' as const) };
      for await (const _ of session.sample(turnOn(transcript, settings), new AbortController().signal))
        continue;
      perTurn.push(rendered);
    }
    assert.equal(new Set(perTurn).size, 1, `items read per turn: ${perTurn.join(' ')}`);
    for (const [index, { raw }] of http.requests.slice(1).entries()) {
      const before = http.requests[index]?.raw ?? '';
      const listed = before.slice(0, before.lastIndexOf(']'));
      assert.ok(raw.startsWith(listed.replace(/\],"tool_choice.*$/, '')), 'the prefix is stable');
      assert.ok(raw.length > before.length);
    }
  }
});

test('a transcript that is another one is rendered anew', async () => {
  const { http, sampler } = upstreamOf([recording(streams.openaiText)]);
  const session = sampler.open(openingOf());
  for (const text of ['one', 'two']) {
    const turn = turnOn(transcriptWith({ ...ask, content: text }));
    for await (const _ of session.sample(turn, new AbortController().signal)) continue;
  }
  assert.deepEqual(http.requests[1]?.body['messages'], [{ role: 'user', content: 'two' }]);
});

test('a transcript that was compacted is sent as its summary and what follows', async () => {
  for (const options of [{}, asResponses]) {
    const stream = options === asResponses ? responseStreams.responsesAll : streams.openaiText;
    const { http, sampler } = upstreamOf([recording(stream)], options);
    const session = sampler.open(openingOf());
    const compaction = compactionItem({ summary: 'They met.', turns: 1 }, 'cmp_1');
    const kept = entry(items(ask)[0] ?? assert.fail(), 1);
    for (const transcript of [transcriptWith(ask).extend([kept]), transcriptOf(entry(compaction, 1), kept)])
      for await (const _ of session.sample(turnOn(transcript), new AbortController().signal)) continue;
    const sent = http.requests[1]?.body ?? assert.fail();
    const [first, ...rest] = sent['messages'] ?? sent['input'];
    assert.deepEqual([first.content, rest.length], ['They met.', 1]);
  }
});
