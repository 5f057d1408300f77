/** What a recording sees of a turn while it is sampled: counts and times, no content. */
import type { SamplerEvent, Transcript } from '../engine/index.js';
import type { RecordedTurn } from './record-lines.js';

/** One turn. Times are milliseconds since the recording began. */
export class SeenTurn {
  readonly turn: number;
  /** What the model read. */
  readonly transcript: Transcript;
  readonly startedAt: number;
  firstTokenAt: number | null = null;
  endedAt: number | null = null;
  /** When the client was told: at the suspension, or after the post-inference that it waits for. */
  handedOffAt: number | null = null;
  end: RecordedTurn['end'] = 'done';
  held = 0;
  read: number;
  output = 0;
  reasoning = 0;
  #lastTokenAt = 0;
  #firstTokens = 0;
  #tokens = 0;
  readonly #reasoningKeys = new Set<number>();

  constructor(turn: number, transcript: Transcript, contextTokens: number, now: number) {
    this.turn = turn;
    this.transcript = transcript;
    this.read = contextTokens;
    this.startedAt = now;
  }

  saw(event: SamplerEvent, now: number): void {
    if (event.type === 'delta') this.#delta(event, now);
    else if (event.type === 'prefill') this.#holds(event.held);
    else if (event.type === 'item' && event.start.type === 'reasoning') this.#reasoningKeys.add(event.key);
    else if (event.type === 'cut') this.end = 'cut';
    else if (event.type === 'usage') {
      this.#holds(event.held);
      this.output = event.output;
      this.reasoning = event.reasoning;
    }
  }

  /** The first end counts. */
  over(end: RecordedTurn['end'] | null, now: number): void {
    if (this.endedAt !== null) return;
    this.endedAt = now;
    if (end !== null) this.end = end;
  }

  /** Tokens/s after those that came first, or null. */
  get decodeTokensPerSecond(): number | null {
    const ms = this.#lastTokenAt - (this.firstTokenAt ?? this.#lastTokenAt);
    return ms > 0 ? ((this.#tokens - this.#firstTokens) * 1000) / ms : null;
  }

  #holds(held: number): void {
    const context = this.held + this.read;
    this.held = Math.min(held, context);
    this.read = context - this.held;
  }

  #delta({ key, delta, tokens }: Extract<SamplerEvent, { type: 'delta' }>, now: number): void {
    if (tokens === 0 && delta.length === 0) return;
    this.#tokens += tokens;
    this.output += tokens;
    if (this.#reasoningKeys.has(key)) this.reasoning += tokens;
    if (this.firstTokenAt === null) {
      this.firstTokenAt = now;
      this.#firstTokens = tokens;
    }
    this.#lastTokenAt = now;
  }
}

/** The same events, seen on their way. A turn that is aborted was cut, whatever its sampler says to that. */
export function seenEvents(
  events: AsyncIterable<SamplerEvent>,
  seen: SeenTurn,
  signal: AbortSignal,
  now: () => number,
): AsyncIterable<SamplerEvent> {
  const iterator = events[Symbol.asyncIterator]();
  const look = (step: IteratorResult<SamplerEvent>): IteratorResult<SamplerEvent> => {
    if (step.done === true) seen.over(null, now());
    else seen.saw(step.value, now());
    return step;
  };
  const failed = (fault: unknown): never => {
    seen.over(signal.aborted ? 'cut' : 'failed', now());
    throw fault;
  };
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => iterator.next().then(look, failed),
      return: async (value: unknown) => {
        seen.over('cut', now());
        return (await iterator.return?.(value)) ?? { done: true, value: undefined };
      },
    }),
  };
}
