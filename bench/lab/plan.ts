/**
 * What the quick and the full set consist of, declared before anything is measured. The quick set takes at most ten minutes
 * on two cores; the full set measures at every speed, in more blocks, and plays more rollouts.
 */
import { run as countAll } from '../counts.js';
import { profileNamed, type Profile } from '../service/profile.js';
import { prototype, shipped } from '../virtual/arm.js';
import { capacityArms, sweepCapacity } from '../virtual/capacity.js';
import { factorSection } from '../virtual/factors.js';
import { frontierSection } from '../virtual/frontier.js';
import { measureResidency } from '../virtual/residency.js';
import type { Machine } from './anchors.js';
import {
  anchorCells,
  bareCells,
  builtin,
  claimMean,
  transportCell,
  type AnchorCell,
  type RealCell,
} from './cells.js';
import { speeds } from './hypotheses.js';
import { networkCells, type NetworkCell } from './network-cells.js';
import type { LabSummary, ResidencySection } from './sections.js';
import { cellAt, coldSections, invarianceSections, profileSection } from './virtual-sections.js';

export type SetName = LabSummary['set'];

/** Work in virtual time, or counting: gives one section, or a part of one. */
export interface VirtualTask {
  /** Unique; a task with sections of its own name is not played again. */
  readonly name: string;
  readonly section:
    'counts' | 'profiles' | 'frontier' | 'factors' | 'invariance' | 'cold' | 'residency' | 'capacity';
  /** About how many seconds it takes on two cores: for the progress bar alone. */
  readonly seconds: number;
  readonly run: (options: TaskOptions) => Promise<readonly object[]>;
}

export interface TaskOptions {
  readonly seed: number;
  /** What the machine takes, fitted on the anchors of this run. */
  readonly machine: Machine;
  readonly signal: AbortSignal;
}

export interface Plan {
  readonly bare: readonly RealCell[];
  readonly transports: RealCell;
  readonly anchors: readonly AnchorCell[];
  /** Measured where network namespaces can be made. */
  readonly network: readonly NetworkCell[];
  readonly virtual: readonly VirtualTask[];
}

/** Arms of the tables over service profiles. */
const profileArms = [
  'replay-http pre-sprint',
  'replay-http',
  'replay-http post-sprint',
  'replay-ws',
  'chain-http read again',
  'chain-http',
  'chain-ws',
  'chain-ws ahead',
  'shim-ws',
  'append-http',
  'append-ws',
  'append-ws early',
  'append-ws without safety',
] as const;

/** An assumption of its own, for capacity alone: CPU that a create and an append burn. */
function withCpu(profile: Profile): Profile {
  const rate = profile.modules.rate_limit;
  if (rate === undefined) return profile;
  return {
    ...profile,
    name: `${profile.name}-cpu`,
    modules: {
      ...profile.modules,
      rate_limit: {
        full: { ...rate.full, cpu_ms: 2 },
        cached: { wait_ms: 0, us_per_token: 0, ...rate.cached, cpu_ms: 0.5 },
      },
    },
  };
}

interface Scale {
  readonly rollouts: number;
  readonly capacityRollouts: number;
  readonly capacityShares: readonly number[];
}

function profileTasks({ rollouts }: Scale): VirtualTask[] {
  const task = (
    scenario: ReturnType<typeof builtin>,
    profile: string,
    speed: number,
    rttMs: number,
    restarts: boolean,
    count: number,
  ): VirtualTask => ({
    name: `profiles ${scenario.name} ${profile} ${speed} ${rttMs} ${restarts ? 'restarts' : 'open'}`,
    section: 'profiles',
    seconds: 0.05 * count * profileArms.length,
    run: async ({ seed }) => {
      const place = { scenario, profile: await profileNamed(profile), decodeTokensPerSecond: speed, rttMs };
      return [await profileSection(place, profileArms, count, seed, restarts)];
    },
  });
  const claim = builtin('claim-regime');
  const headline = ['terminal', 'coding-replay', 'support'].map(builtin);
  return [
    ...speeds.flatMap((speed) => [
      task(claim, 'hosted', speed, 50, false, 1),
      task(claimMean, 'hosted', speed, 50, false, 1),
      ...headline.map((scenario) => task(scenario, 'hosted', speed, 50, false, rollouts)),
    ]),
    ...['bare', 'hosted', 'extrapolated-low', 'extrapolated-high'].flatMap((profile) =>
      [20, 50, 100].map((rttMs) => task(claim, profile, 1000, rttMs, true, 1)),
    ),
    task(builtin('session'), 'hosted', 1000, 50, false, rollouts),
    task(builtin('long'), 'hosted', 1000, 50, false, 1),
    task(builtin('swe-react'), 'hosted', 1000, 50, false, rollouts),
  ];
}

function sweepTasks({ rollouts }: Scale): VirtualTask[] {
  const axes = { residualsMs: [0, 5, 10, 20, 40, 80, 160, 320, 640], admissionsMs: [0, 10, 30] };
  const frontier = (name: string, count: number): VirtualTask[] =>
    speeds.map((speed) => ({
      name: `frontier ${name} ${speed}`,
      section: 'frontier',
      seconds: 0.015 * count * 54,
      run: async ({ seed, machine, signal }) => {
        const profile = await profileNamed('bare');
        const place = { scenario: builtin(name), profile, decodeTokensPerSecond: speed, rttMs: 50 };
        const cell = { ...cellAt(place, seed, { restartsAfterIdle: false }), machine };
        return [await frontierSection(cell, { ...axes, rollouts: count, signal })];
      },
    }));
  const factors = (name: string, count: number, restartsAfterIdle: boolean): VirtualTask => ({
    name: `factors ${name} ${restartsAfterIdle ? 'restarts' : 'open'}`,
    section: 'factors',
    seconds: 0.03 * count * 45,
    run: async ({ seed, signal }) => {
      const profile = await profileNamed('hosted');
      const place = { scenario: builtin(name), profile, decodeTokensPerSecond: 1000, rttMs: 50 };
      return [await factorSection(cellAt(place, seed, { restartsAfterIdle }), { rollouts: count, signal })];
    },
  });
  return [
    ...frontier('claim-regime', 1),
    ...frontier('terminal', rollouts),
    ...frontier('coding-replay', Math.ceil(rollouts / 2)),
    ...[false, true].map((restarts) => factors('claim-regime', 1, restarts)),
    ...[false, true].map((restarts) => factors('terminal', rollouts, restarts)),
  ];
}

function otherTasks({ capacityRollouts, capacityShares }: Scale): VirtualTask[] {
  const residency = async (seed: number): Promise<ResidencySection[]> => {
    const profile = await profileNamed('hosted');
    const place = { scenario: builtin('terminal'), profile, decodeTokensPerSecond: 1000, rttMs: 50 };
    const cell = cellAt(place, seed, { restartsAfterIdle: false });
    const sections: ResidencySection[] = [];
    for (const ttlMs of [2000, 60_000, Infinity])
      for (const arm of [prototype, shipped])
        sections.push(
          await measureResidency({ ...cell, session: { policy: 'per-conversation', ttlMs } }, arm, 20),
        );
    return sections;
  };
  return [
    {
      name: 'invariance',
      section: 'invariance',
      seconds: 3,
      run: async ({ seed }) => invarianceSections(await profileNamed('hosted'), seed),
    },
    {
      name: 'cold',
      section: 'cold',
      seconds: 5,
      run: async ({ seed }) => {
        const profiles = await Promise.all(['bare', 'hosted'].map(profileNamed));
        return coldSections(builtin('single'), profiles, 20, seed);
      },
    },
    { name: 'residency', section: 'residency', seconds: 4, run: ({ seed }) => residency(seed) },
    {
      name: 'capacity',
      section: 'capacity',
      seconds: 0.012 * capacityRollouts * capacityShares.length * capacityArms.length,
      run: async ({ seed }) => {
        const profile = withCpu(await profileNamed('hosted'));
        const place = { scenario: builtin('terminal'), profile, decodeTokensPerSecond: 1000, rttMs: 50 };
        return sweepCapacity(
          {
            cell: cellAt(place, seed, { restartsAfterIdle: false }),
            workers: 1,
            slots: 16,
            arrivals: 'poisson',
            measured: capacityRollouts,
            discarded: Math.ceil(capacityRollouts / 4),
            bound: { ttftMsMax: 500, e2eFactorMax: 1.25 },
          },
          capacityArms,
          capacityShares,
        );
      },
    },
  ];
}

const counting: VirtualTask = {
  name: 'counts',
  section: 'counts',
  seconds: 8,
  run: async () => (await countAll()).designs,
};

function virtualTasks(scale: Scale): VirtualTask[] {
  return [counting, ...profileTasks(scale), ...sweepTasks(scale), ...otherTasks(scale)];
}

const isOf =
  (...names: readonly string[]) =>
  ({ scenario }: RealCell): boolean =>
    names.includes(scenario.name);

export const plans: Readonly<Record<SetName, Plan>> = {
  quick: {
    bare: bareCells(12, 4000),
    transports: transportCell(12),
    anchors: anchorCells(12, 'quick'),
    network: networkCells(2, 'quick'),
    virtual: virtualTasks({ rollouts: 12, capacityRollouts: 60, capacityShares: [0.5, 0.8, 1] }),
  },
  full: {
    // A slow model makes a rollout slow and a difference no smaller: below 4,000 tokens/s those that are short enough.
    bare: [
      ...bareCells(16, 4000),
      ...bareCells(12, 1000).filter(isOf('claim-regime', 'terminal', 'support', 'single')),
      ...bareCells(12, 250).filter(isOf('support', 'single')),
      ...bareCells(12, 65).filter(isOf('support')),
    ],
    transports: transportCell(40),
    anchors: anchorCells(12, 'full'),
    network: networkCells(2, 'full'),
    virtual: virtualTasks({
      rollouts: 32,
      capacityRollouts: 120,
      capacityShares: [0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1],
    }),
  },
};
