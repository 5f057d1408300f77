/**
 * Text of an exact number of o200k_base tokens, made without an encoder: words that are one token each, a space before
 * every word. The ids come along, so that whoever sends the text need not tokenise it either.
 */
import { Buffer } from 'node:buffer';

import type { RandomGenerator } from './random.js';
import { spacedWords, wordIds } from './vocabulary.js';

export interface CountedText {
  readonly text: string;
  /** The o200k_base ids of exactly this text. */
  readonly tokens: Uint32Array;
}

const opening = { text: '{"input":"', ids: Uint32Array.of(10848, 2586, 7534) };
const closing = { text: '"}', ids: Uint32Array.of(18583) };

/** Tokens of the shortest JSON arguments: three that open, one word, one that closes. */
export const argumentsTokensMin = opening.ids.length + 1 + closing.ids.length;

const wordBytes = spacedWords.map((word) => Buffer.from(word, 'latin1'));
const wordBytesMax = Math.max(...wordBytes.map(({ length }) => length));

/**
 * Writes one word into each element of `tokens` and returns their text. Bytes are gathered in one buffer, so that
 * 60,000 words take about 2 ms and the string comes out flat.
 */
function writeWords(tokens: Uint32Array, random: RandomGenerator): string {
  const text = Buffer.allocUnsafe(tokens.length * wordBytesMax);
  let end = 0;
  for (let at = 0; at < tokens.length; at++) {
    // The upper nine bits of a uniform 32-bit number choose one of 512 words without bias.
    const word = random.next() >>> 23;
    tokens[at] = wordIds[word] ?? 0;
    for (const byte of wordBytes[word] ?? []) text[end++] = byte;
  }
  return text.toString('latin1', 0, end);
}

/** ` word word …`: exactly `count` tokens, about 4.6 bytes each. `count` may be 0. */
export function wordText(count: number, random: RandomGenerator): CountedText {
  const tokens = new Uint32Array(count);
  return { text: writeWords(tokens, random), tokens };
}

/**
 * `{"input":" word word …"}`: exactly `count` tokens of valid JSON. Neither end merges with a word, because the words
 * start with a space.
 *
 * @throws RangeError below `argumentsTokensMin` (5) tokens.
 */
export function jsonArguments(count: number, random: RandomGenerator): CountedText {
  if (count < argumentsTokensMin)
    throw new RangeError(`arguments of ${count} tokens; the shortest have ${argumentsTokensMin}`);
  const tokens = new Uint32Array(count);
  const wordsEnd = count - closing.ids.length;
  tokens.set(opening.ids);
  tokens.set(closing.ids, wordsEnd);
  const words = writeWords(tokens.subarray(opening.ids.length, wordsEnd), random);
  return { text: opening.text + words + closing.text, tokens };
}
