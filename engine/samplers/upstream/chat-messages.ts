/**
 * Items of a transcript as chat messages.
 *
 *   M1  What the model said in one run, its reasoning, text and calls, is one assistant message; the outputs of its
 *       calls follow right behind it, whatever stood between them, because this API demands it.
 *   M2  Opaque items have no form here. They are given as their JSON, as the engine counts them.
 */
import { opaqueText } from '../../opaque-text.js';
import {
  isOpaque,
  isSampled,
  isToolCall,
  isToolOutput,
  type Item,
  type Reasoning,
  type ToolCall,
} from '../../protocol/items.js';
import { isRecord } from '../../protocol/parse.js';
import { attachments, chatContent, plainText } from './chat-parts.js';
import { parsedJson, present, type JsonObject } from './json.js';
import type { ToolNames } from './names.js';

export interface ChatStyle {
  readonly names: ToolNames;
  /** Where the upstream reads reasoning; null where it does not. */
  readonly reasoningField: string | null;
  /** Whether it knows the role `developer`. */
  readonly developer: boolean;
}

/** Items with each run's outputs right behind its calls, in call order (M1). */
export function answersFirst(items: readonly Item[]): Item[] {
  const outputs = new Map(items.filter(isToolOutput).map((item) => [item.call_id, item] as const));
  const ordered: Item[] = [];
  const placed = new Set<Item>();
  let owed: string[] = [];
  const pay = (): void => {
    for (const callId of owed) {
      const output = outputs.get(callId);
      if (output === undefined) continue;
      ordered.push(output);
      placed.add(output);
    }
    owed = [];
  };
  for (const item of items) {
    if (!isSampled(item)) pay();
    if (isToolCall(item)) owed.push(item.call_id);
    if (!placed.has(item)) ordered.push(item);
  }
  pay();
  return ordered;
}

/** Arguments as the JSON object that most servers demand: a call that was cut may hold anything. */
function callArguments(text: string): string {
  if (text.trim() === '') return '{}';
  return isRecord(parsedJson(text)) ? text : JSON.stringify({ arguments: text });
}

function chatCall(call: ToolCall, names: ToolNames): JsonObject {
  const name = names.wire(call);
  const given =
    call.type === 'function_call' ? callArguments(call.arguments) : JSON.stringify({ input: call.input });
  return { id: call.call_id, type: 'function', function: { name, arguments: given } };
}

function reasoningText({ summary, content }: Reasoning): string {
  const parts = content?.length ? content : summary;
  return parts.map(({ text }) => text).join('\n\n');
}

class ChatWriter {
  readonly #style: ChatStyle;
  readonly #messages: JsonObject[] = [];
  #said: { texts: string[]; reasoning: string[]; calls: JsonObject[] } | null = null;
  /** Images and files of outputs, for a message behind the last of them. */
  #attached: JsonObject[] = [];

  constructor(style: ChatStyle) {
    this.#style = style;
  }

  add(item: Item): void {
    if (isSampled(item)) {
      this.#attach();
      this.#say(item);
      return;
    }
    this.#closeRun();
    if (isToolOutput(item)) {
      this.#messages.push({ role: 'tool', tool_call_id: item.call_id, content: plainText(item.output) });
      this.#attached.push(...attachments(item.output));
      return;
    }
    this.#attach();
    if (isOpaque(item)) this.#messages.push({ role: 'user', content: opaqueText(item).json });
    else if (item.type === 'message') {
      const role = item.role === 'developer' && !this.#style.developer ? 'system' : item.role;
      this.#messages.push({ role, content: chatContent(item.content) });
    }
  }

  finish(): string[] {
    this.#closeRun();
    this.#attach();
    return this.#messages.map((message) => JSON.stringify(message));
  }

  #say(item: Item): void {
    const said = (this.#said ??= { texts: [], reasoning: [], calls: [] });
    if (isOpaque(item)) said.texts.push(opaqueText(item).json);
    else if (isToolCall(item)) said.calls.push(chatCall(item, this.#style.names));
    else if (item.type === 'reasoning') said.reasoning.push(reasoningText(item));
    else if (item.type === 'message') said.texts.push(plainText(item.content));
  }

  #closeRun(): void {
    if (this.#said === null) return;
    const { texts, reasoning, calls } = this.#said;
    this.#said = null;
    const { reasoningField } = this.#style;
    const thought = reasoning.filter((text) => text !== '').join('\n\n');
    const text = texts.filter((each) => each !== '').join('\n\n');
    if (calls.length === 0 && text === '' && (thought === '' || reasoningField === null)) return;
    this.#messages.push({
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : text,
      ...(reasoningField === null || thought === '' ? {} : { [reasoningField]: thought }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    });
  }

  #attach(): void {
    if (this.#attached.length === 0) return;
    this.#messages.push(present({ role: 'user', content: this.#attached }));
    this.#attached = [];
  }
}

export function chatMessages(items: readonly Item[], style: ChatStyle): string[] {
  const writer = new ChatWriter(style);
  for (const item of answersFirst(items)) writer.add(item);
  return writer.finish();
}
