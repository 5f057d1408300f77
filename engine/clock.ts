/**
 * Time: the real clock, the virtual clock, and the deferred that everything which waits is built on.
 *
 *   K1  A timer never calls back before it is due, and calls back at most once; any finite bound works.
 *   K2  A wait that ended leaves no timer and no listener behind (S3).
 *   K3  Virtual time moves only by hand. Timers fire in order of due time, then of setting, and all that one timer made
 *       runnable runs before the next fires; so the same calls give the same order on every run.
 */
import { onAbort } from './abort.js';
import type { Clock, Timer } from './ports.js';
import { processTime, SystemTimer, type TimeSource } from './system-timer.js';
import { HeapTimer, TimerHeap } from './timer-heap.js';

export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T | PromiseLike<T>) => void;
  readonly reject: (reason: unknown) => void;
}

/** `Promise.withResolvers`, which Node 20 lacks. The executor idiom appears here and nowhere else. */
export function deferred<T>(): Deferred<T> {
  let resolve!: Deferred<T>['resolve'];
  let reject!: Deferred<T>['reject'];
  const promise = new Promise<T>((accept, refuse) => {
    resolve = accept;
    reject = refuse;
  });
  return { promise, resolve, reject };
}

/** One turn of the event loop. */
function immediate(): Promise<void> {
  const turn = deferred<void>();
  setImmediate(turn.resolve);
  return turn.promise;
}

/** When every promise that can settle by itself has done so. */
function tick(): Promise<void> {
  const end = deferred<void>();
  process.nextTick(end.resolve);
  return end.promise;
}

/** Timers that fire before signals and sockets of the process are heard, on a clock that needs no turn of the loop. */
const deafTimersMax = 256;

/** A bound as every clock here reads it: nothing is due before now. */
function boundMs(ms: number): number {
  if (Number.isNaN(ms)) throw new RangeError('a bound in milliseconds is not a number');
  return Math.max(ms, 0);
}

/** Waits for a timer that `set` sets, or rejects with the signal's reason (K2). */
async function waitFor(set: (callback: () => void) => Timer, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const wait = deferred<void>();
  const timer = set(wait.resolve);
  const abort = onAbort(signal, () => wait.reject(signal.reason));
  // Disposed of by hand: `using`, compiled for today's Node, costs more than the rest of a wait.
  try {
    await wait.promise;
  } finally {
    abort[Symbol.dispose]();
    timer[Symbol.dispose]();
  }
}

/**
 * Real time. `after` sets deadlines, which must not keep a finished process alive, so its timers are unref'd; a `sleep`
 * is work that someone waits for, so it keeps the process alive (an endless one sets no timer, and does not).
 */
export class SystemClock implements Clock {
  readonly #time: TimeSource;

  constructor(time: TimeSource = processTime) {
    this.#time = time;
  }

  now(): number {
    return this.#time.now();
  }

  unixSeconds(): number {
    return Math.floor(this.#time.unixMs() / 1000);
  }

  after(ms: number, callback: () => void): Timer {
    return new SystemTimer(this.#time, this.now() + boundMs(ms), false, callback);
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    const due = this.now() + boundMs(ms);
    await waitFor((callback) => new SystemTimer(this.#time, due, true, callback), signal);
  }

  breathe(): Promise<void> {
    return immediate();
  }
}

export const systemClock: Clock = new SystemClock();

export interface VirtualClockOptions {
  /** What `unixSeconds` says at the start. Default 1,750,000,000 (June 2025). */
  readonly unixSecondsStart?: number;
  /**
   * A chain of `setImmediate`s of this length, outside `breathe`, still settles before the next timer. Default 3. None is
   * needed where nothing but `breathe` takes turns of the event loop and nothing uses `process.nextTick`: then a timer
   * costs no turn of the loop, and the process still gets one every 256 timers.
   */
  readonly settleRounds?: number;
}

/**
 * Time for tests and simulations: it starts at 0 and moves only in `advance`, `runUntil` and `runToIdle` (K3). Setting
 * and unsetting a timer cost O(log n). `breathe` is a real turn of the event loop and takes no virtual time. Work that
 * waits for a socket or a thread is outside this clock's knowledge.
 */
export class VirtualClock implements Clock {
  readonly #unixSecondsStart: number;
  readonly #settleRounds: number;
  readonly #timers = new TimerHeap();
  #now = 0;
  #order = 0;
  #breathing = 0;
  /** Since the last turn of the loop, where it takes none by itself. */
  #fired = 0;
  #moving = false;

  constructor(options: VirtualClockOptions = {}) {
    this.#unixSecondsStart = options.unixSecondsStart ?? 1_750_000_000;
    this.#settleRounds = options.settleRounds ?? 3;
  }

  now(): number {
    return this.#now;
  }

  unixSeconds(): number {
    return this.#unixSecondsStart + Math.floor(this.#now / 1000);
  }

  /** Timers that are set and have not fired. */
  get pending(): number {
    return this.#timers.size;
  }

  after(ms: number, callback: () => void): Timer {
    return new HeapTimer(this.#timers, this.#now + boundMs(ms), this.#order++, callback);
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await waitFor((callback) => this.after(ms, callback), signal);
  }

  async breathe(): Promise<void> {
    this.#breathing++;
    await immediate();
    this.#breathing--;
  }

  /** Moves time on by `ms`, firing what becomes due on the way, and lets everything settle. */
  advance(ms: number): Promise<void> {
    const until = this.#now + boundMs(ms);
    return this.#move(async () => {
      while ((this.#timers.first?.due ?? Infinity) <= until) await this.#fireFirst();
      this.#now = until;
    });
  }

  /** Moves time on until the promise settles, and gives its value. Throws where no timer is left to settle it. */
  async runUntil<T>(promise: Promise<T>): Promise<T> {
    const wait = { settled: false };
    const settle = () => {
      wait.settled = true;
    };
    promise.then(settle, settle);
    await this.#move(async () => {
      while (!wait.settled) {
        if (this.pending === 0) throw new Error('no timer is set that could settle the promise');
        await this.#fireFirst();
      }
    });
    return promise;
  }

  /** Moves time on until no timer is set. Never ends where a timer always sets another. */
  runToIdle(): Promise<void> {
    return this.#move(async () => {
      while (this.pending > 0) await this.#fireFirst();
    });
  }

  /** One hand moves the clock at a time; before and after, everything that can run without time has run. */
  async #move(steps: () => Promise<void>): Promise<void> {
    if (this.#moving) throw new Error('the virtual clock is being moved already');
    this.#moving = true;
    try {
      // What is begun in a callback of the loop comes before the promises, and a tick would end before them.
      await Promise.resolve();
      await this.#settle();
      await steps();
      await this.#settle();
    } finally {
      this.#moving = false;
    }
  }

  #fireFirst(): Promise<void> {
    const timer = this.#timers.first;
    if (timer !== null) {
      this.#timers.remove(timer);
      this.#now = timer.due;
      timer.callback();
    }
    return this.#settle();
  }

  /** Turns of the loop that this settling takes at least. */
  #rounds(): number {
    if (this.#settleRounds > 0) return this.#settleRounds;
    this.#fired = (this.#fired + 1) % deafTimersMax;
    return this.#fired === 0 ? 1 : 0;
  }

  async #settle(): Promise<void> {
    const rounds = this.#rounds();
    if (rounds === 0) await tick();
    for (let quietRounds = 0; quietRounds < rounds || this.#breathing > 0; quietRounds++) {
      await immediate();
      if (this.#breathing > 0) quietRounds = -1;
    }
  }
}
