/**
 * The real engine: a server in a process of its own and a client over the cell's path, rollouts block by block. A block is
 * one rollout played by every arm of its cell, in an order drawn from the seed, on fresh connections.
 */
import { drawOrder, generatorFor } from '../../scenarios/random.js';
import type { Measurement } from '../measure.js';
import { openPath, type CellPath } from './cell-path.js';
import type { RealCell } from './cells.js';

/** Blocks whose figures are thrown away: code gets compiled, caches are filled. */
export const warmupBlocks = 1;

/** The arms of a block, in an order that seed, cell and block choose. */
export function orderOf(cell: RealCell, seed: number, block: number): string[] {
  const order = drawOrder(cell.arms.length, generatorFor('arms', cell.name, seed, block));
  return [...order].map((index) => cell.arms[index] ?? '');
}

/** A server for one cell, reached over the cell's path. Warm once `measure` has played its warm-up. */
export class RealCellRun implements AsyncDisposable {
  readonly #cell: RealCell;
  readonly #seed: number;
  readonly #path: CellPath;
  #warm = false;

  private constructor(cell: RealCell, seed: number, path: CellPath) {
    this.#cell = cell;
    this.#seed = seed;
    this.#path = path;
  }

  /**
   * @param scenarioFile the cell's scenario, as a file that other processes read.
   * @throws Error where the server does not start; where the path cannot be had, with one sentence that says why: see
   * `namespacesAvailable`.
   */
  static async open(cell: RealCell, seed: number, scenarioFile: string): Promise<RealCellRun> {
    return new RealCellRun(cell, seed, await openPath(cell, scenarioFile));
  }

  /** Plays one block. The first call plays the warm-up before it. */
  async measure(block: number): Promise<Measurement[]> {
    if (!this.#warm) for (let warmup = 1; warmup <= warmupBlocks; warmup++) await this.#play(-warmup);
    this.#warm = true;
    return this.#play(block);
  }

  async #play(block: number): Promise<Measurement[]> {
    const { scenario, blocks } = this.#cell;
    // Warm-up rollouts come after the measured ones.
    const rollout = block < 0 ? blocks - block : block;
    const measurements: Measurement[] = [];
    for (const [order, name] of orderOf(this.#cell, this.#seed, block).entries()) {
      const measurement = await this.#path.measure(name, { seed: this.#seed, rollout, block, order });
      if (measurement.status !== 'completed')
        throw new Error(`a rollout of ${scenario.name} in ${name} ended as ${measurement.status}`);
      measurements.push(measurement);
    }
    return measurements;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#path[Symbol.asyncDispose]();
  }
}
