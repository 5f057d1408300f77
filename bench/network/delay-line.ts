/**
 * One direction of a path: what enters it leaves in the order it entered, a fixed time later, not faster than the link.
 *
 *   1. An entry leaves once, never before it is due, and never before the one that entered before it.
 *   2. A link with a rate serialises: an entry is on the wire when the one before it has left the sender.
 *   3. One timer at a time is set, and none after the end.
 */
import type { Clock, Timer } from '../../engine/index.js';

export interface Link {
  /** Time from one end to the other, in ms: half a round trip. */
  readonly delayMs: number;
  /** Bytes that the link takes each second; `Infinity` is no limit. */
  readonly bytesPerSecond: number;
}

/** Whether the far end takes more now. Where it does not, it says `resume` to the line when it does. */
export type Deliver<Entry> = (entry: Entry) => boolean;

interface Held<Entry> {
  readonly entry: Entry;
  readonly bytes: number;
  readonly due: number;
}

export class DelayLine<Entry> implements Disposable {
  readonly #clock: Clock;
  readonly #link: Link;
  readonly #deliver: Deliver<Entry>;
  readonly #held: Held<Entry>[] = [];
  #bytes = 0;
  /** When the sender's end of the wire is free again. */
  #freeAt = -Infinity;
  #timer: Timer | null = null;
  #stopped = false;
  #ended = false;

  constructor(clock: Clock, link: Link, deliver: Deliver<Entry>) {
    this.#clock = clock;
    this.#link = link;
    this.#deliver = deliver;
  }

  /** Bytes that have entered and not left. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @param at when the entry came to the sender's end, on the clock, by which it is due; default now. */
  push(entry: Entry, bytes: number, at: number = this.#clock.now()): void {
    if (this.#ended) return;
    const sentAt = Math.max(at, this.#freeAt);
    this.#freeAt = sentAt + (bytes / this.#link.bytesPerSecond) * 1000;
    this.#held.push({ entry, bytes, due: this.#freeAt + this.#link.delayMs });
    this.#bytes += bytes;
    this.#arm();
  }

  /** The far end takes more again. */
  resume(): void {
    this.#stopped = false;
    this.#arm();
  }

  /** What is still inside is lost. */
  [Symbol.dispose](): void {
    this.#ended = true;
    this.#held.length = 0;
    this.#bytes = 0;
    this.#timer?.[Symbol.dispose]();
    this.#timer = null;
  }

  #arm(): void {
    const first = this.#held[0];
    if (first === undefined || this.#timer !== null || this.#stopped || this.#ended) return;
    this.#timer = this.#clock.after(first.due - this.#clock.now(), () => this.#release());
  }

  #release(): void {
    this.#timer = null;
    const now = this.#clock.now();
    while (!this.#stopped) {
      const first = this.#held[0];
      if (first === undefined || first.due > now) break;
      this.#held.shift();
      this.#bytes -= first.bytes;
      this.#stopped = !this.#deliver(first.entry);
    }
    this.#arm();
  }
}
