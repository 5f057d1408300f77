import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import assert from 'node:assert/strict';

import * as fc from 'fast-check';

import type { Clock, Tokenizer } from './ports.js';
import {
  cachedTokenizer,
  encodersBuilt,
  encodeWhole,
  isBoundary,
  o200kTokenizer,
  runUnitsMax,
  sliceBytesMax,
  sliceEnd,
} from './tokenizer.js';

const { signal } = new AbortController();

/** A clock on which each look takes `lookMs`, so a slice, which looks twice, takes that long. Counts its breaths. */
class CountingClock implements Pick<Clock, 'breathe' | 'now'> {
  breaths = 0;
  looks = 0;
  /** Most slices that were encoded without a breath between them. */
  slicesHeldMax = 0;
  readonly #lookMs: number;
  #looksAtBreath = 0;

  constructor(lookMs = 0) {
    this.#lookMs = lookMs;
  }

  now(): number {
    this.looks++;
    this.slicesHeldMax = Math.max(this.slicesHeldMax, (this.looks - this.#looksAtBreath) / 2);
    return this.looks * this.#lookMs;
  }

  breathe(): Promise<void> {
    this.breaths++;
    this.#looksAtBreath = this.looks;
    return Promise.resolve();
  }
}

function slicesOf(text: string): string[] {
  const slices: string[] = [];
  for (let at = 0; at < text.length; at += slices.at(-1)?.length ?? 0)
    slices.push(text.slice(at, sliceEnd(text, at)));
  return slices;
}

function tokensOf(slices: readonly string[]): number[] {
  return slices.flatMap((slice) => [...encodeWhole(slice)]);
}

/** The o200k pattern, an independent statement of what a pre-token is. */
const contraction = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?";
const pattern = new RegExp(
  [
    `[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+${contraction}`,
    `[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*${contraction}`,
    '\\p{N}{1,3}',
    ' ?[^\\p{White_Space}\\p{L}\\p{N}]+[\\r\\n/]*',
    '\\p{White_Space}*[\\r\\n]+',
    '\\p{White_Space}+(?!\\P{White_Space})',
    '\\p{White_Space}+',
  ].join('|'),
  'gu',
);

const code = ['./tokenizer.js', './tokenizer.test.js', './render.js']
  .map((name) => readFileSync(new URL(name, import.meta.url), 'utf8'))
  .join('\n');

function prose(sentence: string, count: number): string {
  return Array.from({ length: count }, (_, index) => sentence.replaceAll('#', String(index * 37))).join('');
}

const ordinaryTexts: Record<string, string> = {
  code,
  English: prose("It's the #th day; the ship's log doesn't say why, and we'll ask (again) tomorrow.\n", 300),
  Russian: prose('Шёл #-й день пути, и никто уже не помнил, зачем они вышли из города. ', 300),
  Chinese: prose('第#天，他们终于到了海边；没有人说话，只有风的声音。', 600),
  Hindi: prose('#वें दिन वे समुद्र के किनारे पहुँचे। किसी ने कुछ नहीं कहा। ', 300),
  'a table': prose('| # | -# | ... |  \n', 900),
  digits: prose('#, ', 3000),
  JSON: JSON.stringify(
    Array.from({ length: 400 }, (_, id) => ({ id, name: `n${id}`, tags: ['é', '🦊', '\n\t'], none: null })),
    null,
    2,
  ),
};

for (const [name, text] of Object.entries(ordinaryTexts)) {
  test(`a large text gives exactly the tokens of the whole: ${name}`, async () => {
    assert.ok(Buffer.byteLength(text) > 3 * sliceBytesMax);
    const tokens = await o200kTokenizer(new CountingClock()).encode(text, signal);
    assert.deepEqual(tokens, encodeWhole(text));
  });
}

test('short text is answered in line with exactly the encoder’s tokens', () => {
  const tokenizer = o200kTokenizer(new CountingClock());
  for (const text of [
    '',
    ' ',
    'ok',
    "we'll see\r\n\r\n  x",
    '🦊 ok',
    'é\u0301',
    '\ud83e',
    code.slice(0, 4000),
  ])
    assert.deepEqual(tokenizer.encode(text, signal), encodeWhole(text));
});

test('4,096 bytes are answered in line, one more as a promise', () => {
  const tokenizer = o200kTokenizer(new CountingClock());
  assert.ok(tokenizer.encode('a b '.repeat(1024), signal) instanceof Uint32Array);
  assert.ok(tokenizer.encode(`${'a b '.repeat(1024)}.`, signal) instanceof Promise);
  assert.ok(tokenizer.encode('字 '.repeat(1024), signal) instanceof Uint32Array);
  assert.ok(tokenizer.encode(`${'字 '.repeat(1024)}.`, signal) instanceof Promise);
});

test('special tokens in the text are plain text', () => {
  const text = 'a<|endoftext|>b<|endofprompt|><|start|>assistant<|message|><|return|>';
  const tokens = o200kTokenizer(new CountingClock()).encode(text, signal);
  assert.ok(tokens instanceof Uint32Array);
  assert.ok(tokens.every((token) => token < 199_998));
});

/** Fragments that meet every branch of the pattern. */
const fragment = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('a', 'B', 'the', 'Ünï', 'ß', 'ſ', '字', '本', 'ก็', 'क्षि', 'ʰ', 'ǅ'),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(' ', '  ', '\n', '\r\n', '\t', '\u00a0', '\u0085', '\u2028', '\ufeff'),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom("'", "'s", "'LL", '!', '//', '(', '，', '’', '🦊', '❤️', '👩‍👩‍👧', '=', '"', '_'),
  },
  { weight: 2, arbitrary: fc.constantFrom('1', '42', '1234', '²', 'Ⅷ', '٣', '𝟙', '𐊀') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('\u0301', '\ufe0f', '\u0378', '\u{e0fff}', '\ud83e', '\udd8a', '\0'),
  },
);

test('cutting at a boundary never changes a token', () => {
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 24 }), (fragments) => {
      const text = fragments.join('');
      const whole = [...encodeWhole(text)];
      for (let at = 1; at < text.length; at++)
        if (isBoundary(text, at)) assert.deepEqual(tokensOf([text.slice(0, at), text.slice(at)]), whole);
    }),
    { numRuns: 1000, seed: 1 },
  );
});

test('a boundary never lies inside a surrogate pair', () => {
  const text = 'a🦊1𝟙\n🦊/𐊀 ';
  for (let at = 1; at < text.length; at++)
    if (/^[\udc00-\udfff]/.test(text.slice(at))) assert.equal(isBoundary(text, at), false);
});

const piece = fc
  .tuple(fragment, fc.oneof({ weight: 5, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.nat(1500) }))
  .map(([text, count]) => text.repeat(count));
const longText = fc.array(fc.oneof({ weight: 9, arbitrary: piece }, fc.string({ unit: 'binary' })), {
  minLength: 5,
  maxLength: 60,
});

/** Runs as K1 words them; a mark goes with the sign or the letter before it, a line break with the sign. */
const sign = '[^\\p{White_Space}\\p{L}\\p{M}\\p{N}\\p{Cn}\\p{Cs}]';
const runs = new RegExp(
  `[\\p{L}\\p{M}]+|\\p{White_Space}+|${sign}(?:${sign}|[\\p{M}\\p{Cn}\\p{Cs}])*[\\r\\n/]*`,
  'gu',
);

test('slices join to the text, are bounded in bytes, and hold no run beyond its bound', () => {
  fc.assert(
    fc.property(longText, (pieces) => {
      const text = pieces.join('');
      const slices = slicesOf(text);
      assert.equal(slices.join(''), text);
      for (const slice of slices) {
        assert.ok(slice.length > 0);
        assert.ok(Buffer.byteLength(slice) <= sliceBytesMax);
        for (const run of slice.match(runs) ?? []) {
          const ascii = Buffer.byteLength(run) === run.length;
          assert.ok(run.length <= (ascii ? runUnitsMax.ascii : runUnitsMax.other));
        }
      }
      slices.slice(1).forEach((slice, index) => {
        const inside = /[\ud800-\udbff]$/.test(slices[index] ?? '') && /^[\udc00-\udfff]/.test(slice);
        assert.equal(inside, false);
      });
    }),
    { numRuns: 100, seed: 2 },
  );
});

test('no slice holds a pre-token longer than two runs and a few characters', () => {
  fc.assert(
    fc.property(longText, (pieces) => {
      for (const slice of slicesOf(pieces.join('')))
        for (const preToken of slice.match(pattern) ?? []) {
          const ascii = Buffer.byteLength(preToken) === preToken.length;
          const bound = ascii ? 2 * runUnitsMax.ascii : runUnitsMax.ascii + runUnitsMax.other;
          assert.ok(preToken.length <= bound + 4);
        }
    }),
    { numRuns: 100, seed: 3 },
  );
});

test('signs that alternate with line breaks or marks make one pre-token, and are cut as one run', () => {
  const slashes = slicesOf('/\n'.repeat(5000));
  assert.ok(slashes.every((slice) => slice.length <= runUnitsMax.ascii));
  const marked = slicesOf('!!\u0301'.repeat(5000));
  // A slice may start with the mark of the last one, which then counts as a letter.
  assert.ok(marked.every((slice) => slice.length <= 1 + runUnitsMax.other));
});

test('runs are cut at 1,024 ASCII characters, at 256 with another among them, digits by the slice', () => {
  const lengths = (text: string) => slicesOf(text).map((slice) => slice.length);
  assert.deepEqual(lengths('a'.repeat(1024)), [1024]);
  assert.deepEqual(lengths('a'.repeat(2050)), [1024, 1024, 2]);
  assert.deepEqual(lengths('字'.repeat(600)), [256, 256, 88]);
  assert.deepEqual(lengths(`${'a'.repeat(500)}é`), [500, 1]);
  assert.deepEqual(lengths(`${'a'.repeat(255)}é`), [256]);
  assert.deepEqual(lengths('7'.repeat(5000)), [4096, 904]);
});

test('no cut falls inside a surrogate pair', () => {
  const lengths = (text: string) => slicesOf(text).map((slice) => slice.length);
  assert.deepEqual(lengths('🦊'.repeat(200)), [256, 144]);
  assert.deepEqual(lengths(`☀${'🦊'.repeat(200)}`), [255, 146]);
  assert.deepEqual(lengths(`x${'𝟙'.repeat(1030)}`), [1 + 2 * 1023, 2 * 7]);
});

test('300,000 equal letters are encoded in slices, with breaths between them', async () => {
  const clock = new CountingClock(1);
  const tokens = await o200kTokenizer(clock).encode('a'.repeat(300_000), signal);
  assert.equal(tokens.length, 37_500);
  assert.equal(clock.looks / 2, Math.ceil(300_000 / 1024));
  assert.ok(clock.slicesHeldMax <= 3);
});

test('1.5 million equal letters are encoded, and the next text too', async () => {
  const tokenizer = o200kTokenizer(new CountingClock());
  assert.equal((await tokenizer.encode('a'.repeat(1_500_000), signal)).length, 187_500);
  assert.deepEqual(tokenizer.encode('ok', signal), encodeWhole('ok'));
});

test('long runs of Chinese and of random letters give the tokens of their slices', async () => {
  const tokenizer = o200kTokenizer(new CountingClock());
  const random = fc
    .sample(
      fc.string({
        unit: fc.constantFrom(...Array.from('abcdefghijklmnopqrstuvwxyz')),
        minLength: 20_000,
        maxLength: 20_000,
      }),
      { numRuns: 1, seed: 4 },
    )
    .join('');
  for (const [text, length] of [
    ['字本語中'.repeat(2000), 256],
    [random, 1024],
  ] as const) {
    const slices = slicesOf(text);
    assert.ok(slices.slice(0, -1).every((slice) => slice.length === length));
    assert.deepEqual([...(await tokenizer.encode(text, signal))], tokensOf(slices));
  }
});

test('a long text breathes first, and again when it has held the loop for 3 ms', async () => {
  const clock = new CountingClock(1.5);
  await o200kTokenizer(clock).encode('word '.repeat(4096), signal);
  assert.equal(clock.looks / 2, 6);
  // Before the slices 1, 3 and 5, and one to see the loop turn after the last.
  assert.equal(clock.breaths, 4);
});

test('an abort ends a long text at its next breath, with the reason', async () => {
  const abort = new AbortController();
  const reason = new Error('the client left');
  const clock = new CountingClock(3);
  const breathe = clock.breathe.bind(clock);
  clock.breathe = () => {
    if (clock.breaths === 2) abort.abort(reason);
    return breathe();
  };
  const tokenizer = o200kTokenizer(clock);
  await assert.rejects(async () => tokenizer.encode('word '.repeat(8192), abort.signal), reason);
  assert.equal(clock.breaths, 3);
  assert.equal(clock.looks / 2, 2);
  await assert.rejects(async () => tokenizer.encode('word '.repeat(8192), abort.signal), reason);
  assert.equal(clock.breaths, 3);
});

/** When everything that needs no turn of the loop has happened. */
async function settled(): Promise<void> {
  for (let step = 0; step < 50; step++) await Promise.resolve();
}

/** A clock whose turns of the loop are given by hand. */
class HandClock extends CountingClock {
  readonly #waiting: (() => void)[] = [];

  override breathe(): Promise<void> {
    void super.breathe();
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  /** Lets the loop turn once, and everything that follows from it happen. */
  async turn(): Promise<void> {
    await settled();
    for (const resolve of this.#waiting.splice(0)) resolve();
    await settled();
  }
}

test('however many long texts there are, one of them goes on per turn of the loop', async () => {
  const clock = new HandClock(3);
  const tokenizer = o200kTokenizer(clock);
  const text = 'word '.repeat(2048);
  const slices = slicesOf(text).length;
  const all = Promise.all([1, 2, 3].map(async () => tokenizer.encode(text, signal)));
  for (let turn = 1; turn <= 3 * slices; turn++) {
    await clock.turn();
    assert.equal(clock.looks / 2, turn);
  }
  for (const tokens of await all) assert.deepEqual(tokens, encodeWhole(text));
});

test('many short texts in one turn of the loop are answered in line for 3 ms, then after a breath', async () => {
  const clock = new HandClock(1);
  const tokenizer = o200kTokenizer(clock);
  const answers = ['one', 'two', 'three', 'four'].map((text) => tokenizer.encode(text, signal));
  assert.deepEqual(
    answers.map((answer) => answer instanceof Promise),
    [false, false, false, true],
  );
  await clock.turn();
  await clock.turn();
  assert.deepEqual(await answers[3], encodeWhole('four'));
  assert.ok(tokenizer.encode('five', signal) instanceof Uint32Array);
});

test('short texts in different turns of the loop are always answered in line', async () => {
  const clock = new HandClock(1);
  const tokenizer = o200kTokenizer(clock);
  for (let turn = 0; turn < 10; turn++) {
    assert.ok(tokenizer.encode('one', signal) instanceof Uint32Array);
    assert.ok(tokenizer.encode('two', signal) instanceof Uint32Array);
    await clock.turn();
  }
});

test('all tokenizers of a process share one encoder', () => {
  for (let count = 0; count < 100; count++)
    void cachedTokenizer(o200kTokenizer(new CountingClock()), { bytesMax: 0 }).encode('ok', signal);
  assert.equal(encodersBuilt(), 1);
});

/** One token per character; counts what it was asked. Long texts are answered as promises. */
class SpellingTokenizer implements Tokenizer {
  readonly asked: string[] = [];

  encode(text: string): Uint32Array | Promise<Uint32Array> {
    this.asked.push(text);
    const tokens = Uint32Array.from(text, (character) => character.charCodeAt(0));
    return text.length <= 8 ? tokens : Promise.resolve(tokens);
  }
}

test('a cached text is tokenised once and then answered in line', async () => {
  const inner = new SpellingTokenizer();
  const cached = cachedTokenizer(inner, { bytesMax: 10_000 });
  const long = await cached.encode('a long text', signal);
  assert.equal(cached.encode('a long text', signal), long);
  assert.equal(cached.encode('short', signal), cached.encode('short', signal));
  assert.deepEqual(inner.asked, ['a long text', 'short']);
  assert.equal(cached.bytes, (11 + 5) * 6 + 2 * 128);
});

test('the least recently asked for leave the cache when its bytes run out', () => {
  const inner = new SpellingTokenizer();
  const entryBytes = 128 + 6;
  const cached = cachedTokenizer(inner, { bytesMax: 2 * entryBytes });
  for (const text of ['a', 'b', 'a', 'c', 'a', 'b']) void cached.encode(text, signal);
  assert.deepEqual(inner.asked, ['a', 'b', 'c', 'b']);
  assert.equal(cached.bytes, 2 * entryBytes);
});

test('a text above the bound of the cache is not kept and drives nothing out', () => {
  const inner = new SpellingTokenizer();
  const cached = cachedTokenizer(inner, { bytesMax: 128 + 6 });
  for (const text of ['a', 'bb', 'bb', 'a']) void cached.encode(text, signal);
  assert.deepEqual(inner.asked, ['a', 'bb', 'bb']);
  assert.equal(cached.bytes, 128 + 6);
});

test('encodings of the same text at the same time are counted once', async () => {
  const inner = new SpellingTokenizer();
  const cached = cachedTokenizer(inner, { bytesMax: 10_000 });
  const both = await Promise.all([
    cached.encode('a long text', signal),
    cached.encode('a long text', signal),
  ]);
  assert.deepEqual(both[0], both[1]);
  assert.equal(cached.bytes, 11 * 6 + 128);
});

test('a failed encoding is not kept', async () => {
  const failing: Tokenizer = { encode: () => Promise.reject(new Error('aborted')) };
  const cached = cachedTokenizer(failing, { bytesMax: 10_000 });
  await assert.rejects(async () => cached.encode('a', signal), /aborted/);
  assert.equal(cached.bytes, 0);
});
