/**
 * One turn: a fold from sampler events to log entries and to the items that enter the transcript.
 *
 *   U1  Items open in ascending `output_index`; the deltas of an item, joined, equal its content.
 *   U2  A call is owed when it is announced, before its arguments exist (S1).
 *   U3  Bytes that end inside a character wait for the rest; what never completes becomes one U+FFFD at the end.
 *   U4  An item that is open when the turn is cut, cancelled or failed is closed as incomplete.
 */
import type { LogEntry, StreamEntry, TurnUsage } from './log-entry.js';
import type { IncompleteReason } from './outcome.js';
import type { Item } from './protocol/items.js';
import { ProtocolError } from './protocol/errors.js';
import type { ToolChoice } from './protocol/requests.js';
import type { OutputItem } from './protocol/server-events.js';
import type { SampledStart, SamplerEvent } from './samplers/sampler.js';
import { openItem, type OpenItem } from './open-item.js';
import type { OwedCall } from './suspension.js';
import { allowsCall } from './tool-choice.js';

/** A finished item, in wire form and as it enters the transcript, with the tokens its sampler knew. */
export interface SampledItem {
  /** Its `output_index`. */
  readonly index: number;
  readonly output: OutputItem;
  readonly item: Item;
  readonly tokens: Uint32Array | undefined;
}

export interface TurnRules {
  readonly choice: ToolChoice;
  readonly parallelToolCalls: boolean;
  /** Calls this rollout may still make. */
  readonly callsLeft: number;
  readonly outputTokensMax: number;
  readonly mintId: (prefix: string) => string;
  readonly owe: (call: OwedCall) => void;
}

export class Turn {
  /** Finished items in order of their announcement, whichever ended first: so their calls are owed (S2). */
  readonly sampled: SampledItem[] = [];
  readonly #rules: TurnRules;
  readonly #firstIndex: number;
  readonly #open = new Map<number, OpenItem>();
  /** Keys of calls beyond the one that `parallel_tool_calls:false` allows. */
  readonly #dropped = new Set<number>();
  #items = 0;
  #calls = 0;
  #held = 0;
  #output = 0;
  #reasoning = 0;
  /** Why sampling stopped before the sampler was done, if it did. */
  cut: IncompleteReason | null = null;

  constructor(firstIndex: number, rules: TurnRules) {
    this.#firstIndex = firstIndex;
    this.#rules = rules;
  }

  get calls(): number {
    return this.#calls;
  }
  /** Items were announced and have not ended. */
  get open(): boolean {
    return this.#open.size > 0;
  }

  /** Tokens sampled, and of the context what the sampler says it held. */
  get usage(): Pick<TurnUsage, 'held' | 'output' | 'reasoning'> {
    return { held: this.#held, output: this.#output, reasoning: this.#reasoning };
  }

  accept(event: SamplerEvent): LogEntry[] {
    switch (event.type) {
      case 'prefill':
        this.#held = event.held;
        return [];
      case 'item':
        return this.#begin(event.key, event.start);
      case 'delta':
        return this.#grow(event);
      case 'item_end':
        return this.#finish(event.key, event.tokens);
      case 'cut':
        this.cut = 'max_output_tokens';
        return this.close();
    }
  }

  /** Closes what is open, as incomplete (U4). */
  close(): StreamEntry[] {
    const entries = [...this.#open.values()].flatMap((item) => this.#end(item, 'incomplete', undefined));
    this.#open.clear();
    return entries;
  }

  #begin(key: number, start: SampledStart): StreamEntry[] {
    if (isCall(start) && !this.#admitCall(key, start)) return [];
    const item = openItem(start, this.#firstIndex + this.#items++, this.#rules.mintId);
    if (item.owed !== null) {
      this.#calls++;
      this.#rules.owe(item.owed);
    }
    if (start.type === 'opaque') return [item.added(), ...this.#end(item, 'completed', undefined)];
    this.#open.set(key, item);
    return [item.added(), ...item.partAdded()];
  }

  /** Whether the turn may make one more call. It throws where the sampler broke the client's choice. */
  #admitCall(key: number, start: SampledStart): boolean {
    const name = 'name' in start ? start.name : null;
    const { choice } = this.#rules;
    if (name === null ? choice === 'none' : !allowsCall(choice, name))
      throw new ProtocolError(
        'server_error',
        `The model called "${name ?? start.type}", which tool_choice does not allow.`,
      );
    if (this.#calls > 0 && !this.#rules.parallelToolCalls) this.#dropped.add(key);
    else if (this.#calls >= this.#rules.callsLeft) this.cut = 'max_tool_calls';
    return this.cut === null && !this.#dropped.has(key);
  }

  #grow({ key, delta, tokens }: Extract<SamplerEvent, { type: 'delta' }>): StreamEntry[] {
    this.#output += tokens;
    if (this.#dropped.has(key)) return [];
    const item = this.#require(key);
    if (item.start.type === 'reasoning') this.#reasoning += tokens;
    const entries = item.grow(delta);
    // The sampler was told the bound; this stops one that passes it. Exactly at the bound the item may be complete.
    if (this.#output <= this.#rules.outputTokensMax) return entries;
    this.cut = 'max_output_tokens';
    return [...entries, ...this.close()];
  }

  #finish(key: number, tokens: Uint32Array | undefined): StreamEntry[] {
    if (this.#dropped.has(key)) return [];
    const item = this.#require(key);
    this.#open.delete(key);
    return this.#end(item, 'completed', tokens);
  }

  #end(item: OpenItem, status: 'completed' | 'incomplete', tokens: Uint32Array | undefined): StreamEntry[] {
    const { entries, output, item: entering } = item.end(status);
    const { index } = item;
    const place = this.sampled.findLastIndex((other) => other.index < index) + 1;
    this.sampled.splice(place, 0, { index, output, item: entering, tokens });
    return entries;
  }

  #require(key: number): OpenItem {
    const item = this.#open.get(key);
    if (item === undefined) throw new Error(`the sampler spoke of item ${key}, which is not open`);
    return item;
  }
}

function isCall(start: SampledStart): boolean {
  if (start.type === 'opaque') return start.item.type.endsWith('_call');
  return start.type === 'function_call' || start.type === 'custom_tool_call';
}
