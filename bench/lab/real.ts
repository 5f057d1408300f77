/**
 * The real engine: a server in a process of its own, a client in this one, rollouts block by block. A block is one rollout
 * played by every arm of its cell, in an order drawn from the seed, on fresh connections.
 */
import { drawOrder, generatorFor } from '../../scenarios/random.js';
import { arms as knownArms, type Arm } from '../arms.js';
import { measureRollout, type Measurement, type ServerAddress } from '../measure.js';
import { openRelay } from '../network/relay.js';
import { startServer } from '../server-process.js';
import type { RealCell } from './cells.js';

/** Blocks whose figures are thrown away: code gets compiled, caches are filled. */
export const warmupBlocks = 1;

function armNamed(name: string): Arm {
  const arm = knownArms.find((one) => one.name === name);
  if (arm === undefined) throw new Error(`no arm ${name} is measured here`);
  return arm;
}

/** The arms of a block, in an order that seed, cell and block choose. */
export function orderOf(cell: RealCell, seed: number, block: number): string[] {
  const order = drawOrder(cell.arms.length, generatorFor('arms', cell.name, seed, block));
  return [...order].map((index) => cell.arms[index] ?? '');
}

/** A server for one cell, reached over the cell's path. Warm once `measure` has played its warm-up. */
export class RealCellRun implements AsyncDisposable {
  readonly #cell: RealCell;
  readonly #seed: number;
  readonly #address: ServerAddress;
  /** In the order in which they are given back. */
  readonly #resources: readonly AsyncDisposable[];
  #warm = false;

  private constructor(
    cell: RealCell,
    seed: number,
    address: ServerAddress,
    resources: readonly AsyncDisposable[],
  ) {
    this.#cell = cell;
    this.#seed = seed;
    this.#address = address;
    this.#resources = resources;
  }

  /** @throws Error where the server does not start or the path cannot be had. */
  static async open(cell: RealCell, seed: number, scenarioFile: string): Promise<RealCellRun> {
    const server = await startServer({
      decodeTokensPerSecond: cell.decodeTokensPerSecond,
      prefillTokensPerSecond: cell.prefillTokensPerSecond,
      scenarioFiles: [scenarioFile],
      words: ['--profile', cell.profile],
    });
    if (cell.path === 'loopback') return new RealCellRun(cell, seed, server.address, [server]);
    const { hostname, port } = new URL(server.address.url);
    try {
      const relay = await openRelay({ to: { host: hostname, port: Number(port) }, rttMs: cell.rttMs });
      return new RealCellRun(cell, seed, { url: `http://127.0.0.1:${relay.port}` }, [relay, server]);
    } catch (fault) {
      await server[Symbol.asyncDispose]();
      throw fault;
    }
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
      const place = { scenario, seed: this.#seed, rollout, block, order };
      const measurement = await measureRollout(this.#address, armNamed(name), place, this.#cell);
      if (measurement.status !== 'completed')
        throw new Error(`a rollout of ${scenario.name} in ${name} ended as ${measurement.status}`);
      measurements.push(measurement);
    }
    return measurements;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const resource of this.#resources) await resource[Symbol.asyncDispose]();
  }
}
