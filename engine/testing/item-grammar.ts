/** The grammar of one item: announced empty, grown part by part, closed with all that was said of it. */
import assert from 'node:assert/strict';

import type { OutputItem, ServerEvent } from '../protocol/server-events.js';

/** The events between the announcement of an item and its end. */
export type ContentEvent = Extract<ServerEvent, { item_id: string }>;

type Kind = 'text' | 'refusal' | 'reasoning_text' | 'summary' | 'arguments' | 'input';
type List = 'content' | 'summary' | 'call';

/** A content event, whatever kind of item it belongs to. */
export interface Step {
  readonly kind: Kind;
  readonly act: 'open' | 'grow' | 'finish' | 'close' | 'annotate';
  /** Its number among the parts of its list. Arguments and input of a call are its part 0. */
  readonly part: number;
  readonly text: string;
  /** What is annotated with it, or all that was. */
  readonly annotations: readonly unknown[];
  readonly annotationIndex: number;
}

/** Where the parts of a kind stand, and in which kind of item. */
const placeOf: Readonly<Record<Kind, readonly [of: string, list: List]>> = {
  text: ['message', 'content'],
  refusal: ['message', 'content'],
  reasoning_text: ['reasoning', 'content'],
  summary: ['reasoning', 'summary'],
  arguments: ['function_call', 'call'],
  input: ['custom_tool_call', 'call'],
};

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function textOf(part: unknown): string {
  const text = isRecord(part) ? (part['text'] ?? part['refusal']) : null;
  return typeof text === 'string' ? text : '';
}

function kindOf(part: unknown): Kind {
  const type = isRecord(part) ? part['type'] : null;
  if (type === 'refusal' || type === 'reasoning_text') return type;
  return type === 'summary_text' ? 'summary' : 'text';
}

function annotationsOf(part: unknown): readonly unknown[] {
  const annotations = isRecord(part) ? part['annotations'] : null;
  return Array.isArray(annotations) ? annotations : [];
}

function step(kind: Kind, act: Step['act'], part: number, text: string): Step {
  return { kind, act, part, text, annotations: [], annotationIndex: 0 };
}

export function stepOf(event: ContentEvent): Step {
  switch (event.type) {
    case 'response.content_part.added':
    case 'response.content_part.done': {
      const act = event.type === 'response.content_part.added' ? 'open' : 'close';
      const annotations = annotationsOf(event.part);
      return { ...step(kindOf(event.part), act, event.content_index, textOf(event.part)), annotations };
    }
    case 'response.output_text.delta':
      return step('text', 'grow', event.content_index, event.delta);
    case 'response.output_text.done':
      return step('text', 'finish', event.content_index, event.text);
    case 'response.output_text.annotation.added': {
      const { annotation, annotation_index: annotationIndex } = event;
      const annotate = step('text', 'annotate', event.content_index, '');
      return { ...annotate, annotations: [annotation], annotationIndex };
    }
    case 'response.refusal.delta':
      return step('refusal', 'grow', event.content_index, event.delta);
    case 'response.refusal.done':
      return step('refusal', 'finish', event.content_index, event.refusal);
    case 'response.reasoning_text.delta':
      return step('reasoning_text', 'grow', event.content_index, event.delta);
    case 'response.reasoning_text.done':
      return step('reasoning_text', 'finish', event.content_index, event.text);
    case 'response.reasoning_summary_part.added':
      return step('summary', 'open', event.summary_index, event.part.text);
    case 'response.reasoning_summary_part.done':
      return step('summary', 'close', event.summary_index, event.part.text);
    case 'response.reasoning_summary_text.delta':
      return step('summary', 'grow', event.summary_index, event.delta);
    case 'response.reasoning_summary_text.done':
      return step('summary', 'finish', event.summary_index, event.text);
    case 'response.function_call_arguments.delta':
      return step('arguments', 'grow', 0, event.delta);
    case 'response.function_call_arguments.done':
      return step('arguments', 'finish', 0, event.arguments);
    case 'response.custom_tool_call_input.delta':
      return step('input', 'grow', 0, event.delta);
    case 'response.custom_tool_call_input.done':
      return step('input', 'finish', 0, event.input);
  }
}

interface Part {
  readonly kind: Kind;
  readonly annotations: unknown[];
  said: string;
  finished: boolean;
  closed: boolean;
}

/** What a list of an item says, part by part. */
type Said = readonly (readonly [kind: Kind, text: string, annotations: readonly unknown[]])[];

function saidIn(item: OutputItem): Readonly<Record<List, Said>> {
  const fields: Record<string, unknown> = item;
  const parts = (list: unknown): Said =>
    Array.isArray(list) ? list.map((part) => [kindOf(part), textOf(part), annotationsOf(part)]) : [];
  const call = (kind: Kind): Said => [[kind, String(fields[kind]), []]];
  const isCall =
    item.type === 'function_call' ? 'arguments' : item.type === 'custom_tool_call' ? 'input' : null;
  return {
    content: ['message', 'reasoning'].includes(item.type) ? parts(fields['content']) : [],
    summary: item.type === 'reasoning' ? parts(fields['summary']) : [],
    call: isCall === null ? [] : call(isCall),
  };
}

/** What an item keeps from its announcement to its end. */
function lasting(item: OutputItem): unknown[] {
  return ['type', 'id', 'call_id', 'name', 'namespace', 'phase', 'role'].map((name) => item[name]);
}

/** One item from its announcement to its end. */
export class OpenItemCheck {
  readonly #announced: OutputItem;
  readonly #parts: Readonly<Record<List, Part[]>> = { content: [], summary: [], call: [] };
  #open: Part | null = null;

  constructor(announced: OutputItem) {
    this.#announced = announced;
    if (!['message', 'reasoning', 'function_call', 'custom_tool_call'].includes(announced.type)) return; // It comes whole.
    assert.equal(announced['status'], 'in_progress', 'P51: a new item is in progress');
    const { content, summary, call } = saidIn(announced);
    const said = [...content, ...summary, ...call].map(([, text]) => text);
    assert.equal(said.join(''), '', 'P53: a new item has said nothing');
    for (const [kind] of call) this.#begin(kind);
  }

  take(taken: Step, itemId: string): void {
    const { kind, act, part: index, text } = taken;
    const [of, list] = placeOf[kind];
    assert.equal(itemId, this.#announced.id, 'P51: output_index and item_id name the same item');
    assert.equal(of, this.#announced.type, 'P52: an event of another kind of item');
    if (act === 'open') {
      assert.equal(this.#open, null, 'P52: a part opens when the one before it is closed');
      assert.equal(index, this.#parts[list].length, 'P52: parts open one after another');
      assert.equal(text, '', 'P53: a new part has said nothing');
      assert.deepEqual(taken.annotations, [], 'P53: a new part has no annotations');
      return this.#begin(kind);
    }
    const part = this.#parts[list][index];
    assert.ok(
      part !== undefined && !part.closed,
      'P52: text stands between the beginning and the end of its part',
    );
    assert.equal(kind, part.kind, 'P52: a part grows by deltas of its own kind');
    if (act === 'annotate') {
      assert.equal(taken.annotationIndex, part.annotations.length, 'P53: annotations are counted from 0');
      part.annotations.push(...taken.annotations);
      return;
    }
    assert.equal(
      part.finished,
      act === 'close',
      'P52: deltas, then what they add up to, then the end of the part',
    );
    if (act === 'grow') part.said += text;
    else this.#end(part, taken);
  }

  close(item: OutputItem): void {
    assert.deepEqual(lasting(item), lasting(this.#announced), 'B43: an item keeps its ids');
    if ('status' in item)
      assert.notEqual(item['status'], 'in_progress', 'P51: an item that is done is not in progress');
    assert.equal(this.#open, null, 'P52: every part is closed before its item');
    const said = saidIn(item);
    for (const list of ['content', 'summary', 'call'] as const)
      assert.deepEqual(
        said[list],
        this.#parts[list].map((part) => [part.kind, part.said, part.annotations]),
        'P53: an item that is done says what its deltas said',
      );
    if (item.type === 'message') assert.notEqual(said.content.length, 0, 'P52: a message has a part');
    if (item.type === 'function_call' && item['status'] === 'completed')
      assert.doesNotThrow(
        () => JSON.parse(String(item['arguments'])),
        'P56: the arguments of a call are JSON',
      );
  }

  #begin(kind: Kind): void {
    this.#open = { kind, annotations: [], said: '', finished: false, closed: false };
    this.#parts[placeOf[kind][1]].push(this.#open);
  }

  #end(part: Part, { act, kind, text, annotations }: Step): void {
    assert.equal(text, part.said, 'P53: the deltas, joined, are the text');
    if (act === 'close') assert.deepEqual(annotations, part.annotations, 'P53: a part has its annotations');
    part.finished = true;
    part.closed = act === 'close' || placeOf[kind][1] === 'call';
    if (part.closed) this.#open = null;
  }
}
