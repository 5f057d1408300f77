/**
 * Text to o200k_base tokens, in bounded steps (S7). The only file that knows tiktoken.
 *
 *   K1  Every known encoder takes time in the square of the length of one pre-token (a match of the o200k pattern). So
 *       a run that could be one pre-token is cut before it would grow longer than 1,024 UTF-16 units, or 256 once it
 *       holds a character beyond ASCII. A run is letters with marks; or white space; or other signs with marks, with
 *       the line breaks and slashes that follow them (the pattern's `[\r\n/]*`). Digits are cut by threes anyway.
 *       Characters that this Node's Unicode tables do not know count like marks: they may go on with either kind.
 *       A pre-token spans at most two runs and the few characters of a prefix or a contraction.
 *   K2  A longer text is encoded slice by slice, at most 4,096 UTF-8 bytes each: about 2 ms of work. A slice ends
 *       where the pattern has a boundary whatever stands around it (`isBoundary`), searched backwards from the limit;
 *       a slice without one is cut hard at the limit, which may change the count by a token or two.
 *   K3  No cut falls inside a surrogate pair. A text without such runs and without hard cuts gives exactly the
 *       encoder's own tokens; any other gives, slice by slice, the encoder's own tokens of the slices.
 *   K4  A text of up to 4,096 bytes is answered in line. A longer one is a promise that starts with a breath and takes
 *       another when encoding has held the loop for 3 ms, so that one more slice keeps within about 5 ms. Long texts
 *       breathe one after another: however many there are, one of them goes on per turn of the loop.
 *   K5  In-line work is bounded too: when it has held the loop for 3 ms since the loop last turned (many short texts
 *       one after another), the next short text is answered like a long one.
 *   K6  One encoder per process, built when the first tokenizer is made. Text is never read as control tokens.
 *   K7  Pre-tokens are remembered, which changes no token (pre-tokens.ts).
 */
import { get_encoding, type Tiktoken } from 'tiktoken';

import type { Clock, Tokenizer } from './ports.js';
import { PreTokens } from './pre-tokens.js';
import { joined } from './render.js';

/** Longest run (K1), in UTF-16 units: of ASCII alone, and with any other character in it. */
export const runUnitsMax = { ascii: 1024, other: 256 } as const;
/** Longest slice (K2), and longest text that is answered in line (K4), in UTF-8 bytes. */
export const sliceBytesMax = 4096;

const breathAfterMs = 3;
/** Work above this asks for a turn of the loop, whose coming shows that the loop is not held (K5). */
const watchAfterMs = 1;

// Classes of characters. `mark` also stands for whatever we can't be sure of: unassigned, or half a surrogate pair.
const [letter, mark, digit, space, newline, slash, apostrophe, other] = [1, 2, 3, 4, 5, 6, 7, 8];

/** Bits of the classes before which the pattern has a boundary in any case, for the class that comes first (K2). */
const boundaries = new Map<number, number>([
  // A word ends here, but not before a mark, which it contains, nor an apostrophe, which may open a contraction.
  [letter, bits(space, newline, digit, slash, other)],
  [digit, bits(letter, space, newline, slash, apostrophe, other)],
  // Signs take the line breaks after them along, and one sign may open a word.
  [slash, bits(space, digit)],
  [apostrophe, bits(space, digit)],
  [other, bits(space, digit)],
  // A line break may go on with white space and, after signs, with a slash.
  [newline, bits(letter, digit, apostrophe, other)],
]);

function bits(...members: number[]): number {
  return members.reduce((sum, member) => sum | (1 << member), 0);
}

/** Classes of the basic plane, 0 where not asked for yet. */
const classes = new Uint8Array(0x10000);

function classify(code: number): number {
  if (code === 0x0a || code === 0x0d) return newline;
  if (code === 0x2f) return slash;
  if (code === 0x27) return apostrophe;
  const character = String.fromCodePoint(code);
  if (/\p{L}/u.test(character)) return letter;
  if (/[\p{M}\p{Cn}\p{Cs}]/u.test(character)) return mark;
  if (/\p{N}/u.test(character)) return digit;
  return /\p{White_Space}/u.test(character) ? space : other;
}

function classOf(code: number): number {
  if (code > 0xffff) return classify(code);
  return classes[code] || (classes[code] = classify(code));
}

// Kinds of runs (K1). `tail`: the line breaks and slashes that a run of signs takes with it.
const [none, letters, signs, spaces, tail] = [0, 1, 2, 3, 4];

function kindAfter(kind: number, next: number): number {
  if (next === letter) return letters;
  if (next === mark) return kind === signs ? signs : letters;
  if (next === digit) return none;
  if (next === space) return spaces;
  if (next === newline) return kind === signs || kind === tail ? tail : spaces;
  return next === slash && kind === tail ? tail : signs;
}

/** Whether cutting at `at` surely leaves all tokens as they are, whatever the text (K2). */
export function isBoundary(text: string, at: number): boolean {
  const before = boundaries.get(classOf(text.charCodeAt(at - 1))) ?? 0;
  return (before & (1 << classOf(text.charCodeAt(at)))) !== 0;
}

function lastBoundary(text: string, start: number, limit: number): number {
  for (let at = limit; at > start; at--) if (isBoundary(text, at)) return at;
  return limit;
}

/** Where the slice that starts at `start` ends (K1, K2). Work in the length of the slice limit, not of the text. */
export function sliceEnd(text: string, start: number): number {
  let bytes = 0;
  let kind = none;
  let run = 0;
  let runMax: number = runUnitsMax.ascii;
  for (let at = start; at < text.length;) {
    const code = text.codePointAt(at) ?? 0;
    const units = code > 0xffff ? 2 : 1;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : units + 2;
    if (bytes > sliceBytesMax) return lastBoundary(text, start, at);
    const next = kindAfter(kind, classOf(code));
    if (next === none || (next !== kind && !(next === tail && kind === signs))) {
      run = 0;
      runMax = runUnitsMax.ascii;
    }
    kind = next;
    run += units;
    if (code >= 0x80) runMax = runUnitsMax.other;
    if (run > runMax) return at;
    at += units;
  }
  return text.length;
}

let encoder: Tiktoken | null = null;
let built = 0;

function theEncoder(): Tiktoken {
  if (encoder === null) {
    encoder = get_encoding('o200k_base');
    built++;
  }
  return encoder;
}

/** One per process, like the encoder (K6). */
const preTokens = new PreTokens((text) => theEncoder().encode_ordinary(text));

/** How many encoders this process has built: 0 or 1 (K6). */
export function encodersBuilt(): number {
  return built;
}

/** The encoder's own tokens of a whole text, unbounded in time (K1): what slicing is compared with. */
export function encodeWhole(text: string): Uint32Array {
  return theEncoder().encode_ordinary(text);
}

function isShort(text: string): boolean {
  if (text.length > sliceBytesMax) return false;
  return text.length * 3 <= sliceBytesMax || Buffer.byteLength(text) <= sliceBytesMax;
}

class O200kTokenizer implements Tokenizer {
  readonly #clock: Pick<Clock, 'breathe' | 'now'>;
  /** Milliseconds of encoding since the loop is known to have turned. */
  #heldMs = 0;
  #turnsAwaited = 0;
  #lastTurn: Promise<void> = Promise.resolve();

  constructor(clock: Pick<Clock, 'breathe' | 'now'>) {
    this.#clock = clock;
    theEncoder(); // Built before the first text comes, which would wait for it.
  }

  encode(text: string, signal: AbortSignal): Uint32Array | Promise<Uint32Array> {
    if (!isShort(text) || this.#heldMs >= breathAfterMs) return this.#encodeInTurns(text, signal);
    const parts: Uint32Array[] = [];
    for (let at = 0; at < text.length;) at = this.#encodeSlice(text, at, parts);
    return this.#finished(parts);
  }

  async #encodeInTurns(text: string, signal: AbortSignal): Promise<Uint32Array> {
    signal.throwIfAborted();
    const parts: Uint32Array[] = [];
    for (let at = 0; at < text.length;) {
      if (at === 0 || this.#heldMs >= breathAfterMs) {
        await this.#nextTurn();
        signal.throwIfAborted();
      }
      at = this.#encodeSlice(text, at, parts);
    }
    return this.#finished(parts);
  }

  #finished(parts: readonly Uint32Array[]): Uint32Array {
    if (this.#heldMs >= watchAfterMs && this.#turnsAwaited === 0) void this.#nextTurn();
    return joined(parts);
  }

  /** Adds the tokens of the slice that starts at `start` to `parts`; returns where the next one starts. */
  #encodeSlice(text: string, start: number, parts: Uint32Array[]): number {
    const began = this.#clock.now();
    const end = sliceEnd(text, start);
    parts.push(preTokens.encode(text.slice(start, end)));
    this.#heldMs += this.#clock.now() - began;
    return end;
  }

  /** A turn of the loop for one text alone: it is asked for when the turn before it has come (K4). */
  #nextTurn(): Promise<void> {
    this.#turnsAwaited++;
    this.#lastTurn = this.#takeTurn(this.#lastTurn);
    return this.#lastTurn;
  }

  async #takeTurn(before: Promise<void>): Promise<void> {
    await before;
    await this.#clock.breathe();
    this.#turnsAwaited--;
    this.#heldMs = 0;
  }
}

/**
 * The tokenizer of o200k_base. Short text is answered in line, whatever the signal says; long text rejects with the
 * signal's reason at the first breath after it aborts. Building the first one takes about half a second.
 */
export function o200kTokenizer(clock: Pick<Clock, 'breathe' | 'now'>): Tokenizer {
  return new O200kTokenizer(clock);
}

/**
 * Remembers the tokens of whole texts, by content, up to `bytesMax`: 2 bytes per UTF-16 unit, 4 per token, 128 per
 * text (two objects and a place in the map). The least recently asked for go first; a text that alone is over the bound is not kept. Kept tokens are shared
 * by everyone who asks: do not write to them.
 */
export function cachedTokenizer(
  inner: Tokenizer,
  { bytesMax }: { bytesMax: number },
): Tokenizer & { readonly bytes: number } {
  const kept = new Map<string, Uint32Array>();
  let bytes = 0;

  const cost = (text: string, tokens: Uint32Array) => 2 * text.length + 4 * tokens.length + 128;
  const forget = (text: string, tokens: Uint32Array) => {
    kept.delete(text);
    bytes -= cost(text, tokens);
  };
  const keep = (text: string, tokens: Uint32Array): Uint32Array => {
    const twin = kept.get(text);
    if (twin !== undefined) forget(text, twin);
    if (cost(text, tokens) > bytesMax) return tokens;
    kept.set(text, tokens);
    bytes += cost(text, tokens);
    for (const [oldText, oldTokens] of kept) {
      if (bytes <= bytesMax) break;
      forget(oldText, oldTokens);
    }
    return tokens;
  };

  return {
    get bytes() {
      return bytes;
    },
    encode(text, signal) {
      const known = kept.get(text);
      const tokens = known ?? inner.encode(text, signal);
      if (tokens instanceof Uint32Array) return keep(text, tokens);
      return tokens.then((encoded) => keep(text, encoded));
    },
  };
}
