/**
 * A service profile of one's own, from a file of costs, and an arm of the virtual engine of one's own: the shipped design,
 * whose rate limit and residual work are begun while the client runs its tools. Run it with
 * `node dist/bench/examples/profile.js [FILE]`; `serve --profile FILE` takes the same file.
 */
import { fileURLToPath } from 'node:url';

import { builtin } from '../lab/cells.js';
import { cellAt } from '../lab/virtual-sections.js';
import { createWork } from '../service/obligations.js';
import { profileNamed } from '../service/profile.js';
import { plain } from '../table.js';
import { prototype, shipped, type VirtualArm } from '../virtual/arm.js';
import { simulate } from '../virtual/simulate.js';
import { firstRollouts, msPerTurn, sumsOf } from '../virtual/sweep.js';

export const exampleCosts: string = fileURLToPath(
  new URL('../../../bench/examples/service.json', import.meta.url),
);

/** It differs from the shipped design in what a further turn is bound to, and in nothing else. */
export const meteredAhead: VirtualArm = {
  ...shipped,
  name: 'chain-ws, metered ahead',
  work: { ...shipped.work, later: { ...createWork, rate_limit: 'ahead', residual: 'ahead' } },
};

const arms = [prototype, shipped, meteredAhead] as const;

/**
 * End-to-end milliseconds per turn of each arm, over the first rollouts of `terminal` under the costs of a file. Real tool
 * times, 1,000 tokens/s, a round trip of 50 ms.
 * @throws RangeError that names every field at fault in the file; Error where it can't be read.
 */
export async function example(file: string = exampleCosts, rollouts = 10): Promise<Map<string, number>> {
  const profile = await profileNamed(file);
  const place = { scenario: builtin('terminal'), profile, decodeTokensPerSecond: 1000, rttMs: 50 };
  const played = await simulate(cellAt(place, 1), arms, firstRollouts(rollouts));
  return new Map(arms.map(({ name }) => [name, msPerTurn(sumsOf(played.get(name) ?? []))]));
}

/** Each arm against the shipped design. */
export function exampleText(perTurn: ReadonlyMap<string, number>): string {
  const base = perTurn.get(shipped.name) ?? 0;
  const rows = [...perTurn].map(([name, ms]) => [name, ms.toFixed(2), (ms - base).toFixed(2)]);
  return plain(['arm', 'ms per turn', `against ${shipped.name}`], rows);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  console.log(exampleText(await example(process.argv[2])));
