import { test } from 'node:test';
import assert from 'node:assert/strict';

import * as fc from 'fast-check';

import { keptCharactersMax, PreTokens, preTokensMax } from './pre-tokens.js';
import { encodeWhole, o200kTokenizer } from './tokenizer.js';
import { systemClock } from './clock.js';

o200kTokenizer(systemClock); // Builds the encoder, so that no test pays for it.

/** Remembers by the real encoder, and says what it was asked for. */
function recording() {
  const asked: string[] = [];
  const words = new PreTokens((text) => {
    asked.push(text);
    return encodeWhole(text);
  });
  return { words, asked };
}

const fragment = fc.oneof(
  fc.constantFrom(
    'the',
    ' The',
    'HTTPServer',
    "don't",
    "'LL",
    "we'Ve",
    ' ',
    '  ',
    '\t',
    '\n',
    '\r\n',
    '\v',
    '\f',
  ),
  fc.constantFrom(
    '0',
    '12',
    '12345',
    '//',
    ' //\n',
    '"}],',
    "'",
    "''s",
    '\0',
    '\x1c',
    '\x7f',
    '<|end|>',
    '_a',
    '-B',
  ),
  fc.string({ unit: 'binary-ascii', maxLength: 6 }),
);

test('remembered or not, ASCII text gives exactly the encoder’s tokens', () => {
  const { words } = recording();
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 40 }), (fragments) => {
      const text = fragments.join('');
      const tokens = encodeWhole(text);
      assert.deepEqual(words.encode(text), tokens);
      assert.deepEqual(words.encode(text), tokens, 'the second time');
    }),
    { numRuns: 2000 },
  );
});

test('a word is encoded once, wherever it stands', () => {
  const { words, asked } = recording();
  words.encode('one fish, two fish');
  assert.deepEqual(asked, ['one', ' fish', ',', ' two']);
  words.encode('two, one fish two');
  assert.deepEqual(asked.slice(4), ['two', ' one']);
});

test('text with any character beyond ASCII goes to the encoder whole', () => {
  const { words, asked } = recording();
  for (const text of ['naïve words', 'fox 🦊', '\ud83e x', 'a\u0085b', 'a\u00a0b']) {
    assert.deepEqual(words.encode(text), encodeWhole(text));
    assert.equal(asked.pop(), text);
  }
  assert.equal(words.size, 0);
});

test('after 64 lookups in vain the rest of a text is encoded in one call', () => {
  const { words, asked } = recording();
  const text = Array.from({ length: 200 }, (_, index) => ` w${'abcdefghij'[index % 10]}q${index}`).join('');
  assert.deepEqual(words.encode(text), encodeWhole(text));
  assert.equal(asked.length, 65);
  assert.ok(
    text.endsWith(asked.at(-1) ?? assert.fail()) && asked[64] !== undefined && asked[64].length > 100,
  );
});

test('what is too long to be a word is not kept', () => {
  const { words, asked } = recording();
  const key = 'q'.repeat(keptCharactersMax + 1);
  for (const text of [key, key, key.slice(1), key.slice(1)]) words.encode(text);
  assert.deepEqual(asked, [key, key, key.slice(1)]);
  assert.equal(words.size, 1);
});

test('no more are kept than the bound, and the oldest go first', () => {
  const asked: string[] = [];
  const words = new PreTokens((text) => {
    asked.push(text);
    return new Uint32Array([1]);
  });
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  const word = (index: number): string =>
    ` ${letters[index % 26]}${letters[Math.floor(index / 26) % 26]}${letters[Math.floor(index / 676) % 26]}${letters[Math.floor(index / 17_576)]}`;
  for (let index = 0; index <= preTokensMax; index++) words.encode(word(index));
  assert.equal(words.size, preTokensMax);
  asked.length = 0;
  words.encode(word(preTokensMax));
  words.encode(word(1));
  assert.deepEqual(asked, []);
  words.encode(word(0));
  assert.deepEqual(asked, [word(0)]);
});
