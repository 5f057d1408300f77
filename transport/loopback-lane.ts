/** What the in-memory pair is made of: a direction, and what arrives from it. */

/** One direction: steps that run in order, each batch in a microtask of its own. */
export class Lane {
  onEmptied: () => void = () => {};
  waitingBytes = 0;
  isHeld = false;
  #steps: (() => void)[] = [];
  #isShut = false;
  #isDue = false;

  put(bytes: number, step: () => void): void {
    if (this.#isShut) return;
    this.#steps.push(step);
    this.waitingBytes += bytes;
    this.#schedule();
  }

  hold(): void {
    this.isHeld = true;
  }

  release(): void {
    this.isHeld = false;
    this.#schedule();
  }

  /** Takes nothing more; what is on its way still arrives. */
  shut(): void {
    this.#isShut = true;
  }

  /** Takes nothing more, and loses what is on its way. */
  cut(): void {
    this.shut();
    this.#steps = [];
    this.waitingBytes = 0;
  }

  #schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      if (this.isHeld) return;
      const steps = this.#steps;
      this.#steps = [];
      this.waitingBytes = 0;
      for (const step of steps) step();
      this.onEmptied();
    });
  }
}

interface Taker<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (ending: Error) => void;
}

/** A queue that keeps all that ever arrived and gives it out once, in order. */
export class Arrivals<T> {
  /** Everything so far, taken or not. */
  readonly received: T[] = [];
  #taken = 0;
  #takers: Taker<T>[] = [];
  #ending: Error | null = null;

  /** The next one not yet taken, now or when it arrives; rejects once the queue has ended and is empty. */
  next(): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#takers.push({ resolve, reject });
      this.#serve();
    });
  }

  add(value: T): void {
    this.received.push(value);
    this.#serve();
  }

  /** Nothing more will arrive. */
  end(ending: Error): void {
    this.#ending ??= ending;
    this.#serve();
  }

  #serve(): void {
    for (const value of this.received.slice(this.#taken, this.#taken + this.#takers.length)) {
      this.#taken += 1;
      this.#takers.shift()?.resolve(value);
    }
    if (this.#ending === null) return;
    for (const taker of this.#takers.splice(0)) taker.reject(this.#ending);
  }
}
