/**
 * Remembered pre-tokens. Text says the same words again and again, and looking one up costs a small part of encoding it, so
 * ASCII text is cut into pre-tokens (the matches of the o200k pattern) whose tokens are kept.
 *
 *   Q1  The tokens are exactly the encoder's: a pre-token alone is one match of the pattern again, and what follows a match
 *       is cut as it would be alone, because the pattern never looks back. Text with any other character goes to the
 *       encoder whole: which of them are letters is a matter of Unicode tables, and not all agree.
 *   Q2  What is kept is bounded in number and in length; the oldest go first. What is too long to be a word of a language is
 *       not kept: it may be a key, and that somebody else has used it must not show in how long an answer takes.
 *   Q3  A slice looks up at most 64 pre-tokens in vain, and the rest of it goes to the encoder in one call: text that says
 *       nothing twice costs little more than without all this.
 */
import { Bounded } from './bounded.js';

/** Pre-tokens kept; about 100 bytes each. */
export const preTokensMax = 16_384;
/** Longest one that is kept, in characters. */
export const keptCharactersMax = 16;
/** Lookups in vain before the rest of a slice is encoded whole. */
const missesMax = 64;

const contraction = "(?:'(?:[sStTmMdD]|[rRvV][eE]|[lL][lL]))?";
/** The o200k pattern (`pat_str` of tiktoken's o200k_base) as it reads where all characters are ASCII. */
const preToken = new RegExp(
  [
    `[^\\r\\nA-Za-z0-9]?[A-Z]*[a-z]+${contraction}`,
    `[^\\r\\nA-Za-z0-9]?[A-Z]+${contraction}`,
    '[0-9]{1,3}',
    ' ?[^\\sA-Za-z0-9]+[\\r\\n/]*',
    '\\s*[\\r\\n]+',
    '\\s+(?!\\S)',
    '\\s+',
  ].join('|'),
  'g',
);
// oxlint-disable-next-line no-control-regex -- they are ASCII too
const ascii = /^[\0-\x7f]*$/;

export class PreTokens {
  readonly #encode: (text: string) => Uint32Array;
  /** A single token as itself: most words are one. */
  readonly #known = new Bounded<number | Uint32Array>(preTokensMax);

  constructor(encode: (text: string) => Uint32Array) {
    this.#encode = encode;
  }

  /** How many are kept. */
  get size(): number {
    return this.#known.size;
  }

  /** The encoder's own tokens of the text. */
  encode(text: string): Uint32Array {
    const pieces = ascii.test(text) ? text.match(preToken) : null;
    if (pieces === null) return this.#encode(text);
    const tokens = new Uint32Array(text.length); // One per byte at most.
    let count = 0;
    let at = 0;
    let misses = 0;
    for (const piece of pieces) {
      let known = this.#known.get(piece);
      if (known === undefined) {
        if (++misses > missesMax) {
          const rest = this.#encode(text.slice(at));
          tokens.set(rest, count);
          return tokens.slice(0, count + rest.length);
        }
        known = this.#keep(piece);
      }
      if (typeof known === 'number') tokens[count++] = known;
      else {
        tokens.set(known, count);
        count += known.length;
      }
      at += piece.length;
    }
    return tokens.slice(0, count);
  }

  #keep(piece: string): number | Uint32Array {
    const tokens = this.#encode(piece);
    const [first] = tokens;
    const kept = tokens.length === 1 && first !== undefined ? first : tokens;
    if (piece.length > keptCharactersMax) return kept;
    // Copied, because a cut piece would hold on to the text that it was cut from.
    this.#known.set(Buffer.from(piece, 'latin1').toString('latin1'), kept);
    return kept;
  }
}
