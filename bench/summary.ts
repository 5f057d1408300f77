/** From measured rollouts to the rows of a table. Pure. */
import type { Scenario } from '../scenarios/index.js';
import { arms, baselineArm, headlineArms, twinArm } from './arms.js';
import type { CompareParameters } from './compare.js';
import type { Measurement } from './measure.js';
import { metricsOf, quantiles, type Metrics, type Quantiles } from './metrics.js';
import {
  bootstrap,
  holm,
  pairedDifference,
  percentile,
  ratioOfSums,
  smallestDetectable,
  type Interval,
  type PairedDifference,
} from './statistics.js';

/** One arm in one scenario. bench/README.md says what each field is. */
export interface Row {
  readonly arm: string;
  readonly rollouts: number;
  readonly turns: number;
  readonly e2e_ms: Quantiles;
  readonly turn_overhead_ms: Quantiles;
  readonly turn_first_event_ms: Quantiles;
  readonly turn_first_token_ms: Quantiles;
  /** Means per turn. */
  readonly bytes_up: number;
  readonly bytes_down: number;
  readonly frames_up: number;
  readonly frames_down: number;
  readonly server_cpu_ms: number;
  readonly client_cpu_ms: number;
  /** Means per rollout. */
  readonly tokens_rendered: number;
  readonly render_ms: number;
  /** Mean runs per rollout, keyed `pre.render`, `append.render`, `post.bill`, … */
  readonly stage_runs: Readonly<Record<string, number>>;
  /** End-to-end, sum over blocks against the baseline's sum over the same blocks; its interval from 12 blocks on. */
  readonly e2e_ratio: number | null;
  readonly e2e_ratio_interval: Interval | null;
  /** By the names that other tools use. */
  readonly metrics: Metrics;
}

/** append − chain, and what to think of it. Differences are per turn; negative means that the prototype is faster. */
export interface Headline {
  readonly ms_per_turn: PairedDifference;
  /** Difference of the medians of turn overhead within a block: the same without the waits that were simulated. */
  readonly overhead_ms_per_turn: PairedDifference;
  /** Mean difference as a share of the shipped design's end-to-end time: as run, and with tools at their true time. */
  readonly relative: number;
  readonly relative_interval: Interval | null;
  readonly relative_at_true_tool_time: number;
  readonly relative_at_true_tool_time_interval: Interval | null;
  /** p-value of `ms_per_turn` after Holm's correction over the scenarios of the run; null under 12 blocks. */
  readonly p_adjusted: number | null;
  /** From the A-A arm. */
  readonly smallest_detectable_ms_per_turn: number | null;
  readonly verdict: string;
}

export interface ScenarioSummary {
  readonly scenario: string;
  readonly question: string;
  readonly source: string;
  readonly rows: readonly Row[];
  readonly headline: Headline | null;
}

/** Share of end-to-end time from which a difference counts as material. */
export const materialShare = 0.05;
/** Adjusted p-value up to which a difference counts as found. */
export const significance = 0.05;

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function byBlock(measurements: readonly Measurement[], arm: string): Map<number, Measurement> {
  return new Map(measurements.filter((one) => one.arm === arm).map((one) => [one.block, one]));
}

function meanStageRuns(measurements: readonly Measurement[]): Record<string, number> {
  const totals = new Map<string, number>();
  for (const { stage_runs } of measurements)
    for (const [stage, { runs }] of Object.entries(stage_runs))
      totals.set(stage, (totals.get(stage) ?? 0) + runs);
  return Object.fromEntries([...totals].map(([stage, runs]) => [stage, runs / measurements.length]));
}

function renderSum(measurements: readonly Measurement[], field: 'tokens' | 'ms'): number {
  return sum(
    measurements.map(
      ({ stage_runs: runs }) => (runs['pre.render']?.[field] ?? 0) + (runs['append.render']?.[field] ?? 0),
    ),
  );
}

function row(
  arm: string,
  own: readonly Measurement[],
  baseline: ReadonlyMap<number, Measurement>,
  seed: number,
): Row {
  const turns = own.flatMap((one) => one.turns);
  // A first turn has no tool output before it; its figures are those of the whole first prompt.
  const later = turns.filter((turn) => turn.turn > 1);
  const perTurn = (values: readonly number[]): number => sum(values) / Math.max(1, turns.length);
  const pairs = own.flatMap((one) => {
    const other = baseline.get(one.block);
    return other === undefined ? [] : [[one.e2e_ms, other.e2e_ms] as const];
  });
  return {
    arm,
    rollouts: own.length,
    turns: turns.length,
    e2e_ms: quantiles(own.map((one) => one.e2e_ms)),
    turn_overhead_ms: quantiles(later.map((turn) => turn.overhead_ms)),
    turn_first_event_ms: quantiles(later.map((turn) => turn.first_event_ms)),
    turn_first_token_ms: quantiles(later.map((turn) => turn.first_token_ms)),
    bytes_up: perTurn(own.map((one) => one.bytes_up)),
    bytes_down: perTurn(own.map((one) => one.bytes_down)),
    frames_up: perTurn(own.map((one) => one.frames_up)),
    frames_down: perTurn(own.map((one) => one.frames_down)),
    server_cpu_ms: perTurn(own.map((one) => one.server_cpu_ms)),
    client_cpu_ms: perTurn(own.map((one) => one.client_cpu_ms)),
    tokens_rendered: renderSum(own, 'tokens') / Math.max(1, own.length),
    render_ms: renderSum(own, 'ms') / Math.max(1, own.length),
    stage_runs: meanStageRuns(own),
    e2e_ratio: ratioOfSums(pairs),

    e2e_ratio_interval: bootstrap(pairs, ratioOfSums, seed),
    metrics: metricsOf(own),
  };
}

type Pair = readonly [left: Measurement, right: Measurement];

function pairsOf(measurements: readonly Measurement[], left: string, right: string): Pair[] {
  const others = byBlock(measurements, right);
  return measurements
    .filter((one) => one.arm === left)
    .flatMap((one) => {
      const other = others.get(one.block);
      return other === undefined ? [] : [[one, other] as const];
    });
}

function e2ePerTurn([left, right]: Pair): number {
  return (left.e2e_ms - right.e2e_ms) / left.turns.length;
}

function overheadPerTurn([left, right]: Pair): number {
  const median = ({ turns }: Measurement): number =>
    percentile(
      turns.map((turn) => turn.overhead_ms),
      0.5,
    ) ?? 0;
  return median(left) - median(right);
}

function verdictOf(difference: PairedDifference, relative: number, adjusted: number | null): string {
  const share = `${(Math.abs(relative) * 100).toFixed(1)} % of end-to-end`;
  if (difference.interval === null || adjusted === null)
    return `too few blocks (${difference.blocks}) for a verdict`;
  const { low, high } = difference.interval;
  if (low <= 0 && high >= 0) return 'no material difference: the interval includes 0';
  if (adjusted > significance)
    return `no material difference: p is ${adjusted.toFixed(3)} after correction for the number of scenarios`;
  if (Math.abs(relative) < materialShare)
    return `no material difference: ${share} is below ${materialShare * 100} %`;
  return `append-ws is ${difference.mean < 0 ? 'faster' : 'slower'} by ${share}`;
}

/** What the prototype takes more than what shipped, as a share of what shipped takes; tools as run, or at true time. */
function relativeDifference(pairs: readonly Pair[], tools: 'as_run' | 'true'): number | null {
  const ratio = ratioOfSums(
    pairs.map(([left, right]) => {
      const hidden = tools === 'true' ? right.true_tool_ms - right.tool_ms : 0;
      return [left.e2e_ms + hidden, right.e2e_ms + hidden];
    }),
  );
  return ratio === null ? null : ratio - 1;
}

function headline(measurements: readonly Measurement[], seed: number): Headline | null {
  const pairs = pairsOf(measurements, headlineArms.prototype, headlineArms.shipped);
  const difference = pairedDifference(pairs.map(e2ePerTurn), seed);
  const overhead = pairedDifference(pairs.map(overheadPerTurn), seed);
  const relative = relativeDifference(pairs, 'as_run');
  const atTrueToolTime = relativeDifference(pairs, 'true');
  if (difference === null || overhead === null || relative === null || atTrueToolTime === null) return null;
  const twins = pairsOf(measurements, headlineArms.prototype, twinArm).map(e2ePerTurn);
  return {
    ms_per_turn: difference,
    overhead_ms_per_turn: overhead,
    relative,
    relative_interval: bootstrap(pairs, (drawn) => relativeDifference(drawn, 'as_run'), seed),
    relative_at_true_tool_time: atTrueToolTime,
    relative_at_true_tool_time_interval: bootstrap(pairs, (drawn) => relativeDifference(drawn, 'true'), seed),
    p_adjusted: difference.p_value,
    smallest_detectable_ms_per_turn: smallestDetectable(twins),
    verdict: verdictOf(difference, relative, difference.p_value),
  };
}

/** The scenarios of one run are several hypotheses: their p-values corrected for that, and the verdicts that follow. */
export function corrected(summaries: readonly ScenarioSummary[]): ScenarioSummary[] {
  const asked = summaries.flatMap(({ scenario, headline: found }) =>
    found === null || found.ms_per_turn.p_value === null ? [] : [{ scenario, p: found.ms_per_turn.p_value }],
  );
  const adjusted = holm(asked.map(({ p }) => p));
  const byScenario = new Map(asked.map(({ scenario }, index) => [scenario, adjusted[index] ?? null]));
  return summaries.map((summary) => {
    if (summary.headline === null) return summary;
    const p = byScenario.get(summary.scenario) ?? null;
    const verdict = verdictOf(summary.headline.ms_per_turn, summary.headline.relative, p);
    return { ...summary, headline: { ...summary.headline, p_adjusted: p, verdict } };
  });
}

/** One scenario as if it were alone; `corrected` then takes the scenarios of a run together. */
export function summarise(
  scenario: Scenario,
  all: readonly Measurement[],
  { seed }: Pick<CompareParameters, 'seed'>,
): ScenarioSummary {
  const measurements = all.filter((one) => one.scenario === scenario.name);
  const baseline = byBlock(measurements, baselineArm);
  return {
    scenario: scenario.name,
    question: scenario.question,
    source: scenario.source,
    rows: arms.map(({ name }) =>
      row(
        name,
        measurements.filter((one) => one.arm === name),
        baseline,
        seed,
      ),
    ),
    headline: headline(measurements, seed),
  };
}
