/**
 * The event log of one Response: append-only, sealed once, read by many from any kept point.
 *
 *   L1  Numbers run from 0 without a gap and are never reused.
 *   L2  The log is bounded by bytes: the oldest entries go first. A reader older than that gets `replay_expired`.
 *   L3  A reader checks and waits with no await between the two, so no push is missed; a push wakes every waiter.
 *   L4  A slow reader holds nothing up: it only lags.
 */
import { ProtocolError } from './protocol/errors.js';

type Waiter = () => void;

/** Entries dropped from the head are let go together: after so many, or when they hold as much as the bound itself. */
const dropsPerCompaction = 256;

export class EventLog<Entry> {
  readonly #bytesMax: number;
  readonly #bytesOf: (entry: Entry) => number;
  #entries: Entry[] = [];
  /** Entries dropped from the head of `#entries` that the array still holds, and their bytes. */
  #dropped = 0;
  #droppedBytes = 0;
  #first = 0;
  #bytes = 0;
  #sealed = false;
  #waiters: Waiter[] = [];

  constructor(options: { bytesMax: number; bytesOf: (entry: Entry) => number }) {
    this.#bytesMax = options.bytesMax;
    this.#bytesOf = options.bytesOf;
  }

  /** The number the next entry will have. */
  get next(): number {
    return this.#first + this.#entries.length - this.#dropped;
  }

  /** The oldest kept number. */
  get first(): number {
    return this.#first;
  }

  /** Estimated bytes of the kept entries. */
  get bytes(): number {
    return this.#bytes;
  }

  get newest(): Entry | undefined {
    return this.#entries.at(-1);
  }

  get sealed(): boolean {
    return this.#sealed;
  }

  get waiting(): number {
    return this.#waiters.length;
  }

  push(entry: Entry): number {
    if (this.#sealed) throw new Error('an entry was pushed to a sealed log');
    this.#entries.push(entry);
    this.#bytes += this.#bytesOf(entry);
    const number = this.next - 1;
    while (this.#bytes > this.#bytesMax && this.#first < number) this.#dropOldest();
    this.#wake();
    return number;
  }

  seal(): void {
    this.#sealed = true;
    this.#wake();
  }

  /**
   * The kept entries from `number` on, at most `countMax`.
   * @throws ProtocolError `replay_expired` where that number is no longer kept (L2).
   */
  from(number: number, countMax = Infinity): Entry[] {
    if (number < this.#first)
      throw new ProtocolError(
        'replay_expired',
        `Events before ${this.#first} are no longer kept; read the state and go on from there.`,
        { param: 'starting_after' },
      );
    const start = number - this.#first + this.#dropped;
    return this.#entries.slice(start, start + countMax);
  }

  /** Calls back once, when there is an entry `number` or the log is sealed: at once if so already. Returns the way out. */
  whenBeyond(number: number, callback: () => void): () => void {
    if (this.next > number || this.#sealed) {
      callback();
      return () => undefined;
    }
    this.#waiters.push(callback);
    return () => {
      const at = this.#waiters.indexOf(callback);
      if (at >= 0) this.#waiters.splice(at, 1);
    };
  }

  #wake(): void {
    if (this.#waiters.length === 0) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter();
  }

  #dropOldest(): void {
    const oldest = this.#entries[this.#dropped];
    const bytes = oldest === undefined ? 0 : this.#bytesOf(oldest);
    this.#bytes -= bytes;
    this.#droppedBytes += bytes;
    this.#dropped++;
    this.#first++;
    // Shifting one by one would move the whole array each time; a few hundred at once cost little and keep little.
    if (this.#dropped >= dropsPerCompaction || this.#droppedBytes >= this.#bytesMax) {
      this.#entries = this.#entries.slice(this.#dropped);
      this.#dropped = 0;
      this.#droppedBytes = 0;
    }
  }
}
