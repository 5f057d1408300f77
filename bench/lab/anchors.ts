/** Anchors: cells that both engines play, and whether they agree on what they say. */
import { median } from 'simple-statistics';

import { profileNamed } from '../service/profile.js';
import { pairedDifference } from '../statistics.js';
import { plain } from '../table.js';
import { virtualArm } from '../virtual/arm.js';
import type { VirtualTurn } from '../virtual/client.js';
import { playVirtual, type MachineCosts, type PlayedRollout, type VirtualCell } from '../virtual/rollout.js';
import type { AnchorCell, RealCell } from './cells.js';
import type { MeasuredRollout } from './difference.js';
import { fitMachine, turnPairs } from './fit.js';
import type { AnchorSection } from './sections.js';

/** The engines agree within this share, or within this many milliseconds per turn. */
export const agreementShare = 0.1;
export const agreementMs = 0.2;

/** Arms whose figures are compared; the twin is only for noise. */
const comparedArms = ['append-ws', 'chain-ws', 'replay-http'] as const;

export type Machine = Readonly<Record<string, MachineCosts>>;

/** The same cell in virtual time. A relay ends TCP, so no window starts small on it. */
export async function virtualCellOf(cell: RealCell, seed: number, machine: Machine): Promise<VirtualCell> {
  const { scenario, decodeTokensPerSecond, prefillTokensPerSecond, toolScale, rttMs } = cell;
  return {
    scenario,
    seed,
    decodeTokensPerSecond,
    prefillTokensPerSecond,
    toolScale,
    network: {
      rttMs,
      bytesPerSecond: Infinity,
      restartsAfterIdle: false,
      connection: 'kept',
      tls: false,
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

function turnsOf(played: Played): Map<number, readonly VirtualTurn[]> {
  return new Map([...played].map(([rollout, { turns }]) => [rollout, turns]));
}

const rolloutsOf = (rows: readonly MeasuredRollout[]): number[] => [
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
    const pairs = [];
    for (const cell of cells.filter(({ heldOut }) => !heldOut)) {
      const real = ofArm(rowsOf(cell), arm);
      const virtual = await virtualCellOf(cell, seed, {});
      pairs.push(...turnPairs(arm, real, turnsOf(await playedBy(virtual, arm, rolloutsOf(real)))));
    }
    machine[arm] = fitMachine(pairs);
  }
  return machine;
}

/** Median overhead of the turns after the first. */
function overheadOf(
  rollouts: readonly { readonly turns: readonly Pick<VirtualTurn, 'overhead_ms'>[] }[],
): number {
  const overheads = rollouts.flatMap(({ turns }) => turns.slice(1).map(({ overhead_ms }) => overhead_ms));
  return overheads.length === 0 ? 0 : median(overheads);
}

const agree = (real: number, virtual: number): boolean =>
  Math.abs(real - virtual) <= Math.max(agreementMs, agreementShare * Math.abs(real));

interface PerTurn {
  readonly e2e_ms: number;
  readonly turns: readonly unknown[];
}
const perTurn = (left: PerTurn, right: PerTurn): number => (left.e2e_ms - right.e2e_ms) / left.turns.length;

/** Both engines on one cell. The formula's own figures are those of `formula`, where it has some. */
export async function anchorSection(
  cell: AnchorCell,
  rows: Rows,
  seed: number,
  machine: Machine,
  formula: (
    cell: VirtualCell,
    arm: string,
    rollout: number,
  ) => { e2e_ms: number; overhead_ms_per_turn: number },
): Promise<AnchorSection | null> {
  const virtualCell = await virtualCellOf(cell, seed, machine);
  const rollouts = rolloutsOf(rows);
  const played = new Map<string, Played>();
  for (const arm of comparedArms) played.set(arm, await playedBy(virtualCell, arm, rollouts));
  const overhead = comparedArms.map((arm) => ({
    arm,
    real: overheadOf(ofArm(rows, arm)),
    virtual: overheadOf([...(played.get(arm)?.values() ?? [])]),
    formula: median(rollouts.map((rollout) => formula(virtualCell, arm, rollout).overhead_ms_per_turn)),
  }));
  const pairs = ofArm(rows, 'append-ws').flatMap((left) => {
    const right = rows.find((row) => row.arm === 'chain-ws' && row.block === left.block);
    return right === undefined ? [] : [{ left, right, rollout: left.rollout }];
  });
  const real = pairedDifference(
    pairs.map(({ left, right }) => perTurn(left, right)),
    seed,
  );
  if (real === null) return null;
  const virtual = pairs.map(({ rollout }) => {
    const [left, right] = [played.get('append-ws')?.get(rollout), played.get('chain-ws')?.get(rollout)];
    return left === undefined || right === undefined ? 0 : perTurn(left, right);
  });
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const byFormula = pairs.map(({ rollout, left: { turns } }) => {
    const [left, right] = [
      formula(virtualCell, 'append-ws', rollout),
      formula(virtualCell, 'chain-ws', rollout),
    ];
    return (left.e2e_ms - right.e2e_ms) / turns.length;
  });
  const difference = { real, virtual: mean(virtual), formula: mean(byFormula) };
  return {
    name: cell.name,
    held_out: cell.heldOut,
    scenario: cell.scenario.name,
    profile: cell.profile,
    tokens_per_second: cell.decodeTokensPerSecond,
    rtt_ms: cell.rttMs,
    path: cell.path,
    blocks: real.blocks,
    overhead,
    difference,
    agrees: overhead.every((one) => agree(one.real, one.virtual)) && agree(real.median, difference.virtual),
  };
}

const ms = (value: number | null): string => (value === null ? '–' : value.toFixed(2));

export function anchorsText(sections: readonly AnchorSection[]): string {
  const rows = sections.map(({ name, held_out, overhead, difference, agrees }) => [
    `${name}${held_out ? ' (held out)' : ''}`,
    ...overhead.map(({ real, virtual, formula }) => `${ms(real)} · ${ms(virtual)} · ${ms(formula)}`),
    `${ms(difference.real.median)} · ${ms(difference.virtual)} · ${ms(difference.formula)}`,
    agrees ? 'yes' : 'NO',
  ]);
  return [
    'Anchors: overhead per turn and paired difference, measured · virtual time · formula, in ms',
    plain(['cell', ...comparedArms, 'append − chain', 'agree'], rows),
    `  They agree where every figure is within ${agreementShare * 100} % or ${agreementMs} ms per turn.`,
  ].join('\n');
}
