import assert from 'node:assert/strict';
import { test } from 'node:test';

import { o200kTokenizer } from '../engine/tokenizer.js';
import { VirtualClock } from '../engine/clock.js';
import { generatorFor } from './random.js';
import { argumentsTokensMin, encoded, jsonArguments, textOf, wordText, type CountedText } from './text.js';
import { spacedWords, wordIds } from './vocabulary.js';

const tokenizer = o200kTokenizer(new VirtualClock());

async function assertCounted({ text, tokens }: CountedText): Promise<void> {
  const ids = await tokenizer.encode(text, new AbortController().signal);
  assert.deepEqual(Array.from(tokens), Array.from(ids));
}

test('every word of the vocabulary is one token whose id is carried', async () => {
  assert.equal(spacedWords.length, 512);
  assert.equal(new Set(wordIds).size, 512);
  await assertCounted({ text: spacedWords.join(''), tokens: wordIds });
  for (const [index, word] of spacedWords.entries())
    await assertCounted({ text: word, tokens: wordIds.subarray(index, index + 1) });
});

test('generated text has exactly the tokens it says', async () => {
  for (const count of [0, 1, 2, 7, 100, 3000])
    for (const seed of [1, 2, 3]) {
      const counted = wordText(count, generatorFor('test', seed));
      assert.equal(counted.tokens.length, count);
      await assertCounted(counted);
    }
});

test('generated arguments are JSON of exactly the tokens they say', async () => {
  for (const count of [argumentsTokensMin, 6, 40, 900]) {
    const counted = jsonArguments(count, generatorFor('test', count));
    assert.equal(counted.tokens.length, count);
    assert.deepEqual(Object.keys(JSON.parse(counted.text)), ['input']);
    await assertCounted(counted);
  }
  assert.throws(() => jsonArguments(argumentsTokensMin - 1, generatorFor('test')), RangeError);
});

test('long text is varied and has four to five bytes a token', () => {
  const { text, tokens } = wordText(60_000, generatorFor('test'));
  assert.equal(new Set(tokens).size, 512);
  assert.ok(text.length > 4 * 60_000 && text.length < 5 * 60_000);
});

test('the same labels give the same text and any other label gives another', () => {
  const text = (...labels: (string | number)[]): string => wordText(50, generatorFor(...labels)).text;
  assert.equal(text('a', 1), text('a', 1));
  assert.notEqual(text('a', 1), text('a', 2));
  assert.notEqual(text('a', 1), text('a1'));
});

test('recorded text is played as it is, and after made words where more is counted', async () => {
  const kept = { tokens: 3, text: 'Three small words' };
  assert.equal(textOf(3, kept, generatorFor('test')), kept.text);
  const longer = textOf(10, kept, generatorFor('test'));
  assert.ok(longer.endsWith(`\n\n${kept.text}`));
  assert.equal(encoded(longer).tokens.length, 10);
  assert.equal(textOf(10, undefined, generatorFor('test')), wordText(10, generatorFor('test')).text);
});

test('recorded text has the ids that the engine would come to', async () => {
  for (const text of [
    '',
    'a',
    'Ünï çødé 🙂\n\n  if (x) {\n\treturn;\n  }',
    'word '.repeat(5000),
    'x'.repeat(9000),
  ])
    await assertCounted(encoded(text));
});
