/** Real time, but for the age limit of sockets, which is reached by hand. */
import { SystemClock } from '../../../engine/clock.js';
import type { Timer } from '../../../engine/index.js';

export class AgingClock extends SystemClock {
  /** The server's limits, by which the age limit is known: no other bound is as long. */
  readonly limits = { socketAgeMsMax: 12_345_678 };
  readonly #aging = new Set<() => void>();

  override after(ms: number, callback: () => void): Timer {
    const timer = super.after(ms, callback);
    if (ms !== this.limits.socketAgeMsMax) return timer;
    this.#aging.add(callback);
    return {
      due: timer.due,
      [Symbol.dispose]: () => {
        timer[Symbol.dispose]();
        this.#aging.delete(callback);
      },
    };
  }

  /** Every socket that is open now has reached its age limit. */
  age(): void {
    for (const reached of this.#aging) reached();
  }
}
