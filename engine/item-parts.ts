/** The parts of an item: their kinds, the events that tell of one, and one part while it grows. */
import { TextDecoder } from 'node:util';

import type {
  Annotation,
  ReasoningTextPart,
  RefusalPart,
  StreamEntry,
  SummaryPart,
  TextPart,
} from './log-entry.js';
import type { PartKind } from './samplers/sampler.js';

/** A part that is whole. */
export interface Said {
  readonly kind: PartKind;
  readonly text: string;
  readonly annotations: readonly Annotation[];
}

/** The parts of a message, as its `content`. */
export function messageContent(parts: readonly Said[]): (TextPart | RefusalPart)[] {
  return parts.map(({ kind, text, annotations }) =>
    kind === 'refusal'
      ? { type: 'refusal', refusal: text }
      : { type: 'output_text', text, annotations: [...annotations] },
  );
}

export function summaryOf(parts: readonly Said[]): SummaryPart[] {
  return parts.filter(({ kind }) => kind === 'summary').map(({ text }) => ({ type: 'summary_text', text }));
}

/** The raw thoughts of reasoning, as its `content`. */
export function reasoningContent(parts: readonly Said[]): ReasoningTextPart[] {
  return parts
    .filter(({ kind }) => kind === 'reasoning_text')
    .map(({ text }) => ({ type: 'reasoning_text', text }));
}

/** Where a part stands: its item, and its number among the parts of its list. */
export interface PartPlace {
  readonly output_index: number;
  readonly item_id: string;
  readonly part: number;
}

interface PartEvents {
  readonly added: () => StreamEntry;
  readonly delta: (delta: string) => StreamEntry;
  readonly done: (said: Said) => StreamEntry[];
}

/** Written out, field by field: spread into, each would cost V8 thirty times as much. */
function partEvents(kind: PartKind, { output_index, item_id, part }: PartPlace): PartEvents {
  const content_index = part;
  const content = (text: string, annotations: readonly Annotation[]) =>
    kind === 'reasoning_text'
      ? { type: kind, text }
      : kind === 'refusal'
        ? { type: kind, refusal: text }
        : { type: 'output_text' as const, text, annotations: [...annotations] };
  const bracketed = (delta: PartEvents['delta'], whole: (text: string) => StreamEntry): PartEvents => ({
    added: () => ({
      type: 'response.content_part.added',
      output_index,
      item_id,
      content_index,
      part: content('', []),
    }),
    delta,
    done: ({ text, annotations }) => [
      whole(text),
      {
        type: 'response.content_part.done',
        output_index,
        item_id,
        content_index,
        part: content(text, annotations),
      },
    ],
  });
  switch (kind) {
    case 'text':
      return bracketed(
        (delta) => ({ type: 'response.output_text.delta', output_index, item_id, content_index, delta }),
        (text) => ({ type: 'response.output_text.done', output_index, item_id, content_index, text }),
      );
    case 'refusal':
      return bracketed(
        (delta) => ({ type: 'response.refusal.delta', output_index, item_id, content_index, delta }),
        (refusal) => ({ type: 'response.refusal.done', output_index, item_id, content_index, refusal }),
      );
    case 'reasoning_text':
      return bracketed(
        (delta) => ({ type: 'response.reasoning_text.delta', output_index, item_id, content_index, delta }),
        (text) => ({ type: 'response.reasoning_text.done', output_index, item_id, content_index, text }),
      );
    case 'summary':
      return summaryEvents(output_index, item_id, part);
  }
}

function summaryEvents(output_index: number, item_id: string, summary_index: number): PartEvents {
  const part = (text: string): SummaryPart => ({ type: 'summary_text', text });
  return {
    added: () => ({
      type: 'response.reasoning_summary_part.added',
      output_index,
      item_id,
      summary_index,
      part: part(''),
    }),
    delta: (delta) => ({
      type: 'response.reasoning_summary_text.delta',
      output_index,
      item_id,
      summary_index,
      delta,
    }),
    done: ({ text }) => [
      { type: 'response.reasoning_summary_text.done', output_index, item_id, summary_index, text },
      {
        type: 'response.reasoning_summary_part.done',
        output_index,
        item_id,
        summary_index,
        part: part(text),
      },
    ],
  };
}

/** Joins deltas; holds back bytes that end inside a character (U3). */
export class Content {
  #text = '';
  #decoder: TextDecoder | null = null;

  get text(): string {
    return this.#text;
  }

  /** What the delta adds as text: possibly nothing yet. */
  add(delta: string | Uint8Array): string {
    const text = typeof delta === 'string' ? this.#flush() + delta : this.#decode(delta);
    this.#text += text;
    return text;
  }

  /** What is left at the end: a replacement character for a cut one, else nothing. */
  finish(): string {
    const rest = this.#flush();
    this.#text += rest;
    return rest;
  }

  #decode(bytes: Uint8Array): string {
    this.#decoder ??= new TextDecoder('utf-8', { ignoreBOM: true });
    return this.#decoder.decode(bytes, { stream: true });
  }

  #flush(): string {
    const rest = this.#decoder?.decode() ?? '';
    this.#decoder = null;
    return rest;
  }
}

/** A part that grows. It is announced with the first thing it says. */
export class OpenPart {
  readonly kind: PartKind;
  readonly #place: PartPlace;
  readonly #events: PartEvents;
  readonly #content = new Content();
  readonly #annotations: Annotation[] = [];
  #announced = false;

  constructor(kind: PartKind, place: PartPlace) {
    this.kind = kind;
    this.#place = place;
    this.#events = partEvents(kind, place);
  }

  announce(): StreamEntry[] {
    if (this.#announced) return [];
    this.#announced = true;
    return [this.#events.added()];
  }

  grow(delta: string | Uint8Array): StreamEntry[] {
    const text = this.#content.add(delta);
    return text === '' ? [] : this.#told(this.#events.delta(text));
  }

  annotate(annotation: Annotation): StreamEntry[] {
    const { output_index, item_id, part } = this.#place;
    const annotation_index = this.#annotations.push(annotation) - 1;
    return this.#told({
      type: 'response.output_text.annotation.added',
      output_index,
      item_id,
      content_index: part,
      annotation_index,
      annotation,
    });
  }

  /** The rest of it, and what it has said; null where nothing was ever told of it. */
  end(): { readonly entries: StreamEntry[]; readonly said: Said } | null {
    const rest = this.#content.finish();
    const entries = rest === '' ? [] : this.#told(this.#events.delta(rest));
    if (!this.#announced) return null;
    const said = { kind: this.kind, text: this.#content.text, annotations: this.#annotations };
    return { entries: [...entries, ...this.#events.done(said)], said };
  }

  #told(entry: StreamEntry): StreamEntry[] {
    return this.#announced ? [entry] : [...this.announce(), entry];
  }
}

/** The parts of one item: one after another, each whole before the next begins. */
export class Parts {
  readonly #index: number;
  readonly #itemId: string;
  readonly #whole: Said[] = [];
  #open: OpenPart | null = null;

  constructor(index: number, itemId: string) {
    this.#index = index;
    this.#itemId = itemId;
  }

  get whole(): readonly Said[] {
    return this.#whole;
  }

  /** The part that is open; one of that kind where none is. Summaries are numbered apart from all others. */
  current(kind: PartKind): OpenPart {
    if (this.#open !== null) return this.#open;
    const before = this.#whole.filter((said) => (said.kind === 'summary') === (kind === 'summary'));
    const place = { output_index: this.#index, item_id: this.#itemId, part: before.length };
    return (this.#open = new OpenPart(kind, place));
  }

  begin(kind: PartKind): StreamEntry[] {
    return [...this.end(), ...this.current(kind).announce()];
  }

  end(): StreamEntry[] {
    const ended = this.#open?.end() ?? null;
    this.#open = null;
    if (ended === null) return [];
    this.#whole.push(ended.said);
    return ended.entries;
  }
}
