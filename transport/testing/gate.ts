/** A stage that waits until a test lets it go on, so that the test decides what happens in between. */
import { deferred, type Phase, type Stage } from '../../engine/index.js';
import { Arrivals } from '../loopback.js';

/** Stands before every other stage of its phases, or behind them, and is open until it is shut. */
export class Gate {
  /** Passages that have come to it while it was shut. */
  readonly waiting = new Arrivals<() => void>();
  readonly #phases: readonly Phase[];
  #shut = false;

  constructor(...phases: readonly Phase[]) {
    this.#phases = phases;
  }

  shut(): void {
    this.#shut = true;
  }

  open(): void {
    this.#shut = false;
  }

  /** For `EngineOptions.stages`. */
  readonly stages = (standard: Stage[]): readonly Stage[] => [
    ...standard,
    {
      name: 'gate',
      phases: this.#phases,
      reads: 'new',
      refuses: false,
      critical: true,
      run: () => (this.#shut ? this.#wait() : undefined),
    },
  ];

  #wait(): Promise<void> {
    const passed = deferred<void>();
    this.waiting.add(passed.resolve);
    return passed.promise;
  }
}
