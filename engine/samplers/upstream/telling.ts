/**
 * What an upstream's stream becomes: the events of a turn, gathered until they are taken.
 *
 *   Y1  Keys are counted from 0 and never reused (C2).
 *   Y2  A stream rarely says what a delta took, so it is estimated: one token per four characters, one at least, and
 *       never past the turn's bound, which the upstream keeps itself. The `usage` at the end corrects the sums, within
 *       the bound: a client is not charged for more than it allowed.
 *   Y3  An upstream that does not keep the bound is cut when it has sent twice as many deltas, and some more.
 */
import type { PartKind, SampledStart, SamplerEvent } from '../sampler.js';

/** The counts an upstream gives at the end, in its own tokens. */
export interface UpstreamUsage {
  readonly prompt: number;
  readonly cached: number;
  readonly output: number;
  /** Null where it does not tell. */
  readonly reasoning: number | null;
}

const slackDeltas = 64;
const unitsPerToken = 4;

interface OpenItem {
  readonly start: SampledStart;
  part: string | null;
}

export class Telling {
  readonly #outputTokensMax: number;
  #events: SamplerEvent[] = [];
  readonly #open = new Map<number, OpenItem>();
  #next = 0;
  #deltas = 0;
  #output = 0;
  #reasoning = 0;
  #last = -1;
  /** A cut was told: nothing more is. */
  over = false;

  constructor(outputTokensMax: number) {
    this.#outputTokensMax = outputTokensMax;
  }

  /** Items announced so far. */
  get items(): number {
    return this.#next;
  }

  take(): SamplerEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  begin(start: SampledStart): number {
    const key = this.#next++;
    if (start.type !== 'opaque') this.#open.set(key, { start, part: null });
    this.#tell({ type: 'item', key, start });
    this.#last = key;
    return key;
  }

  /** Makes this the item's current part; `index` tells parts of one kind apart. */
  part(key: number, kind: PartKind, index = 0): void {
    const item = this.#open.get(key);
    const part = `${kind} ${index}`;
    if (item === undefined || item.part === part) return;
    const first = item.part === null;
    item.part = part;
    if (first && kind === (item.start.type === 'message' ? 'text' : 'summary')) return;
    this.#tell({ type: 'part', key, part: kind });
  }

  say(key: number, delta: string): void {
    const item = this.#open.get(key);
    if (item === undefined || delta === '' || this.over) return;
    const estimate = Math.max(1, Math.round(delta.length / unitsPerToken));
    const tokens = Math.max(0, Math.min(estimate, this.#outputTokensMax - this.#output));
    this.#output += tokens;
    if (item.start.type === 'reasoning') this.#reasoning += tokens;
    this.#tell({ type: 'delta', key, delta, tokens });
    this.#last = key;
    if (++this.#deltas > 2 * this.#outputTokensMax + slackDeltas) this.cut('max_output_tokens');
  }

  annotate(key: number, annotation: Readonly<Record<string, unknown>>): void {
    if (this.#open.has(key)) this.#tell({ type: 'annotation', key, annotation });
  }

  end(key: number, encrypted = ''): void {
    if (!this.#open.delete(key)) return;
    this.#tell({ type: 'item_end', key, ...(encrypted === '' ? {} : { encrypted_content: encrypted }) });
  }

  /** Ends every open item, or every one but the last that was spoken of, which a cut leaves incomplete. */
  endAll(cut: boolean): void {
    for (const key of this.#open.keys()) if (!cut || key !== this.#last) this.end(key);
  }

  /** `held` is the share of the prompt that the upstream read from its cache, in tokens of this engine's context. */
  usage({ prompt, cached, output, reasoning }: UpstreamUsage, contextTokens: number): void {
    if (output === 0 && this.#output > 0) return; // A server that counts nothing sends zeros.
    const held = prompt === 0 ? 0 : Math.round((Math.min(cached, prompt) / prompt) * contextTokens);
    const sampled = Math.min(output, this.#outputTokensMax);
    this.#tell({
      type: 'usage',
      held,
      output: sampled,
      reasoning: Math.min(reasoning ?? this.#reasoning, sampled),
    });
  }

  cut(reason: 'max_output_tokens' | 'content_filter'): void {
    this.#tell({ type: 'cut', reason });
    this.over = true;
  }

  #tell(event: SamplerEvent): void {
    if (!this.over) this.#events.push(event);
  }
}
