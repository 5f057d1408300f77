/**
 * What nobody has measured, swept: what a create costs beyond an append (F_B − F_A), and what a place on the machine costs
 * a design that asks for it at every turn beyond one that holds it (q − q_A). Nothing else is simulated. Every point plays
 * the same rollouts, so the points of one section differ in nothing but the two.
 */
import type { FrontierSection } from '../lab/sections.js';
import { builtinProfiles, type Profile } from '../service/profile.js';
import { materialShare } from '../summary.js';
import { plain } from '../table.js';
import { prototype, shipped } from './arm.js';
import type { VirtualCell } from './rollout.js';
import { simulate, type SimulateOptions } from './simulate.js';
import { firstRollouts, msPerTurn, sumsOf } from './sweep.js';

/** Tokens per second of the models that are compared. */
export const frontierSpeeds: readonly number[] = [65, 250, 1000, 4000];
/** F_B − F_A, in ms. */
export const residualAxisMs: readonly number[] = [0, 5, 10, 20, 30, 50, 75, 100, 150, 200];
/** q − q_A, in ms. */
export const admissionAxisMs: readonly number[] = [0, 10, 20, 30];

export interface FrontierOptions extends SimulateOptions {
  /** Rollouts of each arm at each point: the first of the scenario under the cell's seed. Default 20. */
  readonly rollouts?: number;
  /** Ascending. Default `residualAxisMs` and `admissionAxisMs`. */
  readonly residualsMs?: readonly number[];
  readonly admissionsMs?: readonly number[];
}

type Point = FrontierSection['points'][number];

/** A service that costs nothing but these two. */
function profileOf(residual_ms: number, admission_ms: number): Profile {
  const bare = builtinProfiles.get('bare');
  if (bare === undefined) throw new Error('there is no profile "bare"');
  return {
    ...bare,
    name: 'swept',
    modules: { residual: { full: { wait_ms: residual_ms, cpu_ms: 0, us_per_token: 0 } } },
    admission: { admit_ms: admission_ms, resume_ms: 0 },
  };
}

/** Append − chain, summed over the rollouts. */
async function pointOf(
  cell: VirtualCell,
  at: Pick<Point, 'residual_ms' | 'admission_ms'>,
  numbers: readonly number[],
  options: SimulateOptions,
): Promise<Point> {
  const profile = profileOf(at.residual_ms, at.admission_ms);
  const played = await simulate({ ...cell, profile }, [prototype, shipped], numbers, options);
  const [append, chain] = [prototype, shipped].map(({ name }) => sumsOf(played.get(name) ?? []));
  if (append === undefined || chain === undefined) throw new Error('an arm was not played');
  const difference = append.e2e_ms - chain.e2e_ms;
  return {
    ...at,
    chain_ms_per_turn: msPerTurn(chain),
    ms_per_turn: difference / chain.turns,
    relative: difference / chain.e2e_ms,
    relative_at_true_tool_time: difference / chain.true_e2e_ms,
  };
}

/** How far the saving at a point is beyond the material share of the shipped design's time, in ms per turn. */
function excess({ ms_per_turn, chain_ms_per_turn }: Point): number {
  return -ms_per_turn - materialShare * chain_ms_per_turn;
}

/**
 * The residual from which the gain passes 5 % at no difference in admission. Between two points both times are straight
 * lines, so the excess is one too, and where it is zero is exact.
 */
export function thresholdMs(points: readonly Point[]): number | null {
  const axis = points.filter(({ admission_ms }) => admission_ms === 0);
  const beyond = axis.findIndex((point) => excess(point) >= 0);
  const [before, after] = [axis[beyond - 1], axis[beyond]];
  if (after === undefined) return null;
  if (before === undefined) return after.residual_ms;
  const [low, high] = [excess(before), excess(after)];
  return before.residual_ms + ((after.residual_ms - before.residual_ms) * -low) / (high - low);
}

/**
 * One cell's frontier; its profile is replaced.
 * @throws Error where a rollout does not complete; the signal's reason.
 */
export async function frontierSection(
  cell: VirtualCell,
  options: FrontierOptions = {},
): Promise<FrontierSection> {
  const { residualsMs = residualAxisMs, admissionsMs = admissionAxisMs, onProgress, ...rest } = options;
  const numbers = firstRollouts(options.rollouts ?? 20);
  const axes = admissionsMs.flatMap((admission_ms) =>
    residualsMs.map((residual_ms) => ({ residual_ms, admission_ms })),
  );
  const points: Point[] = [];
  for (const at of axes) {
    points.push(await pointOf(cell, at, numbers, rest));
    onProgress?.(points.length, axes.length);
  }
  return {
    scenario: cell.scenario.name,
    tokens_per_second: cell.decodeTokensPerSecond,
    rtt_ms: cell.network.rttMs,
    tool_scale: cell.toolScale,
    restarts_after_idle: cell.network.restartsAfterIdle,
    rollouts: numbers.length,
    points,
    threshold_ms: thresholdMs(points),
  };
}

/** The frontier at every speed. Progress counts the points of all. */
export async function frontier(
  cell: VirtualCell,
  options: FrontierOptions = {},
  speeds: readonly number[] = frontierSpeeds,
): Promise<FrontierSection[]> {
  const { onProgress } = options;
  const sections: FrontierSection[] = [];
  for (const decodeTokensPerSecond of speeds) {
    const onPoint = (done: number, of: number): void =>
      onProgress?.(sections.length * of + done, speeds.length * of);
    sections.push(
      await frontierSection({ ...cell, decodeTokensPerSecond }, { ...options, onProgress: onPoint }),
    );
  }
  return sections;
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

export function frontierText(section: FrontierSection): string {
  const { scenario, tokens_per_second, rtt_ms, tool_scale, restarts_after_idle, points, threshold_ms } =
    section;
  const admissions = [...new Set(points.map(({ admission_ms }) => admission_ms))];
  const residuals = [...new Set(points.map(({ residual_ms }) => residual_ms))];
  const pointAt = (residual: number, admission: number): Point | undefined =>
    points.find(({ residual_ms, admission_ms }) => residual_ms === residual && admission_ms === admission);
  const told = (point: Point | undefined): string =>
    point === undefined ? '' : `${point.ms_per_turn.toFixed(1)}  ${percent(point.relative)}`;
  const trueShare = (point: Point | undefined): string =>
    point === undefined ? '' : percent(point.relative_at_true_tool_time);
  return [
    `${scenario}, ${tokens_per_second} tokens/s, RTT ${rtt_ms} ms, tools × ${tool_scale}, ` +
      `window ${restarts_after_idle ? 'restarts' : 'stays open'} after idle: append − chain, ms per turn and share`,
    plain(
      [
        'residual, ms',
        ...admissions.map((admission) => `admission ${admission} ms`),
        ...(tool_scale === 1 ? [] : ['at true tool time']),
      ],
      residuals.map((residual) => [
        String(residual),
        ...admissions.map((admission) => told(pointAt(residual, admission))),
        ...(tool_scale === 1 ? [] : [trueShare(pointAt(residual, admissions[0] ?? 0))]),
      ]),
    ),
    threshold_ms === null
      ? `  The gain stays under ${percent(materialShare)} on the whole axis.`
      : `  The gain passes ${percent(materialShare)} at a residual of ${threshold_ms.toFixed(1)} ms.`,
  ].join('\n');
}
