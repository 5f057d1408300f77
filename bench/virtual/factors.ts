/**
 * Which single change is worth it: five switches lead from the shipped design to the prototype, and every combination of
 * them is played over the same rollouts. Beside them, the ladder of all shapes and the one change that needs no new wire:
 * work that is begun while the client runs its tools.
 */
import type { FactorSection } from '../lab/sections.js';
import { appendWork } from '../service/obligations.js';
import { plain } from '../table.js';
import { prototype, shipped, virtualArm, type VirtualArm } from './arm.js';
import type { VirtualCell } from './rollout.js';
import { hasBit, shapley, type Mask } from './shapley.js';
import { simulate, type SimulateOptions, type Simulated } from './simulate.js';
import { firstRollouts, msPerTurn, sumsOf } from './sweep.js';

interface Factor {
  readonly name: string;
  readonly set: (arm: VirtualArm) => VirtualArm;
}

/** From the shipped design to the prototype, each independent of the others. */
const factors: readonly Factor[] = [
  /** What goes up for a further turn: a create with all its fields, or an append. */
  { name: 'wire', set: (arm) => ({ ...arm, wire: 'append' }) },
  /** What is left between turns: an ended Response's transcript, or its suspended loop. */
  { name: 'suspension', set: (arm) => ({ ...arm, state: 'suspended' }) },
  /** What a further turn is bound to: a create's work, or an append's. */
  { name: 'obligations', set: (arm) => ({ ...arm, work: { ...arm.work, later: appendWork } }) },
  /** A place on the machine is asked for at every turn, or held as long as the conversation's state is kept. */
  { name: 'session', set: (arm) => ({ ...arm, place: 'per-conversation' }) },
  /** Outputs go up together after the turn, or each when its tool ends. */
  { name: 'early return', set: (arm) => ({ ...arm, earlyReturn: true }) },
];

export const factorNames: readonly string[] = factors.map(({ name }) => name);

const allOn: Mask = 2 ** factors.length - 1;

const namesOf = (mask: Mask): string[] => factorNames.filter((_, at) => hasBit(mask, at));

/** The shipped design with those switches set, under a name that says which. */
export function armOf(mask: Mask): VirtualArm {
  const off: VirtualArm = { ...shipped, place: 'per-turn' };
  const arm = factors.reduce((sofar, { set }, at) => (hasBit(mask, at) ? set(sofar) : sofar), off);
  return { ...arm, name: ['switches', ...namesOf(mask)].join(' ') };
}

const combinations = Array.from({ length: allOn + 1 }, (_, mask) => armOf(mask));

/** Where the ladder has no arm of that name: a create that looks through the whole history again. */
const fullSafety: VirtualArm = {
  ...shipped,
  name: 'chain-ws full safety',
  work: { ...shipped.work, later: { ...shipped.work.later, safety: 'full' } },
};

const perTurn = 'replay-http new connection each turn';

const ladder: readonly VirtualArm[] = [
  virtualArm('replay-http'),
  virtualArm('replay-ws'),
  virtualArm('chain-http'),
  fullSafety,
  shipped,
  virtualArm('chain-ws ahead'),
  prototype,
  virtualArm('append-ws without safety'),
];

export interface SweepOptions extends SimulateOptions {
  /** Rollouts of each arm: the first of the scenario under the cell's seed. Default 20. */
  readonly rollouts?: number;
}

/** What the machine takes of a design was fitted to the two designs; a combination takes what its state does. */
function withMachine(cell: VirtualCell): VirtualCell {
  if (cell.machine === undefined) return cell;
  const machine = { ...cell.machine };
  for (const { name, state } of combinations) {
    const costs = machine[state === 'suspended' ? prototype.name : shipped.name];
    if (costs !== undefined) machine[name] = costs;
  }
  return { ...cell, machine };
}

function perTurnOf(played: Simulated, { name }: Pick<VirtualArm, 'name'>): number {
  return msPerTurn(sumsOf(played.get(name) ?? []));
}

function sharesOf(cells: readonly number[]): FactorSection['shapley'] {
  // What is saved, so that a gain is positive.
  const none = cells[0] ?? 0;
  const saved = (mask: Mask): number => none - (cells[mask] ?? 0);
  const whole = saved(allOn);
  const shares = shapley(factors.length, saved);
  return factorNames.map((factor, at) => ({
    factor,
    ms_per_turn: shares[at] ?? 0,
    share: whole === 0 ? 0 : (shares[at] ?? 0) / whole,
    alone_ms_per_turn: saved(1 << at),
  }));
}

/**
 * Plays every combination of the switches, and the ladder. Times of `shapley` and `ahead` are milliseconds saved per turn:
 * positive where the change makes it faster.
 * @throws Error where a rollout does not complete; the signal's reason.
 */
export async function factorSection(cell: VirtualCell, options: SweepOptions = {}): Promise<FactorSection> {
  const numbers = firstRollouts(options.rollouts ?? 20);
  const { connection } = cell.network;
  const arms = [...combinations, ...ladder];
  const played = await simulate(withMachine(cell), arms, numbers, options);
  const first = await simulate(
    { ...cell, network: { ...cell.network, connection: 'per-turn' } },
    [virtualArm('replay-http')],
    numbers,
    options.signal === undefined ? {} : { signal: options.signal },
  );
  const cells = combinations.map((arm) => perTurnOf(played, arm));
  const whole = (cells[0] ?? 0) - (cells[allOn] ?? 0);
  const ahead = perTurnOf(played, shipped) - perTurnOf(played, { name: 'chain-ws ahead' });
  const steps = ladder.map((arm) => ({ step: arm.name, ms_per_turn: perTurnOf(played, arm) }));
  const newEachTurn = { step: perTurn, ms_per_turn: perTurnOf(first, { name: 'replay-http' }) };
  return {
    scenario: cell.scenario.name,
    profile: cell.profile.name,
    tokens_per_second: cell.decodeTokensPerSecond,
    rtt_ms: cell.network.rttMs,
    restarts_after_idle: cell.network.restartsAfterIdle,
    rollouts: numbers.length,
    cells: cells.map((ms_per_turn, mask) => ({ on: namesOf(mask), ms_per_turn })),
    ladder: connection === 'kept' ? [newEachTurn, ...steps] : steps,
    shapley: sharesOf(cells),
    ahead: { ms_per_turn: ahead, share: whole === 0 ? 0 : ahead / whole },
  };
}

const ms = (value: number): string => value.toFixed(2);
const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** What a figure of two decimals can tell from nothing. */
const tellableMs = 0.005;

/** One sentence that a reader can repeat. */
export function factorSentence({ shapley: shares, ahead }: FactorSection): string {
  const [first] = shares.toSorted((left, right) => right.alone_ms_per_turn - left.alone_ms_per_turn);
  const whole = shares.reduce((sum, { ms_per_turn }) => sum + ms_per_turn, 0);
  if (first === undefined || whole < tellableMs) return 'The switches together save nothing here.';
  return (
    `Of the ${ms(whole)} ms that the prototype saves per turn, "${first.factor}" alone gives the shipped design ` +
    `${percent(first.alone_ms_per_turn / whole)}, and work done ahead, with no change to the wire, ${percent(ahead.share)}.`
  );
}

/** What each switch gives, and all of them. */
export function switchTable({ shapley: shares, ahead }: FactorSection): string {
  const whole = shares.reduce((sum, { ms_per_turn }) => sum + ms_per_turn, 0);
  return plain(
    ['switch', 'ms saved per turn', 'share', 'alone, ms'],
    [
      ...shares.map((one) => [
        one.factor,
        ms(one.ms_per_turn),
        percent(one.share),
        ms(one.alone_ms_per_turn),
      ]),
      ['all five', ms(whole), percent(whole === 0 ? 0 : 1), ''],
      ['(work done ahead)', '', percent(ahead.share), ms(ahead.ms_per_turn)],
    ],
  );
}

export function factorText(section: FactorSection): string {
  const { scenario, profile, tokens_per_second, rtt_ms, rollouts } = section;
  const rungs = section.ladder.map(({ step, ms_per_turn }, at) => {
    const before = section.ladder[at - 1]?.ms_per_turn;
    return [step, ms(ms_per_turn), before === undefined ? '' : ms(ms_per_turn - before)];
  });
  return [
    `${scenario}, ${profile}, ${tokens_per_second} tokens/s, RTT ${rtt_ms} ms, ${rollouts} rollouts in virtual time`,
    switchTable(section),
    plain(['step', 'ms per turn', 'against the one before'], rungs),
    factorSentence(section),
  ].join('\n');
}
