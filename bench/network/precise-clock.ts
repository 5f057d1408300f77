/**
 * A real clock for delays of a few milliseconds. Node's timers count whole milliseconds, so one that must never be early
 * is up to 1 ms late, and more where the event loop's turn began late. Here a thread sleeps until shortly before the
 * first timer is due (`Atomics.wait`, which the kernel ends to some 50 µs) and wakes the event loop, which then turns
 * without sleeping (`setImmediate`) until it is.
 *
 * The cost: `leadMs` of a core for each wake, timers that are due together sharing one, and two switches between threads.
 * Sockets are served on every turn meanwhile. Turning for longer would need no thread, and would take a whole core for as
 * long as frames come every millisecond, which two cores with a server and a client on them do not have.
 *
 *   1. A timer never calls back before it is due, and calls back at most once; those that are due call in order.
 *   2. Nothing is left of a clock that was disposed: no thread, and no timer that fires.
 */
import { systemClock, type Clock, type Timer } from '../../engine/index.js';
import { HeapTimer, TimerHeap } from '../../engine/timer-heap.js';
import { openWakingThread, type Alarm } from './waking-thread.js';

/** What waking two threads takes on an idle machine, and some more. */
const leadMs = 0.3;
/** What the kernel may be late by: a shorter sleep is none. */
const sleepMsMin = 0.05;

/** One turn of the event loop; a test gives its own. */
export type NextTurn = (callback: () => void) => void;

export class PreciseClock implements Clock, AsyncDisposable {
  readonly #clock: Clock;
  readonly #alarm: Alarm;
  readonly #timers = new TimerHeap();
  #order = 0;
  readonly #nextTurn: NextTurn;
  /** For when the alarm is set. */
  #wakesAt = Infinity;
  #turning = false;
  #ended = false;

  /** @param clock whose time it is. */
  constructor(
    alarm: Alarm,
    clock: Clock = systemClock,
    nextTurn: NextTurn = (callback) => void setImmediate(callback),
  ) {
    this.#alarm = alarm;
    this.#clock = clock;
    this.#nextTurn = nextTurn;
    alarm.onWake = () => {
      this.#wakesAt = Infinity;
      this.#arm();
    };
  }

  /** @throws Error where no thread can be started. */
  static async open(): Promise<PreciseClock> {
    return new PreciseClock(await openWakingThread());
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
    const timer = new HeapTimer(this.#timers, this.now() + Math.max(ms, 0), this.#order++, callback);
    this.#arm();
    return timer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    await this.#alarm[Symbol.asyncDispose]();
  }

  #arm(): void {
    const first = this.#timers.first;
    if (first === null || this.#turning || this.#ended) return;
    const left = first.due - this.now() - leadMs;
    if (left < sleepMsMin) {
      this.#turning = true;
      this.#nextTurn(() => this.#fire());
    } else if (first.due < this.#wakesAt) {
      // A wake for a timer that was disposed since does no harm.
      this.#wakesAt = first.due;
      this.#alarm.wakeAfter(left);
    }
  }

  #fire(): void {
    this.#turning = false;
    for (let first = this.#timers.first; first !== null && !this.#ended; first = this.#timers.first) {
      if (first.due > this.now()) break;
      this.#timers.remove(first);
      first.callback();
    }
    this.#arm();
  }
}
