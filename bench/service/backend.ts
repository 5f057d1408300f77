/** Where the CPU of simulated work is burnt. */
import { deferred, type Clock, type Deferred } from '../../engine/index.js';

export interface Backend {
  /** Burns that many milliseconds of CPU. Rejects with the signal's reason where it aborts before it is its turn. */
  burn(ms: number, signal: AbortSignal): Promise<void>;
}

/** This process itself, for real: nothing else in it runs meanwhile. */
export const ownProcess: Backend = {
  burn(ms) {
    const until = performance.now() + ms;
    while (performance.now() < until);
    return Promise.resolve();
  },
};

/**
 * Workers on a clock, each busy with one piece of work at a time, first come first served. `Infinity` of them never make
 * anybody wait.
 */
export class Workers implements Backend {
  readonly #clock: Clock;
  readonly #waiting: Deferred<void>[] = [];
  #free: number;

  constructor(clock: Clock, count: number) {
    this.#clock = clock;
    this.#free = count;
  }

  async burn(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#free > 0) this.#free--;
    else {
      const turn = deferred<void>();
      this.#waiting.push(turn);
      await turn.promise;
    }
    try {
      // What has been begun is burnt: a worker cannot be called off.
      signal.throwIfAborted();
      await this.#clock.sleep(ms, new AbortController().signal);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next.resolve();
    }
  }
}
