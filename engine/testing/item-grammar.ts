/** The grammar of one item: announced empty, grown by deltas, finished, closed with all that was said of it. */
import assert from 'node:assert/strict';

import type { OutputItem, ServerEvent } from '../protocol/server-events.js';

/** The events between the announcement of an item and its end. */
export type ContentEvent = Extract<ServerEvent, { item_id: string }>;

/** A content event, whatever kind of item it belongs to. */
export interface Step {
  readonly of: string;
  readonly act: 'open' | 'grow' | 'finish' | 'close';
  /** Which part of the item. Arguments and input of a call are its part 0. */
  readonly part: number;
  readonly text: string;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function textOf(part: unknown): string {
  const text = isRecord(part) ? (part['text'] ?? part['refusal']) : null;
  return typeof text === 'string' ? text : '';
}

export function stepOf(event: ContentEvent): Step {
  switch (event.type) {
    case 'response.content_part.added':
      return { of: 'message', act: 'open', part: event.content_index, text: textOf(event.part) };
    case 'response.output_text.delta':
      return { of: 'message', act: 'grow', part: event.content_index, text: event.delta };
    case 'response.output_text.done':
      return { of: 'message', act: 'finish', part: event.content_index, text: event.text };
    case 'response.content_part.done':
      return { of: 'message', act: 'close', part: event.content_index, text: textOf(event.part) };
    case 'response.reasoning_summary_part.added':
      return { of: 'reasoning', act: 'open', part: event.summary_index, text: event.part.text };
    case 'response.reasoning_summary_text.delta':
      return { of: 'reasoning', act: 'grow', part: event.summary_index, text: event.delta };
    case 'response.reasoning_summary_text.done':
      return { of: 'reasoning', act: 'finish', part: event.summary_index, text: event.text };
    case 'response.reasoning_summary_part.done':
      return { of: 'reasoning', act: 'close', part: event.summary_index, text: event.part.text };
    case 'response.function_call_arguments.delta':
      return { of: 'function_call', act: 'grow', part: 0, text: event.delta };
    case 'response.function_call_arguments.done':
      return { of: 'function_call', act: 'finish', part: 0, text: event.arguments };
    case 'response.custom_tool_call_input.delta':
      return { of: 'custom_tool_call', act: 'grow', part: 0, text: event.delta };
    case 'response.custom_tool_call_input.done':
      return { of: 'custom_tool_call', act: 'finish', part: 0, text: event.input };
  }
}

/** The id of the call that an item makes, or null. */
export function callIdOf(item: OutputItem): string | null {
  const callId = item['call_id'];
  return item.type.endsWith('_call') && typeof callId === 'string' ? callId : null;
}

/** What an item says, part by part. */
function partsOf(item: OutputItem): string[] {
  const fields: Record<string, unknown> = item;
  const texts = (parts: unknown): string[] => (Array.isArray(parts) ? parts.map(textOf) : []);
  switch (item.type) {
    case 'message':
      return texts(fields['content']);
    case 'reasoning':
      return texts(fields['summary']);
    case 'function_call':
      return [String(fields['arguments'])];
    case 'custom_tool_call':
      return [String(fields['input'])];
    default:
      return [];
  }
}

interface Part {
  said: string;
  finished: boolean;
  closed: boolean;
}

/** One item from its announcement to its end. */
export class OpenItemCheck {
  readonly #announced: OutputItem;
  readonly #isCall: boolean;
  readonly #parts: Part[] = [];

  constructor(announced: OutputItem) {
    this.#announced = announced;
    this.#isCall = ['function_call', 'custom_tool_call'].includes(announced.type);
    if (!this.#isCall && !['message', 'reasoning'].includes(announced.type)) return; // It comes whole.
    assert.equal(announced['status'], 'in_progress', 'P51: a new item is in progress');
    assert.equal(partsOf(announced).join(''), '', 'P53: a new item has said nothing');
    if (this.#isCall) this.#parts.push({ said: '', finished: false, closed: false });
  }

  take({ of, act, part: index, text }: Step, itemId: string): void {
    assert.equal(itemId, this.#announced.id, 'P51: output_index and item_id name the same item');
    assert.equal(of, this.#announced.type, 'an event of another kind of item');
    if (act === 'open') {
      assert.equal(index, this.#parts.length, 'P52: parts open one after another');
      assert.ok(this.#parts.at(-1)?.closed ?? true, 'P52: a part opens when the one before it is closed');
      assert.equal(text, '', 'P53: a new part has said nothing');
      this.#parts.push({ said: '', finished: false, closed: false });
      return;
    }
    const part = this.#parts[index];
    assert.ok(
      part !== undefined && !part.closed,
      'P52: text stands between the beginning and the end of its part',
    );
    assert.equal(
      part.finished,
      act === 'close',
      'P52: deltas, then what they add up to, then the end of the part',
    );
    if (act === 'grow') {
      part.said += text;
      return;
    }
    assert.equal(text, part.said, 'P53: the deltas, joined, are the text');
    part.finished = true;
    part.closed = act === 'close' || this.#isCall;
  }

  close(item: OutputItem): void {
    assert.deepEqual(
      [item.type, item.id, item['call_id'], item['name']],
      [this.#announced.type, this.#announced.id, this.#announced['call_id'], this.#announced['name']],
      'B43: an item keeps its ids',
    );
    if ('status' in item)
      assert.notEqual(item['status'], 'in_progress', 'P51: an item that is done is not in progress');
    assert.ok(
      this.#parts.every((part) => part.closed),
      'P52: every part is closed before its item',
    );
    const said = this.#parts.map((part) => part.said);
    assert.deepEqual(partsOf(item), said, 'P53: an item that is done says what its deltas said');
    if (item.type === 'function_call' && item['status'] === 'completed')
      assert.doesNotThrow(() => JSON.parse(said.join('')), 'P56: the arguments of a call are JSON');
  }
}
