/**
 * A real clock for delays of a few milliseconds. Node's timers count whole milliseconds, so one that must never be early
 * is up to 1 ms late, and more where the event loop's turn began late. Here the ordinary timer wakes `pollMs` before a
 * timer is due, and the event loop then turns without sleeping (`setImmediate`) until it is.
 *
 * The cost: up to `pollMs` of a core for every wake, several timers that are due together sharing one wake. Sockets are
 * served on every turn meanwhile, so nothing waits for it but the core itself: on a machine of two, a process that polls
 * must not have its CPU time read as the work of what it measures.
 */
import { systemClock, type Clock, type Timer } from '../../engine/index.js';

/** `setTimeout` of n ms fires between n and about n + 1.2 ms later, on an idle machine. */
const pollMsDefault = 1.5;

/** One turn of the event loop; a test gives its own. */
export type NextTurn = (callback: () => void) => void;

export class PreciseClock implements Clock {
  readonly #clock: Clock;
  readonly #nextTurn: NextTurn;
  readonly #pollMs: number;

  constructor(
    clock: Clock = systemClock,
    nextTurn: NextTurn = (callback) => void setImmediate(callback),
    pollMs: number = pollMsDefault,
  ) {
    this.#clock = clock;
    this.#nextTurn = nextTurn;
    this.#pollMs = pollMs;
  }

  now(): number {
    return this.#clock.now();
  }

  unixSeconds(): number {
    return this.#clock.unixSeconds();
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.#clock.sleep(ms, signal);
  }

  breathe(): Promise<void> {
    return this.#clock.breathe();
  }

  after(ms: number, callback: () => void): Timer {
    const due = this.now() + Math.max(ms, 0);
    const state = { waiting: true };
    const poll = (): void => {
      if (!state.waiting) return;
      if (this.now() < due) return this.#nextTurn(poll);
      state.waiting = false;
      callback();
    };
    const timer = ms > this.#pollMs ? this.#clock.after(ms - this.#pollMs, poll) : null;
    if (timer === null) this.#nextTurn(poll);
    return {
      due,
      [Symbol.dispose]() {
        state.waiting = false;
        timer?.[Symbol.dispose]();
      },
    };
  }
}

export const preciseClock: Clock = new PreciseClock();
