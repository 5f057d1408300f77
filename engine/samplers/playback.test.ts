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
        if (items.every((each) => each.type === 'message' && typeof each.text === 'string'))
          assert.equal(tokens, playback.told);
      }
      assert.equal(tokens, playback.tokens);
      assert.ok(playback.done);
      assert.deepEqual(
        contents.map((pieces) => Buffer.concat(pieces)),
        items.map((each) => {
          const text = each.type === 'message' ? each.text : '';
          return typeof text === 'string' ? Buffer.from(text) : Buffer.concat(text);
        }),
      );
    },
  );
  fc.assert(property, { numRuns: 300, seed: 1 });
});
