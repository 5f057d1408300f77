/** The end of a Response's part in a shutdown: what it may still do by itself. */
import { deferred, type LiveResponse } from '../engine/index.js';

/** Waits until a Response waits for its client or has ended, or until it is told to wait no longer. */
export class IdleWait {
  readonly response: LiveResponse;
  readonly over: Promise<void>;
  readonly #resolve: () => void;
  #leave: () => void = () => undefined;

  constructor(response: LiveResponse) {
    this.response = response;
    const { promise, resolve } = deferred<void>();
    this.over = promise;
    this.#resolve = resolve;
    this.#look();
  }

  end(): void {
    this.#leave();
    this.#resolve();
  }

  #look(): void {
    const { response } = this;
    if (response.suspended || response.settlement !== null) this.#resolve();
    // A microtask later, because the log wakes its readers before the entry is part of the snapshot.
    else this.#leave = response.whenBeyond(response.lastNumber + 1, () => queueMicrotask(() => this.#look()));
  }
}
