/**
 * Breaks a Response's silence while somebody reads: proxies and clients drop a stream that says nothing for long. One
 * timer at most, and none while nobody reads.
 */
import type { EventLog } from './event-log.js';
import type { LogEntry } from './log-entry.js';
import type { Clock, Timer } from './ports.js';

export class Keepalive {
  readonly #log: EventLog<LogEntry>;
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #say: () => void;
  #timer: Timer | null = null;
  #heardAt: number;

  /** @param say is called after `ms` of silence, and again after as much more. */
  constructor(log: EventLog<LogEntry>, clock: Clock, ms: number, say: () => void) {
    this.#log = log;
    this.#clock = clock;
    this.#ms = ms;
    this.#say = say;
    this.#heardAt = clock.now();
  }

  /** Something was logged. */
  heard(): void {
    this.#heardAt = this.#clock.now();
  }

  /** Somebody reads. */
  arm(): void {
    if (this.#timer !== null || this.#log.waiting === 0) return;
    const left = this.#heardAt + this.#ms - this.#clock.now();
    this.#timer = this.#clock.after(Math.max(left, 1), () => {
      this.#timer = null;
      if (this.#log.sealed || this.#log.waiting === 0) return;
      if (this.#clock.now() - this.#heardAt >= this.#ms) this.#say();
      this.arm();
    });
  }

  /** A reader has left; whoever reads next arms it again. */
  disarm(): void {
    if (this.#log.waiting === 0) this.end();
  }

  end(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = null;
  }
}
