/** Anchors: cells that both engines play, and whether they agree on what they say. */
import { mean, median } from 'simple-statistics';

import { profileNamed } from '../service/profile.js';
import { pairedDifference, type Interval } from '../statistics.js';
import { plain } from '../table.js';
import { virtualArm } from '../virtual/arm.js';
import { predictRollout } from '../virtual/formula.js';
import { repeatedBytes } from '../virtual/cell.js';
import type { VirtualTurn } from '../virtual/client.js';
import { playVirtual, type MachineCosts, type PlayedRollout, type VirtualCell } from '../virtual/rollout.js';
import type { AnchorCell, RealCell } from './cells.js';
import { pairsOf, laterTurnMs, type MeasuredRollout } from './difference.js';
import { fitMachine, turnPairs } from './fit.js';
import type { AnchorSection, MachineSection } from './sections.js';

/** The engines agree within this share, or within this many milliseconds per turn. */
export const agreementShare = 0.1;
export const agreementMs = 0.2;

/** Arms whose figures are compared; the twin is only for noise. */
const comparedArms = ['append-ws', 'chain-ws', 'replay-http'] as const;

export type Machine = Readonly<Record<string, MachineCosts>>;

/** The same cell in virtual time. Loopback and a relay, which ends TCP, have no window that starts small. */
export async function virtualCellOf(cell: RealCell, seed: number, machine: Machine): Promise<VirtualCell> {
  const { scenario, decodeTokensPerSecond, prefillTokensPerSecond, toolScale, rttMs } = cell;
  const { bytesPerSecond = Infinity, tls = false, slowStartAfterIdle = true } = cell;
  return {
    scenario,
    seed,
    decodeTokensPerSecond,
    prefillTokensPerSecond,
    toolScale,
    network: {
      rttMs,
      bytesPerSecond,
      restartsAfterIdle: cell.path === 'namespaces' && slowStartAfterIdle,
      connection: 'kept',
      tls,
      eventBytes: cell.path === 'namespaces',
    },
    profile: await profileNamed(cell.profile),
    session: { policy: 'per-conversation' },
    cold: false,
    machine,
  };
}

type Played = ReadonlyMap<number, PlayedRollout>;

async function playedBy(cell: VirtualCell, arm: string, rollouts: readonly number[]): Promise<Played> {
  const played = new Map<number, PlayedRollout>();
  for (const rollout of rollouts) played.set(rollout, await playVirtual(cell, virtualArm(arm), rollout));
  return played;
}

/** By arm, and then by rollout. */
export async function playedByArm(
  cell: VirtualCell,
  arms: readonly string[],
  rollouts: readonly number[],
): Promise<ReadonlyMap<string, Played>> {
  const played = new Map<string, Played>();
  for (const arm of arms) played.set(arm, await playedBy(cell, arm, rollouts));
  return played;
}

function turnsOf(played: Played): Map<number, readonly VirtualTurn[]> {
  return new Map([...played].map(([rollout, { turns }]) => [rollout, turns]));
}

export const rolloutsOf = (rows: readonly MeasuredRollout[]): number[] => [
  ...new Set(rows.map(({ rollout }) => rollout)),
];

/** Rows of one cell, by arm. */
type Rows = readonly MeasuredRollout[];
const ofArm = (rows: Rows, arm: string): MeasuredRollout[] => rows.filter((row) => row.arm === arm);

/** Fits on the cells that are not held out. */
export async function fittedMachine(
  cells: readonly AnchorCell[],
  rowsOf: (cell: AnchorCell) => Rows,
  seed: number,
): Promise<Machine> {
  const machine: Record<string, MachineCosts> = {};
  for (const arm of comparedArms) {
    const fitted = [];
    for (const cell of cells.filter(({ heldOut }) => !heldOut)) {
      const real = ofArm(rowsOf(cell), arm);
      const virtual = await virtualCellOf(cell, seed, {});
      const played = turnsOf(await playedBy(virtual, arm, rolloutsOf(real)));
      fitted.push({
        pairs: turnPairs(arm, real, played),
        repeatedBytes: repeatedBytes(virtualArm(arm), cell.scenario),
      });
    }
    machine[arm] = fitMachine(fitted);
  }
  return machine;
}

/** Median overhead of the turns after the first. */
export function overheadOf(
  rollouts: readonly { readonly turns: readonly Pick<VirtualTurn, 'overhead_ms'>[] }[],
): number {
  const overheads = rollouts.flatMap(({ turns }) => turns.slice(1).map(({ overhead_ms }) => overhead_ms));
  return overheads.length === 0 ? 0 : median(overheads);
}

const agree = (real: number, virtual: number): boolean =>
  Math.abs(real - virtual) <= Math.max(agreementMs, agreementShare * Math.abs(real));

const isWithin = (interval: Interval | null, value: number): boolean =>
  interval !== null && interval.low <= value && value <= interval.high;

/** Prototype − shipped per turn after the first: measured, in virtual time and by formula. Null where no block has both. */
function differencesOf(
  cell: VirtualCell,
  rows: Rows,
  played: ReadonlyMap<string, Played>,
  seed: number,
): AnchorSection['difference'] | null {
  const pairs = pairsOf(rows, 'append-ws', 'chain-ws').filter(([{ turns }]) => turns.length > 1);
  const real = pairedDifference(
    pairs.map((pair) => laterTurnMs(...pair)),
    seed,
  );
  if (real === null) return null;
  const virtual = pairs.map(([{ rollout }]) => {
    const [left, right] = ['append-ws', 'chain-ws'].map((arm) => played.get(arm)?.get(rollout));
    return left === undefined || right === undefined ? 0 : laterTurnMs(left, right);
  });
  const predict = (arm: string, rollout: number) => predictRollout(cell, virtualArm(arm), rollout);
  const formula = pairs.map(([{ rollout }]) =>
    laterTurnMs(predict('append-ws', rollout), predict('chain-ws', rollout)),
  );
  return { real, virtual: mean(virtual), formula: mean(formula) };
}

/** Both engines on one cell, and the formula beside them. Null where no block has both designs. */
export async function anchorSection(
  cell: AnchorCell,
  rows: Rows,
  seed: number,
  machine: Machine,
): Promise<AnchorSection | null> {
  const virtualCell = await virtualCellOf(cell, seed, machine);
  const rollouts = rolloutsOf(rows);
  const played = await playedByArm(virtualCell, comparedArms, rollouts);
  const overhead = comparedArms.map((arm) => ({
    arm,
    real: overheadOf(ofArm(rows, arm)),
    virtual: overheadOf([...(played.get(arm)?.values() ?? [])]),
    formula: overheadOf(rollouts.map((rollout) => predictRollout(virtualCell, virtualArm(arm), rollout))),
  }));
  const difference = differencesOf(virtualCell, rows, played, seed);
  if (difference === null) return null;
  const overheadsAgree = overhead.every((one) => agree(one.real, one.virtual));
  return {
    name: cell.name,
    held_out: cell.heldOut,
    scenario: cell.scenario.name,
    profile: cell.profile,
    tokens_per_second: cell.decodeTokensPerSecond,
    rtt_ms: cell.rttMs,
    path: cell.path,
    blocks: difference.real.blocks,
    overhead,
    difference,
    agrees: overheadsAgree && agree(difference.real.median, difference.virtual),
    agrees_within_noise: overheadsAgree && isWithin(difference.real.interval, difference.virtual),
  };
}

const ms = (value: number | null): string => (value === null ? '–' : value.toFixed(2));

export function anchorsText(sections: readonly AnchorSection[]): string {
  const rows = sections.map(({ name, held_out, overhead, difference, agrees, agrees_within_noise }) => [
    `${name}${held_out ? ' (held out)' : ''}`,
    ...overhead.map(({ real, virtual, formula }) => `${ms(real)} · ${ms(virtual)} · ${ms(formula)}`),
    `${ms(difference.real.median)} · ${ms(difference.virtual)} · ${ms(difference.formula)}`,
    agrees ? 'yes' : agrees_within_noise ? 'within noise' : 'NO',
  ]);
  return [
    'Anchors: overhead and paired difference per turn after the first, measured · virtual time · formula, in ms',
    plain(['cell', ...comparedArms, 'append − chain', 'agree'], rows),
    '  Overhead: the median over turns. Difference: from ready to handed off, the median over turns and then over blocks.',
    `  They agree where every figure is within ${agreementShare * 100} % or ${agreementMs} ms per turn; within noise where every overhead is, and the`,
    '  difference lies in the interval of the one measured.',
  ].join('\n');
}

export function machineCostsText(sections: readonly MachineSection[]): string {
  const rows = sections.map(({ arm, request_ms, us_per_token, us_per_repeated_byte, turn_end_ms }) => [
    arm,
    ...[request_ms, us_per_token, us_per_repeated_byte, turn_end_ms].map((cost) => cost.toFixed(3)),
  ]);
  return [
    'What the machine itself takes, fitted on the anchors that are not held out',
    plain(
      ['arm', 'ms a request', 'µs a token read', 'µs a byte sent again', 'ms at the end of a turn'],
      rows,
    ),
  ].join('\n');
}
