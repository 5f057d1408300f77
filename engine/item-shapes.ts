/** What items are made of: how one of each kind looks while it grows and when it is done, and the events of a call. Pure. */
import { messageContent, reasoningContent, summaryOf, type Said } from './item-parts.js';
import type { StreamEntry } from './log-entry.js';
import type { Item } from './protocol/items.js';
import type { OutputItem } from './protocol/server-events.js';
import type { PartKind, SampledStart } from './samplers/sampler.js';

export type Status = 'in_progress' | 'completed' | 'incomplete';
export type MessageStart = Extract<SampledStart, { type: 'message' }>;
export type CallStart = Extract<SampledStart, { type: 'function_call' | 'custom_tool_call' }>;

/** What an item with parts is made of. */
export interface PartedShape {
  /** Kinds of part it may have; deltas without a part begin the first. */
  readonly kinds: readonly [PartKind, ...PartKind[]];
  /** It has a part even when it says nothing. */
  readonly neverEmpty: boolean;
  readonly item: (status: Status, parts: readonly Said[], encrypted?: string) => OutputItem & Item;
}

export function messageShape({ phase }: MessageStart, id: string): PartedShape {
  return {
    kinds: ['text', 'refusal'],
    neverEmpty: true,
    item: (status, parts) => ({
      type: 'message',
      id,
      role: 'assistant',
      status,
      content: messageContent(parts),
      ...(phase === undefined ? {} : { phase }),
    }),
  };
}

export function reasoningShape(id: string): PartedShape {
  return {
    kinds: ['summary', 'reasoning_text'],
    neverEmpty: false,
    item(status, parts, encrypted) {
      const content = reasoningContent(parts);
      return {
        type: 'reasoning',
        id,
        status,
        summary: summaryOf(parts),
        ...(content.length === 0 ? {} : { content }),
        ...(encrypted === undefined ? {} : { encrypted_content: encrypted }),
      };
    },
  };
}

/** The events of one kind of call, and the item. */
export interface CallShape {
  readonly item: (status: Status, text: string) => OutputItem & Item;
  readonly delta: (delta: string) => StreamEntry;
  readonly done: (text: string) => StreamEntry;
}

/** Written out field by field, as the deltas of parts are: copied by spread, an item costs more than its serialisation. */
export function callShape(start: CallStart, output_index: number, id: string, callId: string): CallShape {
  const { name, namespace } = start;
  const item_id = id;
  if (start.type === 'function_call')
    return {
      item(status, text) {
        const item = { type: start.type, id, call_id: callId, name, arguments: text, status };
        return namespace === undefined ? item : { ...item, namespace };
      },
      delta: (delta) => ({ type: 'response.function_call_arguments.delta', output_index, item_id, delta }),
      done: (text) => ({
        type: 'response.function_call_arguments.done',
        output_index,
        item_id,
        arguments: text,
      }),
    };
  return {
    item(status, text) {
      const item = { type: start.type, id, call_id: callId, name, input: text, status };
      return namespace === undefined ? item : { ...item, namespace };
    },
    delta: (delta) => ({ type: 'response.custom_tool_call_input.delta', output_index, item_id, delta }),
    done: (text) => ({ type: 'response.custom_tool_call_input.done', output_index, item_id, input: text }),
  };
}
