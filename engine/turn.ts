/**
 * One turn: a fold from sampler events to log entries and to the items that enter the transcript.
 *
 *   U1  Items open in ascending `output_index`; the deltas of an item, joined, equal its content.
 *   U2  A call is owed when it is announced, before its arguments exist (S1).
 *   U3  Bytes that end inside a character wait for the rest; what never completes becomes one U+FFFD at the end.
 *   U4  An item that is open when the turn is cut, cancelled or failed is closed as incomplete.
 *   U5  A part is announced with the first thing that is said in it, so an item that says nothing has none; only a
 *       message always has one.
 */
import type { LogEntry, StreamEntry, TurnUsage } from './log-entry.js';
import type { IncompleteReason } from './outcome.js';
import type { Item } from './protocol/items.js';
import { ProtocolError } from './protocol/errors.js';
import type { ToolChoice } from './protocol/requests.js';
import type { OutputItem } from './protocol/server-events.js';
import type { SampledStart, SamplerEvent } from './samplers/sampler.js';
import { isCallType, owesAnswer, type OwedCall } from './calls.js';
import { openItem, type ClosedItem, type ItemRules, type OpenItem } from './open-item.js';
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
  /** The client sees the `encrypted_content` of reasoning. Default false. */
  readonly encrypted?: boolean | undefined;
  readonly mintId: (prefix: string) => string;
  readonly owe: (call: OwedCall) => void;
}

export class Turn {
  /** Finished items in order of their announcement, whichever ended first: so their calls are owed (S2). */
  readonly sampled: SampledItem[] = [];
  readonly #rules: TurnRules;
  readonly #itemRules: ItemRules;
  readonly #firstIndex: number;
  readonly #open = new Map<number, OpenItem>();
  /** Keys of calls beyond the one that `parallel_tool_calls:false` allows. */
  readonly #dropped = new Set<number>();
  #items = 0;
  #calls = 0;
  #owed = 0;
  #held = 0;
  #output = 0;
  #reasoning = 0;
  /** Why sampling stopped before the sampler was done, if it did. */
  cut: IncompleteReason | null = null;

  constructor(firstIndex: number, rules: TurnRules) {
    this.#firstIndex = firstIndex;
    this.#rules = rules;
    this.#itemRules = { mintId: rules.mintId, encrypted: rules.encrypted ?? false };
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
      case 'part':
        return this.#dropped.has(event.key) ? [] : this.#require(event.key).part(event.part);
      case 'annotation':
        return this.#dropped.has(event.key) ? [] : this.#require(event.key).annotate(event.annotation);
      case 'item_end':
        return this.#finish(event);
      case 'usage':
        this.#held = event.held;
        this.#output = event.output;
        this.#reasoning = event.reasoning;
        return [];
      case 'cut':
        this.cut = event.reason ?? 'max_output_tokens';
        return this.close();
    }
  }

  /** Closes what is open, as incomplete (U4). */
  close(): StreamEntry[] {
    const entries = [...this.#open.values()].flatMap((item) => this.#keep(item, item.end('incomplete')));
    this.#open.clear();
    return entries;
  }

  #begin(key: number, start: SampledStart): StreamEntry[] {
    const makesCall = isCallType(typeOf(start));
    const owes = start.type === 'opaque' ? owesAnswer(start.item) : makesCall;
    if (makesCall && !this.#admitCall(key, start, owes)) return [];
    const item = openItem(start, this.#firstIndex + this.#items++, this.#itemRules);
    if (makesCall) this.#calls++;
    if (item.owed !== null) {
      this.#owed++;
      this.#rules.owe(item.owed);
    }
    if (start.type === 'opaque') return [item.added(), ...this.#keep(item, item.end('completed'))];
    this.#open.set(key, item);
    return [item.added()];
  }

  /**
   * Whether the turn may make one more call. It throws where the sampler broke the client's choice. A call that ran
   * elsewhere counts as a call, and is no parallel one: it is over.
   */
  #admitCall(key: number, start: SampledStart, owes: boolean): boolean {
    const name = 'name' in start ? start.name : null;
    const { choice } = this.#rules;
    if (name === null ? choice === 'none' : !allowsCall(choice, name))
      throw new ProtocolError(
        'server_error',
        `The model called "${name ?? typeOf(start)}", which tool_choice does not allow.`,
      );
    if (owes && this.#owed > 0 && !this.#rules.parallelToolCalls) this.#dropped.add(key);
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

  #finish({ key, tokens, encrypted_content }: Extract<SamplerEvent, { type: 'item_end' }>): StreamEntry[] {
    if (this.#dropped.has(key)) return [];
    const item = this.#require(key);
    this.#open.delete(key);
    return this.#keep(item, item.end('completed', encrypted_content), tokens);
  }

  #keep({ index }: OpenItem, { entries, output, item }: ClosedItem, tokens?: Uint32Array): StreamEntry[] {
    const place = this.sampled.findLastIndex((other) => other.index < index) + 1;
    this.sampled.splice(place, 0, { index, output, item, tokens });
    return entries;
  }

  #require(key: number): OpenItem {
    const item = this.#open.get(key);
    if (item === undefined) throw new Error(`the sampler spoke of item ${key}, which is not open`);
    return item;
  }
}

function typeOf(start: SampledStart): string {
  return start.type === 'opaque' ? start.item.type : start.type;
}
