/** An item while it is being sampled: announced, growing by deltas, then closed. One class per kind of content. */
import { TextDecoder } from 'node:util';

import type { StreamEntry } from './log-entry.js';
import type { Item } from './protocol/items.js';
import type { OutputItem } from './protocol/server-events.js';
import type { SampledStart } from './samplers/sampler.js';
import type { OwedCall } from './suspension.js';

type Status = 'in_progress' | 'completed' | 'incomplete';

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
  /** The call this item makes, if it makes one. */
  readonly owed: OwedCall | null;
  added(): StreamEntry;
  partAdded(): StreamEntry[];
  grow(delta: string | Uint8Array): StreamEntry[];
  end(status: 'completed' | 'incomplete'): ClosedItem;
}

/** Joins deltas; holds back bytes that end inside a character (U3). */
class Content {
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

interface Shape {
  readonly item: (status: Status, text: string) => OutputItem & Item;
  readonly partAdded: () => StreamEntry[];
  readonly delta: (delta: string) => StreamEntry;
  readonly done: (text: string) => StreamEntry[];
}

class TextualItem implements OpenItem {
  readonly start: SampledStart;
  readonly owed: OwedCall | null;
  readonly index: number;
  readonly #shape: Shape;
  readonly #content = new Content();

  constructor(start: SampledStart, index: number, shape: Shape, owed: OwedCall | null) {
    this.start = start;
    this.index = index;
    this.#shape = shape;
    this.owed = owed;
  }

  added(): StreamEntry {
    const item = this.#shape.item('in_progress', '');
    return { type: 'response.output_item.added', output_index: this.index, item };
  }

  partAdded(): StreamEntry[] {
    return this.#shape.partAdded();
  }

  grow(delta: string | Uint8Array): StreamEntry[] {
    const text = this.#content.add(delta);
    return text === '' ? [] : [this.#shape.delta(text)];
  }

  end(status: 'completed' | 'incomplete'): ClosedItem {
    const rest = this.#content.finish();
    const item = this.#shape.item(status, this.#content.text);
    const entries = [
      ...(rest === '' ? [] : [this.#shape.delta(rest)]),
      ...this.#shape.done(this.#content.text),
      { type: 'response.output_item.done' as const, output_index: this.index, item },
    ];
    return { entries, output: item, item };
  }
}

class OpaqueOpenItem implements OpenItem {
  readonly start: Extract<SampledStart, { type: 'opaque' }>;
  readonly owed: OwedCall | null;
  readonly index: number;
  readonly #output: OutputItem;

  constructor(
    start: Extract<SampledStart, { type: 'opaque' }>,
    index: number,
    mintId: (prefix: string) => string,
  ) {
    this.start = start;
    this.index = index;
    const { opaque: _, ...fields } = start.item;
    const id = mintId('item');
    const owes = start.item.type.endsWith('_call');
    const callId = owes ? mintId('call') : undefined;
    this.#output = { ...fields, id, ...(callId === undefined ? {} : { call_id: callId }) };
    this.owed = callId === undefined ? null : { call_id: callId, type: start.item.type };
  }

  added(): StreamEntry {
    return { type: 'response.output_item.added', output_index: this.index, item: this.#output };
  }

  partAdded(): StreamEntry[] {
    return [];
  }

  grow(): StreamEntry[] {
    throw new Error('an opaque item has no deltas');
  }

  end(): ClosedItem {
    const output = this.#output;
    const done: StreamEntry = { type: 'response.output_item.done', output_index: this.index, item: output };
    return { entries: [done], output, item: { ...this.start.item, ...output, opaque: true } };
  }
}

function messageShape(index: number, id: string): Shape {
  const at = { output_index: index, item_id: id, content_index: 0 };
  const part = (text: string) => ({ type: 'output_text' as const, text, annotations: [] });
  return {
    item: (status, text) => ({
      type: 'message',
      id,
      role: 'assistant',
      status,
      content: status === 'in_progress' ? [] : [part(text)],
    }),
    partAdded: () => [{ ...at, type: 'response.content_part.added', part: part('') }],
    delta: (delta) => ({ ...at, type: 'response.output_text.delta', delta }),
    done: (text) => [
      { ...at, type: 'response.output_text.done', text },
      { ...at, type: 'response.content_part.done', part: part(text) },
    ],
  };
}

function reasoningShape(index: number, id: string): Shape {
  const at = { output_index: index, item_id: id, summary_index: 0 };
  const part = (text: string) => ({ type: 'summary_text' as const, text });
  return {
    item: (status, text) => ({
      type: 'reasoning',
      id,
      status,
      summary: status === 'in_progress' ? [] : [part(text)],
    }),
    partAdded: () => [{ ...at, type: 'response.reasoning_summary_part.added', part: part('') }],
    delta: (delta) => ({ ...at, type: 'response.reasoning_summary_text.delta', delta }),
    done: (text) => [
      { ...at, type: 'response.reasoning_summary_text.done', text },
      { ...at, type: 'response.reasoning_summary_part.done', part: part(text) },
    ],
  };
}

type CallStart = Extract<SampledStart, { type: 'function_call' | 'custom_tool_call' }>;

function callShape(start: CallStart, index: number, id: string, callId: string): Shape {
  const at = { output_index: index, item_id: id };
  const named = {
    id,
    call_id: callId,
    name: start.name,
    ...(start.namespace === undefined ? {} : { namespace: start.namespace }),
  };
  if (start.type === 'function_call')
    return {
      item: (status, text) => ({ type: 'function_call', ...named, arguments: text, status }),
      partAdded: () => [],
      delta: (delta) => ({ ...at, type: 'response.function_call_arguments.delta', delta }),
      done: (text) => [{ ...at, type: 'response.function_call_arguments.done', arguments: text }],
    };
  return {
    item: (status, text) => ({ type: 'custom_tool_call', ...named, input: text, status }),
    partAdded: () => [],
    delta: (delta) => ({ ...at, type: 'response.custom_tool_call_input.delta', delta }),
    done: (text) => [{ ...at, type: 'response.custom_tool_call_input.done', input: text }],
  };
}

/** Opens an announced item. Its ids are the engine's own: a sampler's ids never reach the wire. */
export function openItem(start: SampledStart, index: number, mintId: (prefix: string) => string): OpenItem {
  switch (start.type) {
    case 'opaque':
      return new OpaqueOpenItem(start, index, mintId);
    case 'message':
      return new TextualItem(start, index, messageShape(index, mintId('msg')), null);
    case 'reasoning':
      return new TextualItem(start, index, reasoningShape(index, mintId('rs')), null);
    case 'function_call':
    case 'custom_tool_call': {
      const callId = mintId('call');
      const id = mintId(start.type === 'function_call' ? 'fc' : 'ctc');
      const owed = { call_id: callId, type: start.type, name: start.name };
      return new TextualItem(start, index, callShape(start, index, id, callId), owed);
    }
  }
}
