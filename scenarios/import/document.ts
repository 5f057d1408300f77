/** A trace file as it was read: JSON as a whole, or one JSON value a line. Faults name the file, the line, the field. */
import { pathText } from '../scenario.js';

/** A file that can't be imported, in one sentence: `file: line 7: payload.call_id: expected …`. */
export class TraceError extends Error {
  override readonly name = 'TraceError';
}

/** One line of a file of JSON lines. */
export interface TraceRecord {
  /** From 1. */
  readonly line: number;
  readonly value: unknown;
}

type Path = readonly PropertyKey[];

function afterSpace(text: string, from: number): number {
  let at = from;
  while (/\s/.test(text[at] ?? '')) at++;
  return at;
}

/** The end of the string that opens at `from`. */
function afterString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function afterValue(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length;) {
    const sign = text[at] ?? '';
    if (sign === '"') {
      at = afterString(text, at);
      if (depth === 0) return at;
      continue;
    }
    if (depth === 0 && ',]}'.includes(sign)) return at;
    if ('{['.includes(sign)) depth++;
    if (']}'.includes(sign) && --depth === 0) return at + 1;
    at++;
  }
  return text.length;
}

/** Where the member `key` of the object or array at `from` begins, or -1. */
function memberAt(text: string, from: number, key: PropertyKey): number {
  const isObject = text[from] === '{';
  for (let at = from + 1, index = 0; at < text.length; index++) {
    at = afterSpace(text, at);
    let name: PropertyKey = index;
    if (isObject) {
      const end = afterString(text, at);
      name = text.slice(at + 1, end - 1);
      at = afterSpace(text, afterSpace(text, end) + 1);
    }
    if (name === key) return at;
    at = afterSpace(text, afterValue(text, at));
    if (text[at] !== ',') return -1;
    at++;
  }
  return -1;
}

/** The line (from 1) on which the value at `path` begins, or that of what should hold it. `text` is valid JSON. */
export function lineOf(text: string, path: Path): number {
  let at = afterSpace(text, 0);
  for (const key of path) {
    const member = '{['.includes(text[at] ?? ' ') ? memberAt(text, at, key) : -1;
    if (member < 0) break;
    at = member;
  }
  return text.slice(0, at).split('\n').length;
}

const jsonToken =
  /\s*(?:[{}[\],:]|"(?:[^"\\\p{Cc}]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/uy;

/** Where the first thing stands that is no JSON, as far as its signs alone tell: what V8 says without a place. */
function firstOddity(text: string): number {
  let before = '';
  for (let at = 0; at < text.length; at = jsonToken.lastIndex) {
    jsonToken.lastIndex = at;
    const token = jsonToken.exec(text)?.[0].trim();
    const valueMissing = token !== undefined && ',:}]'.includes(token) && ',:'.includes(before || '{');
    if (token === undefined || valueMissing) return afterSpace(text, at);
    before = token;
  }
  return text.trimEnd().length;
}

function brokenAt(text: string, fault: unknown): number {
  const position = /position (\d+)/.exec(String(fault))?.[1];
  return text.slice(0, position === undefined ? firstOddity(text) : Number(position)).split('\n').length;
}

export class TraceDocument {
  readonly path: string;
  readonly #text: string;
  /** The whole file as one JSON value; undefined where it has several lines that are JSON each. */
  readonly value: unknown;
  /** The lines of a file of JSON lines, a file of one line among them; else empty. */
  readonly records: readonly TraceRecord[];

  /** @throws TraceError where the text is neither JSON nor JSON lines. */
  constructor(path: string, text: string) {
    this.path = path;
    this.#text = text.replace(/^\uFEFF/, '');
    const first = this.#text.trimStart()[0];
    if (first === undefined) throw this.fault(1, [], 'expected a trace or a scenario, got an empty file');
    if (!'{['.includes(first))
      throw this.fault(1, [], `expected JSON or JSON lines, got text that begins with ${this.#opening()}`);
    const whole = this.#whole();
    this.value = whole.value;
    this.records = whole.fault === undefined ? this.#single(whole.value) : this.#lines(whole.fault);
  }

  #opening(): string {
    const line = this.#text.trim().split(/[\r\n]/)[0] ?? '';
    return JSON.stringify(line.length > 40 ? `${line.slice(0, 40)}…` : line);
  }

  #whole(): { readonly value?: unknown; readonly fault?: unknown } {
    try {
      return { value: JSON.parse(this.#text) };
    } catch (fault) {
      return { fault };
    }
  }

  #single(value: unknown): TraceRecord[] {
    const text = this.#text.trimEnd();
    const before = /^\s*/.exec(text)?.[0] ?? '';
    return text.slice(before.length).includes('\n') ? [] : [{ line: before.split('\n').length, value }];
  }

  #lines(fault: unknown): TraceRecord[] {
    const records: TraceRecord[] = [];
    for (const [index, text] of this.#text.split('\n').entries()) {
      if (text.trim() === '') continue;
      try {
        records.push({ line: index + 1, value: JSON.parse(text) });
      } catch (broken) {
        // Where not even the first line stands alone, the file was meant as one JSON value.
        if (records.length === 0)
          throw this.fault(brokenAt(this.#text, fault), [], `not JSON: ${reason(fault)}`);
        throw this.fault(
          index + 1,
          [],
          `expected one JSON object, but the line is not JSON: ${reason(broken)}`,
        );
      }
    }
    return records;
  }

  /** What is wrong, as an error to throw. A line of 0 is looked up by the path. */
  fault(line: number, path: Path, expected: string): TraceError {
    const where = line > 0 ? line : lineOf(this.#text, path);
    const field = path.length === 0 ? '' : `${pathText(path)}: `;
    return new TraceError(`${this.path}: line ${where}: ${field}${expected}`);
  }
}

function reason(fault: unknown): string {
  return (fault instanceof Error ? fault.message : String(fault)).replaceAll(/\s+/g, ' ');
}
