/** The content of an item, piece by piece: what deltas, parts and annotations are told up to a token (P1 to P3 of playback). */
import type { SamplerEvent } from './sampler.js';
import { contentOf, isParted, type ScriptItem, type ScriptPart } from './script.js';

/** What is told of an item between its announcement and its end. */
export type Piece = Extract<SamplerEvent, { type: 'delta' | 'part' | 'annotation' }>;

/** The content of one item, told piece by piece. */
export interface Content {
  /** What follows the last piece, up to token `to`. `cut`: nothing comes after it. */
  take(to: number, cut: boolean): Piece[];
}

class TextContent implements Content {
  readonly #key: number;
  readonly #text: string;
  readonly #tokens: number;
  readonly #pieceTokensMax: number;
  #taken = 0;
  #offset = 0;

  constructor(key: number, text: string, tokens: number, pieceTokensMax: number) {
    this.#key = key;
    this.#text = text;
    this.#tokens = tokens;
    this.#pieceTokensMax = pieceTokensMax;
  }

  take(to: number): Piece[] {
    const pieces: Piece[] = [];
    while (this.#taken < to) {
      const end = Math.min(this.#taken + this.#pieceTokensMax, to);
      const offset = this.#offsetOf(end);
      pieces.push({
        type: 'delta',
        key: this.#key,
        delta: this.#text.slice(this.#offset, offset),
        tokens: end - this.#taken,
      });
      this.#taken = end;
      this.#offset = offset;
    }
    return pieces;
  }

  /** Where the text's token `k` begins (P1). */
  #offsetOf(k: number): number {
    const offset = Math.floor((this.#text.length * k) / this.#tokens);
    const before = this.#text.charCodeAt(offset - 1);
    const after = this.#text.charCodeAt(offset);
    const cutsPair = before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000;
    return cutsPair ? offset + 1 : offset;
  }
}

/** Pieces are told as they are: each with the last token that any of its bytes belongs to. */
class ByteContent implements Content {
  readonly #key: number;
  readonly #parts: readonly Uint8Array[];
  /** Tokens up to and including each part. */
  readonly #through: readonly number[];
  #part = 0;
  #taken = 0;

  constructor(key: number, parts: readonly Uint8Array[], tokens: number) {
    this.#key = key;
    this.#parts = parts;
    const bytesInAll = parts.reduce((sum, part) => sum + part.length, 0);
    let bytes = 0;
    this.#through = parts.map((part) => {
      bytes += part.length;
      return Math.max(Math.ceil((tokens * bytes) / bytesInAll), 1);
    });
  }

  take(to: number, cut: boolean): Piece[] {
    const pieces: Piece[] = [];
    for (let part = this.#parts[this.#part]; part !== undefined; part = this.#parts[this.#part]) {
      const through = this.#through[this.#part] ?? 0;
      if (through > to) {
        if (cut && to > this.#taken) pieces.push(this.#fraction(part, through, to));
        break;
      }
      pieces.push({ type: 'delta', key: this.#key, delta: part, tokens: through - this.#taken });
      this.#taken = through;
      this.#part++;
    }
    return pieces;
  }

  /** A cut falls where it falls, inside a part too (P2). */
  #fraction(part: Uint8Array, through: number, to: number): Piece {
    const tokens = to - this.#taken;
    const bytes = Math.floor((part.length * tokens) / (through - this.#taken));
    return { type: 'delta', key: this.#key, delta: part.subarray(0, bytes), tokens };
  }
}

/** Parts one after another: each announced with its first token, its annotations told with its last (P3). */
class PartedContent implements Content {
  readonly #key: number;
  readonly #parts: readonly (ScriptPart & { readonly from: number; readonly to: number })[];
  readonly #pieceTokensMax: number;
  #part = 0;
  #text: TextContent | null = null;

  constructor(key: number, parts: readonly ScriptPart[], tokens: number, pieceTokensMax: number) {
    this.#key = key;
    this.#pieceTokensMax = pieceTokensMax;
    const units = parts.reduce((sum, { text }) => sum + text.length, 0);
    let told = 0;
    let to = 0;
    this.#parts = parts.map((part) => {
      const from = to;
      told += part.text.length;
      to = units === 0 ? 0 : Math.round((tokens * told) / units);
      return { ...part, from, to };
    });
  }

  take(to: number): Piece[] {
    const pieces: Piece[] = [];
    const key = this.#key;
    for (let part = this.#parts[this.#part]; part !== undefined; part = this.#parts[this.#part]) {
      if (to <= part.from && part.to > part.from) break;
      if (this.#text === null) {
        pieces.push({ type: 'part', key, part: part.part });
        this.#text = new TextContent(key, part.text, part.to - part.from, this.#pieceTokensMax);
      }
      const tokens = part.to - part.from;
      if (tokens === 0 && part.text !== '') pieces.push({ type: 'delta', key, delta: part.text, tokens });
      pieces.push(...this.#text.take(Math.min(to, part.to) - part.from));
      if (to < part.to) break;
      for (const annotation of part.annotations ?? []) pieces.push({ type: 'annotation', key, annotation });
      this.#text = null;
      this.#part++;
    }
    return pieces;
  }
}

/** @param key the item's, in the events of its turn. */
export function contentFor(item: ScriptItem, key: number, tokens: number, deltaTokensMax: number): Content {
  const content = contentOf(item);
  if (typeof content === 'string') return new TextContent(key, content, tokens, deltaTokensMax);
  if (isParted(content)) return new PartedContent(key, content, tokens, deltaTokensMax);
  return new ByteContent(key, content, tokens);
}
