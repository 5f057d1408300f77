/**
 * The input of a custom tool, read out of the arguments of the function that stands for it: `{"input":"…"}`, piece by
 * piece as they are sampled.
 */
import { isRecord } from '../../protocol/parse.js';
import { parsedJson } from './json.js';

const opening = /^\s*\{\s*"input"\s*:\s*"/;

/** How much of the escaped text is complete: up to its closing quote, an escape that is cut, or half a pair. */
function completeLength(text: string): { readonly length: number; readonly closed: boolean } {
  let at = 0;
  while (at < text.length) {
    const sign = text[at];
    if (sign === '"') return { length: at, closed: true };
    if (sign !== '\\') {
      at++;
      continue;
    }
    const size = text[at + 1] === 'u' ? 6 : 2;
    const whole = /^\\u[dD][89abAB]/.test(text.slice(at, at + 4)) ? 12 : size;
    if (at + whole > text.length) break;
    at += whole;
  }
  return { length: at, closed: false };
}

export class CustomInput {
  #rest = '';
  #inside = false;
  #closed = false;

  /** What the piece adds to the input: possibly nothing yet. */
  add(piece: string): string {
    if (this.#closed) return '';
    this.#rest += piece;
    if (!this.#inside) {
      const match = opening.exec(this.#rest);
      if (match === null) return '';
      this.#inside = true;
      this.#rest = this.#rest.slice(match[0].length);
    }
    const { length, closed } = completeLength(this.#rest);
    this.#closed = closed;
    const escaped = this.#rest.slice(0, length);
    this.#rest = this.#rest.slice(length);
    // Models that write JSON themselves leave line breaks unescaped at times.
    const strict = escaped
      .replaceAll('\n', String.raw`\n`)
      .replaceAll('\r', String.raw`\r`)
      .replaceAll('\t', String.raw`\t`);
    const text = parsedJson(`"${strict}"`);
    return typeof text === 'string' ? text : escaped;
  }

  /** What is left at the end: arguments of another form are given as they are, or as the input in them. */
  finish(): string {
    if (this.#inside) return '';
    const whole = parsedJson(this.#rest);
    const input = isRecord(whole) ? whole['input'] : undefined;
    return typeof input === 'string' ? input : this.#rest;
  }
}
