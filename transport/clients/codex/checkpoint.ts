/** A place in a test's world where something stops until the test lets it go on. */
import { deferred } from '../../../engine/index.js';

export class Checkpoint {
  readonly #reached = deferred<void>();
  readonly #open = deferred<void>();

  /** Resolves when something has arrived for the first time. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  /** Waits here until the checkpoint is open; once it is, nothing waits. */
  arrive(): Promise<void> {
    this.#reached.resolve();
    return this.#open.promise;
  }

  open(): void {
    this.#open.resolve();
  }
}
