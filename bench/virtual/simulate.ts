/**
 * Many rollouts in virtual time, over every core.
 *
 *   V4  The result is the same, to the last bit and in the same order, however many threads play it: a rollout depends on
 *       its cell, its arm and its number alone (V2).
 */
import { availableParallelism } from 'node:os';

import { builtinScenarios } from '../../scenarios/index.js';
import type { VirtualArm } from './arm.js';
import { playVirtual, type VirtualCell } from './rollout.js';
import { Thread, type Job, type SentCell, type SimulatedRollout } from './thread.js';

export type { SimulatedRollout } from './thread.js';

export interface SimulateOptions {
  /** Ends the work; what was played is lost. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number, of: number) => void;
  /** Threads that play. 0 plays in this one. Default: as many as cores; 0 for less than 32 rollouts. */
  readonly threads?: number;
}

/** Rollouts of each arm, in the order of the numbers asked for. */
export type Simulated = ReadonlyMap<string, readonly SimulatedRollout[]>;

/** Rollouts that are played sooner than a thread has started. */
const inProcessMax = 31;
/** Rollouts in one message: enough that the message costs nothing beside them. */
const batchSize = 8;

function sentCell(cell: VirtualCell): SentCell {
  const { scenario, onWork: _, ...rest } = cell;
  return { ...rest, scenario: builtinScenarios.get(scenario.name) === scenario ? scenario.name : scenario };
}

/** What is left to play and what has been played: one queue, however many take from it. */
class Queue {
  readonly #jobs: readonly Job[];
  readonly #played: (SimulatedRollout | undefined)[];
  readonly #options: SimulateOptions;
  #next = 0;
  #done = 0;

  constructor(jobs: readonly Job[], options: SimulateOptions) {
    this.#jobs = jobs;
    this.#played = Array.from({ length: jobs.length });
    this.#options = options;
  }

  /** @throws the signal's reason. */
  take(most: number): { readonly from: number; readonly jobs: readonly Job[] } | null {
    this.#options.signal?.throwIfAborted();
    const from = this.#next;
    const jobs = this.#jobs.slice(from, from + most);
    this.#next += jobs.length;
    return jobs.length === 0 ? null : { from, jobs };
  }

  put(from: number, played: readonly SimulatedRollout[]): void {
    for (const [at, one] of played.entries()) this.#played[from + at] = one;
    this.#done += played.length;
    this.#options.onProgress?.(this.#done, this.#jobs.length);
  }

  /** Nothing more is taken. */
  close(): void {
    this.#next = this.#jobs.length;
  }

  of(arm: number): SimulatedRollout[] {
    return this.#played.filter(
      (one, at): one is SimulatedRollout => this.#jobs[at]?.[0] === arm && one !== undefined,
    );
  }
}

async function playHere(queue: Queue, cell: VirtualCell, arms: readonly VirtualArm[]): Promise<void> {
  for (let batch = queue.take(1); batch !== null; batch = queue.take(1))
    for (const [at, rollout] of batch.jobs) {
      const arm = arms[at];
      if (arm === undefined) continue;
      const { work: _, ...played } = await playVirtual(cell, arm, rollout);
      queue.put(batch.from, [played]);
    }
}

async function playInThreads(
  queue: Queue,
  cell: VirtualCell,
  arms: readonly VirtualArm[],
  count: number,
): Promise<void> {
  const task = { cell: sentCell(cell), arms };
  const lane = async (): Promise<void> => {
    const thread = Thread.take();
    try {
      for (let batch = queue.take(batchSize); batch !== null; batch = queue.take(batchSize))
        queue.put(batch.from, await thread.play(task, batch.jobs));
    } finally {
      thread.give();
    }
  };
  const lanes = Array.from({ length: count }, () =>
    lane().catch((fault: unknown) => {
      queue.close();
      throw fault;
    }),
  );
  for (const ended of await Promise.allSettled(lanes)) if (ended.status === 'rejected') throw ended.reason;
}

/**
 * Plays the rollouts of these numbers in every arm. A cell with `onWork` is played in this thread.
 * @throws RangeError where two arms share a name; the signal's reason; whatever playing threw.
 */
export async function simulate(
  cell: VirtualCell,
  arms: readonly VirtualArm[],
  rollouts: readonly number[],
  options: SimulateOptions = {},
): Promise<Simulated> {
  if (new Set(arms.map(({ name }) => name)).size < arms.length)
    throw new RangeError('two arms have the same name');
  const jobs = rollouts.flatMap((rollout) => arms.map((_, arm): Job => [arm, rollout]));
  const queue = new Queue(jobs, options);
  const most = options.threads ?? (jobs.length > inProcessMax ? availableParallelism() : 0);
  if (most === 0 || cell.onWork !== undefined) await playHere(queue, cell, arms);
  else await playInThreads(queue, cell, arms, Math.min(most, Math.ceil(jobs.length / batchSize)));
  return new Map(arms.map(({ name }, arm) => [name, queue.of(arm)]));
}
