/** The sections that virtual time alone answers: profiles, invariance, cold starts. Each is a fold over simulated rollouts. */
import { parseScenario, type Scenario } from '../../scenarios/index.js';
import type { NetworkModel } from '../network/model.js';
import type { Profile } from '../service/profile.js';
import { prototype, shipped, virtualArm, type VirtualArm } from '../virtual/arm.js';
import type { VirtualCell } from '../virtual/rollout.js';
import { simulate, type Simulated, type SimulatedRollout } from '../virtual/simulate.js';
import { firstRollouts, sumsOf } from '../virtual/sweep.js';
import { exactDifference, perTurnMs, playedDifference, type Pair } from './difference.js';
import type { ArmMean, ColdSection, Difference, InvarianceSection, ProfileSection } from './sections.js';

/** What the virtual sections vary; the rest of a cell is the same in all of them. */
export interface VirtualPlace {
  readonly scenario: Scenario;
  readonly profile: Profile;
  readonly decodeTokensPerSecond: number;
  readonly rttMs: number;
}

/**
 * 20,000 tokens/s of prefill and 50 Mbit/s each way are those of the worked example whose constants `hosted` has; Linux
 * starts an idle connection's window small again unless it is told otherwise.
 */
export function cellAt(place: VirtualPlace, seed: number, network: Partial<NetworkModel> = {}): VirtualCell {
  const { scenario, profile, decodeTokensPerSecond, rttMs } = place;
  return {
    scenario,
    profile,
    decodeTokensPerSecond,
    seed,
    prefillTokensPerSecond: 20_000,
    toolScale: 1,
    network: {
      rttMs,
      bytesPerSecond: 50e6 / 8,
      restartsAfterIdle: true,
      connection: 'kept',
      tls: false,
      ...network,
    },
    session: { policy: 'per-conversation' },
    cold: false,
  };
}

const of = (simulated: Simulated, { name }: Pick<VirtualArm, 'name'>): readonly SimulatedRollout[] =>
  simulated.get(name) ?? [];

function pairsIn(simulated: Simulated, left: VirtualArm, right: VirtualArm): Pair<SimulatedRollout>[] {
  const others = of(simulated, right);
  return of(simulated, left).flatMap((one, at) => {
    const other = others[at];
    return other === undefined ? [] : [[one, other] as const];
  });
}

function armMean(arm: string, played: readonly SimulatedRollout[], baseline: number): ArmMean {
  const { e2e_ms, rollouts } = sumsOf(played);
  const later = played.flatMap(({ turns }) => turns.slice(1));
  const turns = played.flatMap((one) => one.turns);
  const mean = (values: readonly number[]): number =>
    values.reduce((total, value) => total + value, 0) / Math.max(1, values.length);
  return {
    arm,
    e2e_ms: e2e_ms / rollouts,
    overhead_ms_per_turn: mean(later.map(({ overhead_ms }) => overhead_ms)),
    first_token_ms: mean(later.map(({ first_token_ms }) => first_token_ms)),
    bytes_up_per_turn: mean(turns.map(({ bytes_up }) => bytes_up)),
    ratio: e2e_ms / baseline,
  };
}

/** Every named arm over the first rollouts of the scenario. `replay-http` has to be among them. */
export async function profileSection(
  place: VirtualPlace,
  armNames: readonly string[],
  rollouts: number,
  seed: number,
  restartsAfterIdle: boolean,
): Promise<ProfileSection> {
  const arms = armNames.map(virtualArm);
  const simulated = await simulate(cellAt(place, seed, { restartsAfterIdle }), arms, firstRollouts(rollouts));
  const baseline = sumsOf(simulated.get('replay-http') ?? []).e2e_ms;
  const about = {
    scenario: place.scenario.name,
    profile: place.profile.name,
    tokens_per_second: place.decodeTokensPerSecond,
    rtt_ms: place.rttMs,
  };
  const difference: Difference = playedDifference(
    { ...about, left: prototype.name, right: shipped.name },
    pairsIn(simulated, prototype, shipped),
  );
  return {
    ...about,
    restarts_after_idle: restartsAfterIdle,
    rollouts,
    arms: arms.map((arm) => armMean(arm.name, of(simulated, arm), baseline)),
    difference,
  };
}

type Factor = InvarianceSection['factor'];

/** A rollout in which one thing is chosen: what the grid of H3 varies. */
function varied(factor: Factor, value: number): Scenario {
  const fields = {
    rtt_ms: 0,
    context_tokens: 20_000,
    output_tokens: 114,
    tool_ms: 100,
    turns: 21,
    [factor]: value,
  };
  return parseScenario({
    name: 'varied',
    question: 'Does the difference stay the same while one thing changes?',
    source:
      'Chosen: 21 turns, 20,000 tokens of context, 214 written and 875 appended per turn, 0.1 s tools, one of them varied.',
    instructions_tokens: 2000,
    tools_count: 24,
    tools_bytes: 15_500,
    drawn: {
      turns: fields.turns,
      context_tokens: fields.context_tokens,
      output_tokens: fields.output_tokens,
      final_output_tokens: fields.output_tokens + 100,
      calls: 1,
      arguments_tokens: 100,
      tool_ms: fields.tool_ms,
      tool_output_tokens: 875,
    },
  });
}

export const invarianceGrid: Readonly<Record<Factor, readonly number[]>> = {
  rtt_ms: [2, 20, 50, 100, 200],
  context_tokens: [2000, 20_000, 60_000, 120_000],
  output_tokens: [20, 114, 500, 2000],
  tool_ms: [10, 100, 1000, 16_800],
  turns: [3, 6, 11, 21, 41],
};

export async function invarianceSections(profile: Profile, seed: number): Promise<InvarianceSection[]> {
  const sections: InvarianceSection[] = [];
  for (const restartsAfterIdle of [false, true])
    for (const factor of ['rtt_ms', 'context_tokens', 'output_tokens', 'tool_ms', 'turns'] as const) {
      const points: { readonly value: number; readonly ms_per_turn: number }[] = [];
      for (const value of invarianceGrid[factor]) {
        const scenario = varied(factor, value);
        const place = {
          scenario,
          profile,
          decodeTokensPerSecond: 1000,
          rttMs: factor === 'rtt_ms' ? value : 50,
        };
        const simulated = await simulate(
          cellAt(place, seed, { restartsAfterIdle }),
          [prototype, shipped],
          [0],
        );
        const [pair] = pairsIn(simulated, prototype, shipped);
        // The first turn is the same in both, so what a turn saves is over the others.
        if (pair !== undefined)
          points.push({
            value,
            ms_per_turn: (perTurnMs(pair) * pair[0].turns.length) / (pair[0].turns.length - 1),
          });
      }
      const values = points.map(({ ms_per_turn }) => ms_per_turn);
      sections.push({
        factor,
        restarts_after_idle: restartsAfterIdle,
        points,
        spread_ms: Math.max(...values) - Math.min(...values),
      });
    }
  return sections;
}

/** With the opening of the connection inside the measured time, and without. */
export async function coldSections(
  scenario: Scenario,
  profiles: readonly Profile[],
  rollouts: number,
  seed: number,
): Promise<ColdSection[]> {
  const arms = ['append-ws', 'chain-ws', 'chain-http', 'replay-http'].map(virtualArm);
  const sections: ColdSection[] = [];
  for (const profile of profiles)
    for (const rttMs of [2, 50, 200]) {
      const cell = cellAt({ scenario, profile, decodeTokensPerSecond: 1000, rttMs }, seed, { tls: true });
      const warm = await simulate(cell, arms, firstRollouts(rollouts));
      const cold = await simulate({ ...cell, cold: true }, arms, firstRollouts(rollouts));
      for (const arm of arms)
        sections.push({
          scenario: scenario.name,
          profile: profile.name,
          rtt_ms: rttMs,
          tls: true,
          arm: arm.name,
          cold_ms: exactDifference(of(cold, arm).map(({ e2e_ms }) => e2e_ms)).mean,
          warm_ms: exactDifference(of(warm, arm).map(({ e2e_ms }) => e2e_ms)).mean,
        });
    }
  return sections;
}
