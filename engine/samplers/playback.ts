/**
 * Playback: how far the items of one turn have been told. It knows tokens and no time.
 *
 *   P1  The deltas of an item, joined, equal its content exactly; no delta of a text ends inside a surrogate pair.
 *   P2  After `take(n)`, n tokens of the turn are told: no fewer, and none of the next.
 *   P3  An item is announced with its first token and ended with its last. One without tokens comes with the token
 *       before it. An opaque item comes whole: it is announced and that is all.
 */
import { contentFor, type Content } from './pieces.js';
import type { SamplerEvent } from './sampler.js';
import { endOf, startOf, tokenCount, type ScriptItem } from './script.js';

/** One item being told. */
class Lane {
  readonly item: ScriptItem;
  readonly key: number;
  readonly tokens: number;
  /** Tokens of it that may be told now. */
  due = 0;
  ended = false;
  readonly content: Content;

  constructor(item: ScriptItem, key: number, deltaTokensMax: number) {
    this.item = item;
    this.key = key;
    this.tokens = tokenCount(item);
    this.content = contentFor(item, key, this.tokens, deltaTokensMax);
  }

  announcement(): SamplerEvent {
    return { type: 'item', key: this.key, start: startOf(this.item) };
  }

  end(): SamplerEvent | null {
    return this.item.type === 'opaque' ? null : endOf(this.item, this.key);
  }
}

/** To which lane each token belongs, where the lanes take turns. */
function roundRobin(lanes: readonly Lane[]): Lane[] {
  const order: Lane[] = [];
  let left = lanes.filter((lane) => lane.tokens > 0);
  for (let round = 1; left.length > 0; round++) {
    order.push(...left);
    left = left.filter((lane) => lane.tokens > round);
  }
  return order;
}

/** Items that are told together: all of an interleaved turn, else one. */
class Group {
  readonly lanes: readonly Lane[];
  /** Tokens of the turn before this group, and with it. */
  readonly from: number;
  readonly to: number;
  readonly #order: readonly Lane[];
  #announced = false;
  #told = 0;

  constructor(lanes: readonly Lane[], from: number) {
    this.lanes = lanes;
    this.from = from;
    this.to = lanes.reduce((sum, lane) => sum + lane.tokens, from);
    this.#order = lanes.length > 1 ? roundRobin(lanes) : [];
  }

  /** Tokens of the turn up to and including the last one of the item that ends next. */
  get nextEnd(): number {
    if (this.lanes.length === 1) return this.to;
    const ends = this.lanes.filter((lane) => !lane.ended).map((lane) => this.#order.lastIndexOf(lane) + 1);
    return this.from + Math.min(...ends);
  }

  /** What is told when `to` tokens of the turn are, and were not before. */
  *take(to: number, cut: boolean): Generator<SamplerEvent, void> {
    if (!this.#announced) for (const lane of this.lanes) yield lane.announcement();
    this.#announced = true;
    this.#deal(to - this.from);
    let telling = this.lanes
      .filter((lane) => !lane.ended)
      .map((lane) => ({ lane, pieces: lane.content.take(lane.due, cut) }));
    for (let round = 0; telling.length > 0; round++) {
      for (const { lane, pieces } of telling) {
        const piece = pieces[round];
        if (piece !== undefined) yield piece;
        if (lane.due < lane.tokens || round + 1 < pieces.length) continue;
        lane.ended = true;
        const end = lane.end();
        if (end !== null) yield end;
      }
      telling = telling.filter(({ pieces }) => pieces.length > round + 1);
    }
  }

  #deal(told: number): void {
    const [only, ...others] = this.lanes;
    if (only !== undefined && others.length === 0) only.due = told;
    else for (const lane of this.#order.slice(this.#told, told)) lane.due++;
    this.#told = told;
  }
}

export interface PlaybackOptions {
  readonly interleave: boolean;
  /** Tokens of the turn that are told at most. */
  readonly tokensMax: number;
  /** Tokens in one delta at most. */
  readonly deltaTokensMax: number;
}

export class Playback {
  /** Tokens of the whole turn, told or not. */
  readonly tokens: number;
  /** Tokens that are told in the end. */
  readonly limit: number;
  readonly #groups: readonly Group[];
  #group = 0;
  #told = 0;

  constructor(items: readonly ScriptItem[], { interleave, tokensMax, deltaTokensMax }: PlaybackOptions) {
    const lanes = items.map((item, key) => new Lane(item, key, deltaTokensMax));
    let tokens = 0;
    this.#groups = (interleave ? [lanes] : lanes.map((lane) => [lane])).map((together) => {
      const group = new Group(together, tokens);
      tokens = group.to;
      return group;
    });
    this.tokens = tokens;
    this.limit = Math.min(tokens, tokensMax);
  }

  /** Tokens told so far. */
  get told(): number {
    return this.#told;
  }

  get done(): boolean {
    return this.#told === this.limit;
  }

  /** Tokens told when an item ends next, or when all ends. */
  get nextEnd(): number {
    return Math.min(this.#groups[this.#group]?.nextEnd ?? this.limit, this.limit);
  }

  /** Tells on until `to` tokens are told (P2). */
  *take(to: number): Generator<SamplerEvent, void> {
    for (let group = this.#groups[this.#group]; group !== undefined; group = this.#groups[this.#group]) {
      if (to <= group.from && group.to > group.from) return;
      this.#told = Math.min(to, group.to);
      yield* group.take(this.#told, this.#told === this.limit);
      if (this.#told < group.to) return;
      this.#group++;
    }
  }
}
