/**
 * Text of an exact number of o200k_base tokens, made without an encoder: words that are one token each, a space before
 * every word. The ids come along, so that whoever sends the text need not tokenise it either. Recorded text is encoded.
 */
import { Buffer } from 'node:buffer';

import { joined } from '../engine/render.js';
import { encodeWhole, sliceEnd } from '../engine/tokenizer.js';
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

/** Begins recorded text on a line of its own where made words come before it: one token. */
const seam = '\n\n';

/**
 * Recorded text, with made words before it where `count` is larger than its own tokens; made words alone where nothing
 * was recorded. Where words and text meet, the count may be off by a token.
 */
export function textOf(
  count: number,
  kept: { readonly tokens: number; readonly text: string } | undefined,
  random: RandomGenerator,
): string {
  const made = count - (kept?.tokens ?? 0);
  if (kept === undefined || made <= 0) return kept?.text ?? wordText(count, random).text;
  return wordText(made - 1, random).text + seam + kept.text;
}

/** Any text with its ids, slice by slice as the engine's tokenizer cuts it: about 2 ms for each 4,096 bytes, at once. */
export function encoded(text: string): CountedText {
  const slices: Uint32Array[] = [];
  for (let at = 0; at < text.length;) {
    const end = sliceEnd(text, at);
    slices.push(encodeWhole(text.slice(at, end)));
    at = end;
  }
  return { text, tokens: joined(slices) };
}
