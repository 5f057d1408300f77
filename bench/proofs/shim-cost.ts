/**
 * What the wire of `previous_response_id` costs over the suspended loop: a turn of the shim against one of append, at the
 * same place in the rollout, and against itself further on. How it is measured stands in `turn-cost.ts`; ratios are
 * paired within a round.
 */
import { medianOf, medianText, type Median } from './median.js';
import {
  costFoot,
  costHead,
  costLine,
  costOf,
  growthMax,
  readingsOf,
  windows,
  type Reading,
  type TurnCost,
} from './turn-cost.js';

export interface ShimCostOptions {
  /** Measured rollouts of each design. Default 30. */
  readonly rollouts?: number;
  readonly onProgress?: (line: string) => void;
}

export interface ShimCostResult {
  readonly designs: readonly TurnCost[];
  /** Shim over append in each window. */
  readonly ratios: readonly { readonly around: number; readonly ratio: Median }[];
}

/** The bound: a turn of the shim costs at most this many times one of append. */
export const ratioMax = 1.5;

function ratioAt(around: number, readings: readonly Reading[]): Median {
  const at = (design: string): Map<number, number> =>
    new Map(
      readings
        .filter((reading) => reading.design === design && reading.around === around)
        .map(({ round, cpuUs }) => [round, cpuUs]),
    );
  const append = at('append');
  return medianOf(
    [...at('shim')].flatMap(([round, cpuUs]) => {
      const other = append.get(round);
      return other === undefined ? [] : cpuUs / other;
    }),
  );
}

export async function run(options: ShimCostOptions = {}): Promise<ShimCostResult> {
  const designs = ['append', 'shim'] as const;
  const readings = await readingsOf(designs, options);
  return {
    designs: designs.map((design) => costOf(design, readings)),
    ratios: windows.map(({ around }) => ({ around, ratio: ratioAt(around, readings) })),
  };
}

export function print({ designs, ratios }: ShimCostResult): string {
  const shim = designs.find(({ design }) => design === 'shim-ws');
  const flat = (shim?.growth.paired?.median ?? Infinity) <= growthMax;
  const near = ratios.every(({ ratio }) => ratio.median <= ratioMax);
  const told = ratios.map(({ around, ratio }) => `turn ${around}: ${medianText(ratio)}`).join('   ');
  return [
    costHead,
    ...designs.map(costLine),
    `  shim : append   ${told}`,
    `  turn 1,000 costs at most ${growthMax} times turn 10 in shim-ws: ${flat ? 'yes' : 'NO'}`,
    `  a turn of shim-ws costs at most ${ratioMax} times one of append-ws: ${near ? 'yes' : 'NO'}`,
    costFoot,
  ].join('\n');
}
