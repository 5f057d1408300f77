/** How long a client waits for a server that says nothing. */
import type { Clock, Timer } from '../engine/index.js';

/** One timer at a time: it looks back at the last word, so that hearing one sets nothing. */
export class Patience {
  readonly #clock: Clock;
  readonly #msMax: number;
  readonly #onSilence: () => void;
  #heardAt = 0;
  #timer: Timer | null = null;

  /** @param msMax silence after which `onSilence` is called, once. */
  constructor(clock: Clock, msMax: number, onSilence: () => void) {
    this.#clock = clock;
    this.#msMax = msMax;
    this.#onSilence = onSilence;
  }

  /** The server owes something. */
  begin(): void {
    this.heard();
    if (this.#timer === null) this.#set(this.#msMax);
  }

  heard(): void {
    this.#heardAt = this.#clock.now();
  }

  /** It owes nothing any more. */
  end(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = null;
  }

  #set(ms: number): void {
    this.#timer = this.#clock.after(ms, () => {
      this.#timer = null;
      const left = this.#heardAt + this.#msMax - this.#clock.now();
      if (left > 0) this.#set(left);
      else this.#onSilence();
    });
  }
}
