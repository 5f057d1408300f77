/** The real clock's timer, over what the process offers: never early, and good for bounds above 2^31 ms. */
import type { Timer } from './ports.js';

/** What the real clock asks of the process; a test gives its own. */
export interface TimeSource {
  /** Milliseconds, monotonic. */
  now(): number;
  unixMs(): number;
  /** As `setTimeout`, which may fire early. Keeps the process alive until then where asked. */
  arm(ms: number, fire: () => void, keepsAlive: boolean): Disposable;
}

export const processTime: TimeSource = {
  now: () => performance.now(),
  unixMs: () => Date.now(),
  arm(ms, fire, keepsAlive) {
    const timeout = setTimeout(fire, ms);
    return keepsAlive ? timeout : timeout.unref();
  },
};

/** `setTimeout` fires at once where it is given more. */
const armMsMax = 2 ** 31 - 1;

/**
 * Arms again for as long as it is not due: this serves bounds above 2^31 ms, and the early firing of `setTimeout`, which
 * counts whole milliseconds from the start of the event loop's turn. Arms nothing where it is never due.
 */
export class SystemTimer implements Timer {
  readonly due: number;
  readonly #time: TimeSource;
  readonly #keepsAlive: boolean;
  #callback: (() => void) | null;
  #armed: Disposable | null = null;

  constructor(time: TimeSource, due: number, keepsAlive: boolean, callback: () => void) {
    this.due = due;
    this.#time = time;
    this.#keepsAlive = keepsAlive;
    this.#callback = callback;
    if (due < Infinity) this.#arm();
  }

  #arm(): void {
    const left = Math.max(Math.ceil(this.due - this.#time.now()), 0);
    this.#armed = this.#time.arm(Math.min(left, armMsMax), () => this.#fire(), this.#keepsAlive);
  }

  #fire(): void {
    if (this.#time.now() < this.due) return this.#arm();
    const callback = this.#callback;
    this[Symbol.dispose]();
    callback?.();
  }

  [Symbol.dispose](): void {
    this.#armed?.[Symbol.dispose]();
    this.#armed = null;
    this.#callback = null;
  }
}
