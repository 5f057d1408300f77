/** An item while it is being sampled: announced, growing by deltas, then closed. One class per kind of content. */
import { openedCallId, owesAnswer, type OwedCall } from './calls.js';
import { Content, Parts } from './item-parts.js';
import {
  callShape,
  messageShape,
  reasoningShape,
  type CallShape,
  type CallStart,
  type PartedShape,
  type Status,
} from './item-shapes.js';
import type { Annotation, StreamEntry } from './log-entry.js';
import type { Item } from './protocol/items.js';
import type { OutputItem } from './protocol/server-events.js';
import type { PartKind, SampledStart } from './samplers/sampler.js';

type EndStatus = 'completed' | 'incomplete';

export interface ClosedItem {
  readonly entries: StreamEntry[];
  /** As it stands on the wire. */
  readonly output: OutputItem;
  /** As it enters the transcript. */
  readonly item: Item;
}

export interface OpenItem {
  readonly start: SampledStart;
  /** Its `output_index`. */
  readonly index: number;
  /** The call this item makes, if it makes one that has to be answered. */
  readonly owed: OwedCall | null;
  added(): StreamEntry;
  grow(delta: string | Uint8Array): StreamEntry[];
  /** @throws Error where the item has no such parts. */
  part(kind: PartKind): StreamEntry[];
  /** @throws Error where the current part is no text of a message. */
  annotate(annotation: Annotation): StreamEntry[];
  end(status: EndStatus, encrypted?: string): ClosedItem;
}

/** What an item needs of its turn. */
export interface ItemRules {
  readonly mintId: (prefix: string) => string;
  /** Whether the client sees the `encrypted_content` of reasoning. */
  readonly encrypted: boolean;
}

type OpaqueStart = Extract<SampledStart, { type: 'opaque' }>;

function announced(index: number, item: OutputItem): StreamEntry {
  return { type: 'response.output_item.added', output_index: index, item };
}
function done(index: number, item: OutputItem): StreamEntry {
  return { type: 'response.output_item.done', output_index: index, item };
}

class PartedItem implements OpenItem {
  readonly start: SampledStart;
  readonly owed = null;
  readonly index: number;
  readonly #shape: PartedShape;
  readonly #parts: Parts;
  readonly #showsEncrypted: boolean;

  constructor(start: SampledStart, index: number, id: string, shape: PartedShape, showsEncrypted: boolean) {
    this.start = start;
    this.index = index;
    this.#shape = shape;
    this.#parts = new Parts(index, id);
    this.#showsEncrypted = showsEncrypted;
  }

  added(): StreamEntry {
    return announced(this.index, this.#shape.item('in_progress', []));
  }

  grow(delta: string | Uint8Array): StreamEntry[] {
    return this.#parts.current(this.#shape.kinds[0]).grow(delta);
  }

  part(kind: PartKind): StreamEntry[] {
    if (!this.#shape.kinds.includes(kind)) throw new Error(`${this.start.type} has no ${kind} part`);
    return this.#parts.begin(kind);
  }

  annotate(annotation: Annotation): StreamEntry[] {
    const part = this.#parts.current(this.#shape.kinds[0]);
    if (part.kind !== 'text') throw new Error(`a ${part.kind} part has no annotations`);
    return part.annotate(annotation);
  }

  end(status: EndStatus, encrypted?: string): ClosedItem {
    const entries = this.#parts.end();
    if (this.#shape.neverEmpty && this.#parts.whole.length === 0)
      entries.push(...this.#parts.begin(this.#shape.kinds[0]), ...this.#parts.end());
    const item = this.#shape.item(status, this.#parts.whole, encrypted);
    const shown = encrypted === undefined || this.#showsEncrypted;
    const output = shown ? item : this.#shape.item(status, this.#parts.whole);
    return { entries: [...entries, done(this.index, output)], output, item };
  }
}

class CallItem implements OpenItem {
  readonly start: CallStart;
  readonly owed: OwedCall;
  readonly index: number;
  readonly #shape: CallShape;
  readonly #content = new Content();

  constructor(start: CallStart, index: number, mintId: ItemRules['mintId']) {
    this.start = start;
    this.index = index;
    const callId = mintId('call');
    this.#shape = callShape(start, index, mintId(start.type === 'function_call' ? 'fc' : 'ctc'), callId);
    this.owed = { call_id: callId, type: start.type, name: start.name };
  }

  added(): StreamEntry {
    return announced(this.index, this.#shape.item('in_progress', ''));
  }

  grow(delta: string | Uint8Array): StreamEntry[] {
    const text = this.#content.add(delta);
    return text === '' ? [] : [this.#shape.delta(text)];
  }

  part(): StreamEntry[] {
    throw new Error('a call has no parts');
  }
  annotate(): StreamEntry[] {
    throw new Error('a call has no annotations');
  }

  end(status: EndStatus): ClosedItem {
    const rest = this.#content.finish();
    const { text } = this.#content;
    const item = this.#shape.item(status, text);
    const entries = [
      ...(rest === '' ? [] : [this.#shape.delta(rest)]),
      this.#shape.done(text),
      done(this.index, item),
    ];
    return { entries, output: item, item };
  }
}

/** It comes whole. */
class OpaqueOpenItem implements OpenItem {
  readonly start: OpaqueStart;
  readonly owed: OwedCall | null;
  readonly index: number;
  readonly #output: OutputItem;
  /** A call that waits for its client is written out like any other, where the sampler does not say how it stands. */
  readonly #statusless: boolean;

  constructor(start: OpaqueStart, index: number, mintId: ItemRules['mintId']) {
    this.start = start;
    this.index = index;
    const { opaque: _, ...fields } = start.item;
    const { type } = start.item;
    const owes = owesAnswer(start.item);
    const isCall = owes && type !== 'mcp_approval_request';
    this.#output = { ...fields, id: mintId('item'), ...(isCall ? { call_id: mintId('call') } : {}) };
    this.#statusless = isCall && (fields['status'] ?? 'in_progress') === 'in_progress';
    const callId = owes ? openedCallId(this.#output) : null;
    this.owed = callId === null ? null : { call_id: callId, type };
  }

  added(): StreamEntry {
    return announced(this.index, this.#with('in_progress'));
  }
  grow(): StreamEntry[] {
    throw new Error('an opaque item has no deltas');
  }
  part(): StreamEntry[] {
    throw new Error('an opaque item has no parts');
  }
  annotate(): StreamEntry[] {
    throw new Error('an opaque item has no annotations');
  }

  end(): ClosedItem {
    const output = this.#with('completed');
    const item: Item = { ...this.start.item, ...output, opaque: true };
    return { entries: [done(this.index, output)], output, item };
  }

  #with(status: Status): OutputItem {
    return this.#statusless ? { ...this.#output, status } : this.#output;
  }
}

/** Opens an announced item. Its ids are the engine's own: a sampler's ids never reach the wire. */
export function openItem(start: SampledStart, index: number, { mintId, encrypted }: ItemRules): OpenItem {
  switch (start.type) {
    case 'opaque':
      return new OpaqueOpenItem(start, index, mintId);
    case 'message': {
      const id = mintId('msg');
      return new PartedItem(start, index, id, messageShape(start, id), encrypted);
    }
    case 'reasoning': {
      const id = mintId('rs');
      return new PartedItem(start, index, id, reasoningShape(id), encrypted);
    }
    case 'function_call':
    case 'custom_tool_call':
      return new CallItem(start, index, mintId);
  }
}
