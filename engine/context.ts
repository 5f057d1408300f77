/**
 * What the model reads, and what it cost: preamble, transcript, and the count of tokens (decision: every token is
 * counted once as it enters the context; what an earlier turn or Response counted is held, not read).
 */
import { abortedAnswer } from './calls.js';
import type { RolloutParts } from './rollout-parts.js';
import { noUsage, type TurnUsage } from './log-entry.js';
import type { Item } from './protocol/items.js';
import { renderItem } from './render.js';
import { addUsage } from './response-object.js';
import type { Context } from './samplers/sampler.js';
import { noPreamble, type Passage, type Preamble } from './stages.js';
import type { Suspension } from './suspension.js';
import { Transcript, type Entry } from './transcript.js';
import type { Turn } from './turn.js';

/** The new items of a passage with the tokens that `render` found. */
export function entriesOf(passage: Passage): Entry[] {
  return passage.newItems.map((item, index) => {
    const tokens = passage.rendered[index];
    if (tokens === undefined) throw new Error('no stage rendered the new items');
    return { item, tokens };
  });
}

export class RolloutContext {
  readonly #tokenizer: RolloutParts['tokenizer'];
  #baseLength: number;
  /** What was taken out of the transcript again; null while nothing was. */
  #removed: Item[] | null = null;
  #shortened = false;
  #transcript: Transcript;
  #preamble = noPreamble;
  #counted = 0;
  #usage: TurnUsage | null = null;
  #uncounted: TurnUsage = noUsage;

  constructor({ kept, tokenizer }: RolloutParts) {
    this.#tokenizer = tokenizer;
    this.#transcript = kept?.transcript ?? Transcript.empty;
    this.#baseLength = this.#transcript.length;
  }

  get transcript(): Transcript {
    return this.#transcript;
  }
  get preamble(): Preamble {
    return this.#preamble;
  }
  /** Totals of the turns so far. */
  get usage(): TurnUsage {
    return this.#usage ?? noUsage;
  }
  /** Tokens from the first on that have been counted. */
  get counted(): number {
    return this.#counted;
  }
  get tokens(): number {
    return this.#preamble.tokens.length + this.#transcript.tokens;
  }
  /** What this Response added to what was kept, and what it has taken out again. */
  get added(): Item[] {
    const items = this.#transcript.items(this.#baseLength);
    return this.#removed === null ? items : [...this.#removed, ...items];
  }
  /** The transcript no longer begins as the conversation did. */
  get shortened(): boolean {
    return this.#shortened;
  }
  get base(): Transcript {
    return this.#transcript.prefix(this.#baseLength);
  }

  forSampler(): Context {
    return { preamble: this.#preamble.tokens, transcript: this.#transcript, tokens: this.tokens };
  }

  /** Takes in an admitted create. */
  admit(passage: Passage): void {
    this.#preamble = passage.preamble;
    const { kept } = passage;
    if (kept !== null) {
      const { countedTokens, preamble, model } = kept;
      const lost = preamble === this.#preamble ? 0 : preamble.tokens.length;
      this.#counted = model === passage.request.model ? Math.max(0, countedTokens - lost) : 0;
    }
    this.enter(entriesOf(passage));
  }

  /** Puts other entries in the place of the first `count`. What is read next is a new beginning: nothing of it is held. */
  shorten(count: number, front: readonly Entry[]): void {
    (this.#removed ??= []).push(
      ...this.#transcript.items(this.#baseLength).slice(0, Math.max(0, count - this.#baseLength)),
    );
    this.#transcript = Transcript.empty.extend([...front, ...this.#transcript.entries(count)]);
    this.#baseLength = 0;
    this.#counted = 0;
    this.#shortened = true;
  }

  enter(entries: readonly Entry[]): void {
    this.#transcript = this.#transcript.extend(entries);
  }

  /** What a turn sampled, rendered: all of it, or nothing if it rejects. */
  async sampled(turn: Turn, signal: AbortSignal): Promise<Entry[]> {
    const entries: Entry[] = [];
    for (const { item, tokens } of turn.sampled) {
      const rendered = renderItem(item, this.#tokenizer, signal, tokens);
      entries.push({ item, tokens: rendered instanceof Promise ? await rendered : rendered });
    }
    return entries;
  }

  /** Puts what a turn sampled into the transcript and counts its tokens. */
  closeTurn(turn: Turn, entries: readonly Entry[]): void {
    const { held: reported, output, reasoning } = turn.usage;
    const held = Math.min(this.tokens, Math.max(this.#counted, reported));
    const usage = { held, read: this.tokens - held, output, reasoning };
    this.#usage = this.#usage === null ? usage : addUsage(this.#usage, usage);
    this.#uncounted = usage;
    this.enter(entries);
    this.#counted = this.tokens;
  }

  /** The tokens of the last turn, once: the log entry that tells of them takes them. */
  takeTurnUsage(): TurnUsage {
    const usage = this.#uncounted;
    this.#uncounted = noUsage;
    return usage;
  }

  /**
   * After an early end: what the client had sent and, for each call nobody answered, an output that says so, in call
   * order like any outputs (S2). A continuation finds every call answered.
   */
  async abandon(suspension: Suspension, signal: AbortSignal): Promise<void> {
    const aborted: Entry[] = [];
    for (const stub of suspension.requiredInput) {
      const item = abortedAnswer(stub);
      aborted.push({ item, tokens: await renderItem(item, this.#tokenizer, signal) });
    }
    suspension.pay(aborted);
    this.enter(suspension.received);
  }
}
