import { test } from 'node:test';
import assert from 'node:assert/strict';

import * as fc from 'fast-check';

import { Playback } from './playback.js';
import type { ScriptItem } from './script.js';
import { delta, end, eventsOf, firstTurn, item, prefill, record, say, scripted } from './testing/turns.js';

test('pieces of a text join to it exactly and never cut a surrogate pair', async () => {
  const text = '😀a😀😀bc😀é'.repeat(9);
  for (const count of [1, 2, 7, 50, 200]) {
    const items: ScriptItem[] = [{ type: 'message', text, tokens: new Uint32Array(count) }];
    const events = await eventsOf({ items }, { deltaTokensMax: 1 });
    const deltas = events.flatMap((event) => (event.type === 'delta' ? [event] : []));
    assert.equal(deltas.length, count);
    assert.equal(deltas.map((event) => event.delta).join(''), text);
    assert.ok(deltas.every((event) => !/\p{Surrogate}/u.test(String(event.delta))));
  }
});

test('byte pieces come as they are, though they cut characters, with the last token they touch', async () => {
  const bytes = new TextEncoder().encode('ab😀cd');
  const text = [bytes.subarray(0, 4), bytes.subarray(4, 5), bytes.subarray(5)];
  const message: ScriptItem = { type: 'message', text, tokens: new Uint32Array(4) };
  const { clock, sampler } = scripted({ items: [message] }, { decodeTokensPerSecond: 100 });
  assert.deepEqual(await record(clock, sampler), [
    [0, prefill],
    [0, item(0)],
    [10, delta(0, bytes.subarray(0, 4), 2)],
    [20, delta(0, bytes.subarray(4, 5), 1)],
    [30, delta(0, bytes.subarray(5), 1)],
    [30, { type: 'item_end', key: 0, tokens: message.tokens }],
  ]);
});

test('parts are announced with their first token, and annotated with their last', async () => {
  const citation = { type: 'url_citation', url: 'https://a.example' };
  const parted: ScriptItem = {
    type: 'message',
    phase: 'final_answer',
    parts: [
      { part: 'text', text: 'see this', annotations: [citation] },
      { part: 'text', text: '' },
      { part: 'refusal', text: 'stop' },
    ],
  };
  const { clock, sampler } = scripted({ items: [parted] }, { decodeTokensPerSecond: 100, tickMs: 0 });
  assert.deepEqual(await record(clock, sampler), [
    [0, prefill],
    [0, { type: 'item', key: 0, start: { type: 'message', phase: 'final_answer' } }],
    [0, { type: 'part', key: 0, part: 'text' }],
    [0, delta(0, 'see ', 1)],
    [10, delta(0, 'this', 1)],
    [10, { type: 'annotation', key: 0, annotation: citation }],
    [10, { type: 'part', key: 0, part: 'text' }],
    [20, { type: 'part', key: 0, part: 'refusal' }],
    [20, delta(0, 'stop', 1)],
    [20, end(0)],
  ]);
});

test('reasoning ends with what it encloses; its tokens are told where they are those of its content', async () => {
  const tokens = new Uint32Array(2);
  const parts = [
    { part: 'summary', text: 'ab' },
    { part: 'reasoning_text', text: 'cd' },
  ] as const;
  const ends = async (items: readonly ScriptItem[]) =>
    (await eventsOf({ items })).filter((event) => event.type === 'item_end');
  assert.deepEqual(await ends([{ type: 'reasoning', summary: 'ab', encrypted_content: 'g', tokens }]), [
    { type: 'item_end', key: 0, tokens, encrypted_content: 'g' },
  ]);
  assert.deepEqual(await ends([{ type: 'reasoning', parts, tokens }]), [end(0)]);
  assert.deepEqual(await ends([{ type: 'reasoning', parts: parts.slice(1), tokens }]), [
    { type: 'item_end', key: 0, tokens },
  ]);
});

test('a turn is filtered after the tokens that the script says, and its usage is told before that', async () => {
  const usage = { held: 3, output: 50, reasoning: 40 };
  const filtered = await eventsOf({ items: [say('aaaabbbb')], filterAfterTokens: 1, usage });
  assert.deepEqual(filtered, [
    prefill,
    item(0),
    delta(0, 'aaaa', 1),
    { type: 'usage', ...usage },
    { type: 'cut', reason: 'content_filter' },
  ]);
  const bounded = { ...firstTurn, outputTokensMax: 1 };
  const cut = await eventsOf({ items: [say('aaaabbbb')], filterAfterTokens: 2 }, {}, bounded);
  assert.deepEqual(cut.at(-1), { type: 'cut' });
  const whole = await eventsOf({ items: [say('aaaa')], usage });
  assert.deepEqual(whole.slice(-2), [end(0), { type: 'usage', ...usage }]);
});

test('interleaved items are all announced first and take turns token by token', async () => {
  const items = [say('A1A1A2A2A3A3'), say(''), say('B1B1B2B2')];
  assert.deepEqual(await eventsOf({ items, interleave: true }, { deltaTokensMax: 1 }), [
    prefill,
    item(0),
    item(1),
    item(2),
    delta(0, 'A1A1', 1),
    end(1),
    delta(2, 'B1B1', 1),
    delta(0, 'A2A2', 1),
    delta(2, 'B2B2', 1),
    end(2),
    delta(0, 'A3A3', 1),
    end(0),
  ]);
  const { clock, sampler } = scripted(
    { items, interleave: true },
    { decodeTokensPerSecond: 1000, tickMs: 50 },
  );
  assert.deepEqual((await record(clock, sampler)).slice(4), [
    [0, delta(0, 'A1A1', 1)],
    [0, end(1)],
    [3, delta(0, 'A2A2', 1)],
    [3, delta(2, 'B1B1B2B2', 2)],
    [3, end(2)],
    [4, delta(0, 'A3A3', 1)],
    [4, end(0)],
  ]);
});

test('a turn is cut exactly at its token bound, and only where more would have come', async () => {
  const items = [say('aaaabbbb'), say('ccccdddd')];
  const cutAt = (outputTokensMax: number) => eventsOf({ items }, {}, { ...firstTurn, outputTokensMax });
  const first = [prefill, item(0), delta(0, 'aaaabbbb', 2), end(0)];
  assert.deepEqual(await cutAt(0), [prefill, { type: 'cut' }]);
  assert.deepEqual(await cutAt(1), [prefill, item(0), delta(0, 'aaaa', 1), { type: 'cut' }]);
  assert.deepEqual(await cutAt(2), [...first, { type: 'cut' }]);
  assert.deepEqual(await cutAt(3), [...first, item(1), delta(1, 'cccc', 1), { type: 'cut' }]);
  assert.deepEqual(await cutAt(4), [...first, item(1), delta(1, 'ccccdddd', 2), end(1)]);
  const bytes: ScriptItem = { type: 'message', text: [Uint8Array.of(65, 66, 67, 68, 69, 70, 71, 72)] };
  assert.deepEqual(await eventsOf({ items: [bytes] }, {}, { ...firstTurn, outputTokensMax: 1 }), [
    prefill,
    item(0),
    delta(0, Uint8Array.of(65, 66, 67, 68), 1),
    { type: 'cut' },
  ]);
});

test('however a turn is taken, its tokens add up and its pieces join to what was written', () => {
  const anyItem = fc.oneof(
    fc.string({ unit: 'grapheme' }).map((text): ScriptItem => ({ type: 'message', text })),
    fc
      .array(fc.uint8Array({ minLength: 1, maxLength: 9 }))
      .map((text): ScriptItem => ({ type: 'message', text })),
    fc
      .array(fc.record({ part: fc.constantFrom('text', 'refusal'), text: fc.string({ maxLength: 9 }) }), {
        minLength: 1,
      })
      .map((parts): ScriptItem => ({ type: 'message', parts })),
  );
  const property = fc.property(
    fc.array(anyItem, { maxLength: 5 }),
    fc.boolean(),
    fc.integer({ min: 1, max: 4 }),
    fc.array(fc.integer({ min: 0, max: 6 })),
    (items, interleave, deltaTokensMax, strides) => {
      const playback = new Playback(items, { interleave, tokensMax: Infinity, deltaTokensMax });
      const contents = items.map((): Buffer[] => []);
      let tokens = 0;
      for (const stride of [0, ...strides, Infinity]) {
        for (const event of playback.take(Math.min(playback.told + stride, playback.limit))) {
          if (event.type !== 'delta') continue;
          tokens += event.tokens;
          contents[event.key]?.push(Buffer.from(event.delta));
        }
        if (items.every((each) => each.type === 'message' && 'text' in each && typeof each.text === 'string'))
          assert.equal(tokens, playback.told);
      }
      assert.equal(tokens, playback.tokens);
      assert.ok(playback.done);
      assert.deepEqual(
        contents.map((pieces) => Buffer.concat(pieces)),
        items.map((each) => {
          if ('parts' in each) return Buffer.from(each.parts.map((part) => part.text).join(''));
          const text = each.type === 'message' ? each.text : '';
          return typeof text === 'string' ? Buffer.from(text) : Buffer.concat(text);
        }),
      );
    },
  );
  fc.assert(property, { numRuns: 300, seed: 1 });
});
