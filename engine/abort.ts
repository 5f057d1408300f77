/**
 * Waiting for a signal's abort at little cost. To set a listener on an AbortSignal and unset it takes microseconds, and
 * every turn of a rollout waits twice; so those who wait for one signal share one listener.
 *
 *   B1  While nobody waits, a signal has no listener of ours (S3).
 *   B2  Whoever has been disposed of is not called any more.
 */
import { addAbortListener } from 'node:events';

/** Those who wait for one signal. */
class Shared {
  readonly #signal: AbortSignal;
  readonly #waiting = new Set<() => void>();
  readonly #listener: Disposable;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    this.#listener = addAbortListener(signal, () => {
      for (const callback of this.#waiting) callback();
    });
  }

  add(callback: () => void): void {
    this.#waiting.add(callback);
  }

  remove(callback: () => void): void {
    if (!this.#waiting.delete(callback) || this.#waiting.size > 0) return; // B1
    this.#listener[Symbol.dispose]();
    sharedBySignal.delete(this.#signal);
  }
}

const sharedBySignal = new WeakMap<AbortSignal, Shared>();

/** A class, because V8 makes an object literal with a computed name, such as that of `dispose`, ten times as slowly. */
class Wait implements Disposable {
  readonly #shared: Shared;
  readonly #callback: () => void;

  constructor(shared: Shared, callback: () => void) {
    this.#shared = shared;
    this.#callback = callback;
    shared.add(callback);
  }

  [Symbol.dispose](): void {
    this.#shared.remove(this.#callback);
  }
}

/** Whether somebody waits for the signal's abort here. */
export function isWaitedFor(signal: AbortSignal): boolean {
  return sharedBySignal.has(signal);
}

/** Calls back once when the signal aborts, a microtask later where it has; dispose of it to wait no longer. */
export function onAbort(signal: AbortSignal, callback: () => void): Disposable {
  if (signal.aborted) return addAbortListener(signal, callback);
  let shared = sharedBySignal.get(signal);
  if (shared === undefined) sharedBySignal.set(signal, (shared = new Shared(signal)));
  return new Wait(shared, callback);
}
