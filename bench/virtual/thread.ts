/** A thread that plays rollouts, and what goes over to it. Threads are kept for the next call, and hold up no process. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

import type { Scenario } from '../../scenarios/index.js';
import type { VirtualArm } from './arm.js';
import type { PlayedRollout, VirtualCell } from './rollout.js';

/** A rollout without the list of its work, which is longer than all the rest and which no sweep reads. */
export type SimulatedRollout = Omit<PlayedRollout, 'work'>;

/** Arm, by its place among the arms, and number of the rollout. */
export type Job = readonly [arm: number, rollout: number];

/** A cell as it goes over: a built-in scenario by its name, any other whole. */
export type SentCell = Omit<VirtualCell, 'scenario' | 'onWork'> & { readonly scenario: string | Scenario };

export interface Task {
  readonly cell: SentCell;
  readonly arms: readonly VirtualArm[];
}

/** The task where it is not the one of the message before, and what to play of it. */
export interface Order {
  readonly task: Task | null;
  readonly jobs: readonly Job[];
}

/**
 * Megabytes for what a thread has just made: three halves, of which V8 uses two. A rollout makes about a megabyte, and the
 * default of 16 would be collected every few rollouts while one is under way.
 */
const youngMegabytes = 192;

export class Thread {
  static readonly #idle: Thread[] = [];
  readonly #worker = new Worker(new URL('./worker.js', import.meta.url), {
    resourceLimits: { maxYoungGenerationSizeMb: youngMegabytes },
  });
  #task: Task | null = null;
  #playing = false;

  constructor() {
    this.#worker.unref();
  }

  /** One that nobody uses, or a new one. */
  static take(): Thread {
    return Thread.#idle.pop() ?? new Thread();
  }

  /** Gives it back. One whose last play failed is gone. */
  give(): void {
    if (!this.#playing) Thread.#idle.push(this);
  }

  /** @throws what playing threw. */
  async play(task: Task, jobs: readonly Job[]): Promise<readonly SimulatedRollout[]> {
    const order: Order = { task: task === this.#task ? null : task, jobs };
    this.#task = task;
    this.#playing = true;
    this.#worker.ref();
    try {
      const answer = once(this.#worker, 'message');
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      this.#worker.postMessage(order);
      const [played = []]: (readonly SimulatedRollout[])[] = await answer;
      this.#playing = false;
      return played;
    } finally {
      this.#worker.unref();
    }
  }
}
