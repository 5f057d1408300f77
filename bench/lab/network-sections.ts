/** What cells over real TCP come to, beside the same cells in virtual time. */
import { mean, median } from 'simple-statistics';

import { twinArm } from '../arms.js';
import { setupMs } from '../network/model.js';
import { plain } from '../table.js';
import { virtualArm } from '../virtual/arm.js';
import type { PlayedRollout, VirtualCell } from '../virtual/rollout.js';
import { overheadOf, playedByArm, rolloutsOf, virtualCellOf, type Machine } from './anchors.js';
import {
  measuredDifference,
  pairsOf,
  playedDifference,
  type MeasuredRollout,
  type Pair,
} from './difference.js';
import type { NetworkCell } from './network-cells.js';
import type { Difference, NetworkSection } from './sections.js';

const comparisons = [
  ['append-ws', 'chain-ws'],
  ['append-ws', twinArm],
  ['chain-ws', 'chain-http'],
  ['chain-ws', 'replay-ws'],
  ['chain-ws', 'replay-http'],
  ['replay-ws', 'replay-http'],
] as const;

type Rows = readonly MeasuredRollout[];
type Played = ReadonlyMap<string, ReadonlyMap<number, PlayedRollout>>;

/** One comparison, measured and in virtual time, over the same rollouts. The twin is for noise, which only one has. */
function bothWays(
  cell: NetworkCell,
  rows: Rows,
  played: Played,
  [left, right]: readonly [string, string],
  seed: number,
): Difference[] {
  const measured = measuredDifference(cell, rows, [left, right], seed);
  if (measured === null) return [];
  const pairs = pairsOf(rows, left, right).flatMap(([{ rollout }]): Pair[] => {
    const [one, other] = [played.get(left)?.get(rollout), played.get(right)?.get(rollout)];
    return one === undefined || other === undefined ? [] : [[one, other]];
  });
  if (pairs.length === 0) return [measured];
  const { scenario, profile, tokens_per_second, rtt_ms } = measured;
  return [measured, playedDifference({ scenario, profile, tokens_per_second, rtt_ms, left, right }, pairs)];
}

function connectOf(rows: Rows, arm: string, { network }: VirtualCell) {
  const own = rows.filter((row) => row.arm === arm);
  const times = own.flatMap(({ connect_ms }) => (typeof connect_ms === 'number' ? [connect_ms] : []));
  if (times.length === 0) return { connect: [], cold: [] };
  const warm_ms = mean(own.map(({ e2e_ms }) => e2e_ms));
  return {
    connect: [{ arm, real: median(times), virtual: setupMs(network, virtualArm(arm).transport) }],
    cold: [{ arm, cold_ms: warm_ms + mean(times), warm_ms }],
  };
}

/** One cell. Null where nothing of it was measured. */
async function sectionOf(
  cell: NetworkCell,
  rows: Rows,
  seed: number,
  machine: Machine,
): Promise<NetworkSection | null> {
  if (rows.length === 0) return null;
  const virtualCell = await virtualCellOf(cell, seed, machine);
  const arms = cell.arms.filter((arm) => arm !== twinArm && rows.some((row) => row.arm === arm));
  const played = await playedByArm(virtualCell, arms, rolloutsOf(rows));
  const opening = arms.map((arm) => connectOf(rows, arm, virtualCell));
  return {
    name: cell.name,
    scenario: cell.scenario.name,
    profile: cell.profile,
    tokens_per_second: cell.decodeTokensPerSecond,
    rtt_ms: cell.rttMs,
    tls: cell.tls ?? false,
    congestion: cell.congestion ?? 'cubic',
    restarts_after_idle: virtualCell.network.restartsAfterIdle,
    blocks: new Set(rows.map(({ block }) => block)).size,
    overhead: arms.map((arm) => ({
      arm,
      real: overheadOf(rows.filter((row) => row.arm === arm)),
      virtual: overheadOf([...(played.get(arm)?.values() ?? [])]),
    })),
    differences: comparisons.flatMap((pair) => bothWays(cell, rows, played, pair, seed)),
    connect: opening.flatMap(({ connect }) => connect),
    cold: opening.flatMap(({ cold }) => cold),
  };
}

/**
 * @param rowsOf what was measured of a cell; nothing where it was not reached.
 * @param machine what the machine itself takes, fitted on the anchors; `{}` where nobody fitted it.
 */
export async function networkSections(
  cells: readonly NetworkCell[],
  rowsOf: (cell: NetworkCell) => Rows,
  seed: number,
  machine: Machine,
): Promise<NetworkSection[]> {
  const sections: NetworkSection[] = [];
  for (const cell of cells) {
    const section = await sectionOf(cell, rowsOf(cell), seed, machine);
    if (section !== null) sections.push(section);
  }
  return sections;
}

const both = (real: number | undefined, virtual: number | undefined): string =>
  real === undefined ? '' : `${real.toFixed(1)} · ${virtual === undefined ? '–' : virtual.toFixed(1)}`;

/** For a terminal. */
export function networkText(sections: readonly NetworkSection[]): string {
  const arms = [...new Set(sections.flatMap(({ overhead }) => overhead.map(({ arm }) => arm)))];
  const rows = sections.map((section) => {
    const of = (engine: Difference['engine']): number | undefined =>
      section.differences.find(
        (one) => one.engine === engine && one.left === 'append-ws' && one.right === 'chain-ws',
      )?.ms_per_turn.median;
    return [
      section.name,
      ...arms.map((arm) => {
        const one = section.overhead.find((each) => each.arm === arm);
        return both(one?.real, one?.virtual);
      }),
      both(of('real'), of('virtual')),
    ];
  });
  return [
    'Real TCP: overhead per turn after the first and append − chain per turn, measured · virtual time, in ms',
    plain(['cell', ...arms, 'append − chain'], rows),
  ].join('\n');
}
