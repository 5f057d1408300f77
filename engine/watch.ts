/**
 * Steps a sampler's events so that an abort or a long silence ends the wait even if the sampler itself does not.
 *
 *   W1  One listener and at most one timer per turn, both gone when the turn is over (S3).
 *   W2  A sampler that was left behind is asked to return; what it still says is nobody's.
 */
import { onAbort } from './abort.js';
import { deferred } from './clock.js';
import type { Clock, Timer } from './ports.js';
import { ProtocolError } from './protocol/errors.js';

export class Watch<T> implements Disposable {
  readonly #iterator: AsyncIterator<T>;
  readonly #clock: Clock;
  readonly #silenceMsMax: number;
  readonly #abortListener: Disposable;
  #timer: Timer | null;
  #lastStepAt: number;
  #reject: ((reason: unknown) => void) | null = null;
  #ended: { readonly reason: unknown } | null = null;

  constructor(source: AsyncIterable<T>, signal: AbortSignal, clock: Clock, silenceMsMax: number) {
    this.#iterator = source[Symbol.asyncIterator]();
    this.#clock = clock;
    this.#silenceMsMax = silenceMsMax;
    this.#lastStepAt = clock.now();
    this.#abortListener = onAbort(signal, () => this.#end(signal.reason));
    this.#timer = clock.after(silenceMsMax, () => this.#checkSilence());
  }

  /** The next event. Rejects with the abort reason, or with `server_error` after a silence. */
  next(): Promise<IteratorResult<T>> {
    if (this.#ended !== null) return Promise.reject(this.#ended.reason);
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      this.#iterator.next().then((step) => {
        this.#lastStepAt = this.#clock.now();
        this.#reject = null;
        resolve(step);
      }, reject);
    });
  }

  [Symbol.dispose](): void {
    this.#abortListener[Symbol.dispose]();
    this.#timer?.[Symbol.dispose]();
    this.#timer = null;
    this.#reject = null;
    // The sampler may still be parked on a wait of its own; its clean-up is its own affair, but a fault in it must
    // not become an unhandled rejection.
    this.#iterator.return?.().then(undefined, () => undefined);
  }

  #end(reason: unknown): void {
    this.#ended = { reason };
    this.#reject?.(reason);
    this.#reject = null;
  }

  /** One timer for the whole turn: it looks back at the last step and sets itself for what is left. */
  #checkSilence(): void {
    const left = this.#lastStepAt + this.#silenceMsMax - this.#clock.now();
    if (left <= 0) {
      this.#end(new ProtocolError('server_error', `The model gave no output for ${this.#silenceMsMax} ms.`));
      return;
    }
    this.#timer = this.#clock.after(left, () => this.#checkSilence());
  }
}

/** The promise, or the signal's reason if that comes first: for work that may be deaf to its signal. */
export async function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    promise.catch(() => undefined); // Nobody waits for it any more, so its fault must not become an unhandled rejection.
    throw signal.reason;
  }
  const first = deferred<T>();
  promise.then(first.resolve, first.reject);
  const listener = onAbort(signal, () => first.reject(signal.reason));
  try {
    return await first.promise;
  } finally {
    listener[Symbol.dispose]();
  }
}
