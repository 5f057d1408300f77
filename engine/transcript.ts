/**
 * The transcript: append-only items with their rendered tokens, and a cheap fork at any point.
 *
 *   T1  A transcript value never changes; `extend` gives a longer one that shares everything before it.
 *   T2  A line of extensions shares one segment, so its cost per turn does not grow with the history. The second
 *       extension of the same point opens a new segment whose parent is the old one: a fork, with nothing copied.
 *   T3  Which calls are answered is derived here, for the current turn and for all before it (S2).
 */
import { compactedIn } from './protocol/compaction-item.js';
import { answeredCallId, openedCallId } from './calls.js';
import { isSampled, type Item } from './protocol/items.js';

export interface Entry {
  readonly item: Item;
  readonly tokens: Uint32Array;
}

/** An entry with the tokens and turns of the whole transcript up to and including it. */
interface Placed extends Entry {
  readonly tokensThrough: number;
  readonly turnsThrough: number;
}

class Segment {
  readonly parent: Segment | null;
  /** Index, in the whole transcript, of this segment's first entry. */
  readonly base: number;
  readonly entries: Placed[] = [];
  /** Index of each call and of each output, by call_id. */
  readonly calls = new Map<string, number>();
  /** Made with the first output: most segments are asked for while they wait for it. */
  outputs: Map<string, number> | null = null;

  constructor(parent: Segment | null, base: number) {
    this.parent = parent;
    this.base = base;
  }
}

type Index = 'calls' | 'outputs';

export class Transcript {
  static readonly empty = new Transcript(new Segment(null, 0), 0);

  readonly length: number;
  readonly #segment: Segment;

  private constructor(segment: Segment, length: number) {
    this.#segment = segment;
    this.length = length;
  }

  /** Tokens of all entries. */
  get tokens(): number {
    return this.#through('tokensThrough', this.length);
  }

  /** How many turns were sampled: runs of entries that a model wrote, those that were compacted included. */
  get turns(): number {
    return this.#through('turnsThrough', this.length);
  }

  extend(entries: readonly Entry[]): Transcript {
    if (entries.length === 0) return this;
    const own = this.#segment;
    const atTip = own.base + own.entries.length === this.length;
    const segment = atTip && this !== Transcript.empty ? own : new Segment(own, this.length);
    let { tokens, turns } = this;
    let last = this.length === 0 ? null : this.at(this.length - 1).item;
    for (const { item, tokens: rendered } of entries) {
      const index = segment.base + segment.entries.length;
      tokens += rendered.length;
      turns += compactedIn(item)?.turns ?? 0;
      if (isSampled(item) && (last === null || !isSampled(last))) turns++;
      last = item;
      segment.entries.push({ item, tokens: rendered, tokensThrough: tokens, turnsThrough: turns });
      const opens = openedCallId(item);
      if (opens !== null) segment.calls.set(opens, index);
      const answers = answeredCallId(item);
      if (answers !== null) (segment.outputs ??= new Map()).set(answers, index);
    }
    return new Transcript(segment, this.length + entries.length);
  }

  /** The first `length` entries, shared. */
  prefix(length: number): Transcript {
    if (length < 0 || length > this.length)
      throw new RangeError(`a prefix of ${length} of ${this.length} entries`);
    return length === this.length ? this : new Transcript(this.#segment, length);
  }

  at(index: number): Entry {
    return this.#placed(index);
  }

  /** Entries from `from` to the end. */
  *entries(from = 0): Generator<Entry, void> {
    for (let index = from; index < this.length; index++) yield this.at(index);
  }

  items(from = 0): Item[] {
    const items: Item[] = [];
    for (let index = from; index < this.length; index++) items.push(this.at(index).item);
    return items;
  }

  /** The call of that id, or null. */
  call(callId: string): Item | null {
    return this.#find('calls', callId);
  }

  /** The output that answered that call, or null. */
  output(callId: string): Item | null {
    return this.#find('outputs', callId);
  }

  /** Ids of calls at or after entry `from` that have no output, in call order. */
  unanswered(from = 0): string[] {
    const owed: string[] = [];
    for (const { item } of this.entries(from)) {
      const id = openedCallId(item);
      if (id !== null && this.output(id) === null) owed.push(id);
    }
    return owed;
  }

  #find(index: Index, callId: string): Item | null {
    for (let segment: Segment | null = this.#segment; segment !== null; segment = segment.parent) {
      const at = segment[index]?.get(callId);
      if (at !== undefined && at < this.length && at < this.#limitOf(segment)) return this.at(at).item;
    }
    return null;
  }

  /** Entries of an ancestor segment count only up to where this transcript left it. */
  #limitOf(segment: Segment): number {
    let limit = this.length;
    for (let own: Segment | null = this.#segment; own !== null && own !== segment; own = own.parent)
      limit = Math.min(limit, own.base); // A fork of a shorter prefix leaves its ancestors before its parent did.
    return limit;
  }

  #placed(index: number): Placed {
    if (index < 0 || index >= this.length) throw new RangeError(`entry ${index} of ${this.length}`);
    let segment = this.#segment;
    while (index < segment.base && segment.parent !== null) segment = segment.parent;
    const entry = segment.entries[index - segment.base];
    if (entry === undefined) throw new RangeError(`entry ${index} of ${this.length}`);
    return entry;
  }

  #through(sums: 'tokensThrough' | 'turnsThrough', length: number): number {
    return length === 0 ? 0 : this.#placed(length - 1)[sums];
  }
}
