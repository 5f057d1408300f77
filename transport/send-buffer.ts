/** The rule of a bounded send buffer, the same for sockets and streams. It counts nothing itself: its owner measures. */

/** `room`: more may be sent. `full`: nothing more before it drains. `overrun`: its owner has to end it. */
export type Verdict = 'room' | 'full' | 'overrun';

/**
 * 1. A buffer over its bound may grow by the bound once more, then it is overrun. So a peer that never reads costs
 *    bounded memory, whatever it is sent.
 * 2. There is one waiter, shared by all who wait. It wakes below the bound, or when the owner says so.
 */
export class SendBuffer {
  readonly #bytesMax: number;
  /** Buffered bytes above which it is overrun; null while it is below its bound. */
  #cutBytes: number | null = null;
  #waiter: { readonly promise: Promise<void>; readonly wake: () => void } | null = null;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** What so many waiting bytes mean; wakes the waiter where there is room. */
  measure(bufferedBytes: number): Verdict {
    if (bufferedBytes <= this.#bytesMax) {
      this.#cutBytes = null;
      this.wake();
      return 'room';
    }
    this.#cutBytes ??= bufferedBytes + this.#bytesMax;
    return bufferedBytes > this.#cutBytes ? 'overrun' : 'full';
  }

  hasRoom(): Promise<void> {
    this.#waiter ??= makeWaiter();
    return this.#waiter.promise;
  }

  wake(): void {
    this.#waiter?.wake();
    this.#waiter = null;
  }
}

function makeWaiter(): { readonly promise: Promise<void>; readonly wake: () => void } {
  let wake = (): void => {};
  const promise = new Promise<void>((resolve) => {
    wake = resolve;
  });
  return { promise, wake };
}
