/** Blocks of tokens, `<start> header <message> body <close>`, in line where the tokenizer answers in line (R5). */
import { Bounded } from './bounded.js';
import type { Tokenizer } from './ports.js';

/** Ids of o200k_harmony. It has none for images and files, so two of its reserved ids fill their place. */
export const control = {
  start: 200006,
  end: 200007,
  message: 200008,
  call: 200012,
  image: 200013,
  file: 200014,
} as const;

/** Openings remembered per tokenizer, and the longest header that is remembered, in UTF-16 units. */
const openingsMax = 1024;
const headerUnitsMax = 256;

export type Tokens = Uint32Array | Promise<Uint32Array>;

/** Runs of tokens, one after another; a single one is given back as it is. */
export function joined(parts: readonly Uint32Array[]): Uint32Array {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  const whole = new Uint32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Renders parts one after another, with a promise only from the first part on that needs one (R5). */
export function inOrder<Part>(parts: readonly Part[], render: (part: Part) => Tokens): Tokens {
  const done: Uint32Array[] = [];
  for (const [index, part] of parts.entries()) {
    const tokens = render(part);
    if (!(tokens instanceof Uint32Array)) return finished(done, tokens, parts.slice(index + 1), render);
    done.push(tokens);
  }
  return joined(done);
}

async function finished<Part>(
  done: Uint32Array[],
  next: Promise<Uint32Array>,
  parts: readonly Part[],
  render: (part: Part) => Tokens,
): Promise<Uint32Array> {
  done.push(await next);
  for (const part of parts) done.push(await render(part));
  return joined(done);
}

const openings = new WeakMap<Tokenizer, Bounded<Uint32Array>>();

/** `<start> header <message>`. Headers are short and few, so their tokens are remembered; the oldest go first. */
function openingOf(header: string, tokenizer: Tokenizer, signal: AbortSignal): Tokens {
  let known = openings.get(tokenizer);
  if (known === undefined) openings.set(tokenizer, (known = new Bounded(openingsMax)));
  const remembered = known.get(header);
  if (remembered !== undefined) return remembered;
  const tokens = tokenizer.encode(header, signal);
  if (!(tokens instanceof Uint32Array)) return tokens.then(opened);
  const opening = opened(tokens);
  if (header.length <= headerUnitsMax) known.set(header, opening);
  return opening;
}

function opened(header: Uint32Array): Uint32Array {
  const opening = new Uint32Array(header.length + 2);
  opening[0] = control.start;
  opening.set(header, 1);
  opening[header.length + 1] = control.message;
  return opening;
}

function closed(opening: Uint32Array, body: Uint32Array, close: number): Uint32Array {
  const block = new Uint32Array(opening.length + body.length + 1);
  block.set(opening);
  block.set(body, opening.length);
  block[block.length - 1] = close;
  return block;
}

export function blockOf(
  header: string,
  body: Tokens,
  close: number,
  tokenizer: Tokenizer,
  signal: AbortSignal,
): Tokens {
  const opening = openingOf(header, tokenizer, signal);
  if (opening instanceof Uint32Array && body instanceof Uint32Array) return closed(opening, body, close);
  return Promise.all([opening, body]).then((both) => closed(...both, close));
}
