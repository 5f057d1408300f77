/**
 * Figures of measured turns and rollouts by the names other tools give them, each with its formula. Pure.
 *
 * Other tools measure requests; here a request is a turn, whatever the design makes of it on the wire, and its clock starts
 * when the turn has all it needs: for turn 1 the request, later the last tool output and the hand-off. AIPerf is NVIDIA's
 * (docs.nvidia.com/aiperf, also of NIM), vLLM is `vllm bench serve` (docs.vllm.ai), DistServe is arXiv 2401.09670.
 */
import { LatencyHistogram } from './histogram.js';
import type { Measurement, MeasuredTurn } from './measure.js';
import { percentile } from './statistics.js';

/** What the formulas need of a turn and of a rollout, real or in virtual time. */
export type MetricTurn = Pick<
  MeasuredTurn,
  'turn' | 'first_event_ms' | 'first_token_ms' | 'last_token_ms' | 'ms' | 'output_tokens'
>;
export type MetricRollout = Pick<Measurement, 'status' | 'e2e_ms' | 'tool_ms' | 'itl_histogram'> & {
  readonly turns: readonly MetricTurn[];
};

export interface Quantiles {
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

export function quantiles(values: readonly number[]): Quantiles {
  const at = (p: number): number | null => percentile(values, p);
  return { p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) };
}

export interface Metrics {
  readonly ttft_ms: Quantiles;
  readonly itl_ms: Quantiles;
  readonly tpot_ms: Quantiles;
  readonly request_latency_ms: Quantiles;
  readonly e2el_ms: Quantiles;
  readonly effective_tps: Quantiles;
  readonly tool_output_to_first_event_ms: Quantiles;
  readonly tool_output_to_first_token_ms: Quantiles;
}

export interface MetricDefinition {
  readonly unit: 'ms' | 'tokens/s' | 'rollouts/s';
  /** What one value is of. */
  readonly per: 'turn' | 'gap' | 'rollout' | 'run';
  /** In the fields of a measurement. */
  readonly formula: string;
  /** Who uses the name, and where the same name means something else. */
  readonly known_as: string;
}

export const metricDefinitions: Readonly<Record<keyof Metrics | 'goodput', MetricDefinition>> = {
  ttft_ms: {
    unit: 'ms',
    per: 'turn',
    formula: 'first_token_ms: turn ready → first delta that is not empty',
    known_as: 'TTFT in vLLM and DistServe, time_to_first_token in AIPerf, both from sending the request',
  },
  itl_ms: {
    unit: 'ms',
    per: 'gap',
    formula: 'time between one delta that is not empty and the next of its turn',
    known_as: 'ITL in vLLM, inter_chunk_latency in AIPerf, whose inter_token_latency is tpot_ms',
  },
  tpot_ms: {
    unit: 'ms',
    per: 'turn',
    formula: '(last_token_ms − first_token_ms) / (output_tokens − 1); none under 2 tokens',
    known_as: 'TPOT in vLLM and DistServe, inter_token_latency in AIPerf',
  },
  request_latency_ms: {
    unit: 'ms',
    per: 'turn',
    formula: 'ms: turn ready → hand-off or terminal event',
    known_as: 'E2EL in vLLM, request_latency in AIPerf (to the last token)',
  },
  e2el_ms: {
    unit: 'ms',
    per: 'rollout',
    formula: 'e2e_ms: handing over the first create → terminal event, tools included',
    known_as: 'E2EL of a whole rollout; vLLM and AIPerf have it of a request only, as request_latency_ms',
  },
  effective_tps: {
    unit: 'tokens/s',
    per: 'rollout',
    formula: 'Σ output_tokens / (e2e_ms − tool_ms) · 1000',
    known_as:
      "AIPerf's output_token_throughput_per_user (1 / inter_token_latency) leaves out the time to first token",
  },
  tool_output_to_first_event_ms: {
    unit: 'ms',
    per: 'turn',
    formula:
      'first_event_ms of turns after the first: last tool output (and hand-off) there → first event of any kind',
    known_as: 'no other tool has it',
  },
  tool_output_to_first_token_ms: {
    unit: 'ms',
    per: 'turn',
    formula: 'first_token_ms of turns after the first: last tool output (and hand-off) there → first delta',
    known_as: 'no other tool has it; TTFT without the first turns',
  },
  goodput: {
    unit: 'rollouts/s',
    per: 'run',
    formula:
      'completed rollouts with p95(ttft_ms of their turns) ≤ x and e2el_ms ≤ y, over the seconds of the run',
    known_as:
      'goodput in DistServe, vLLM and AIPerf, which count requests; latencies from the scheduled start',
  },
};

/** TTFT, in ms. */
export function ttftMs(turn: MetricTurn): number {
  return turn.first_token_ms;
}

/** TPOT, in ms per token; null under 2 tokens, where there is no time between tokens. */
export function tpotMs(turn: MetricTurn): number | null {
  if (turn.output_tokens < 2) return null;
  return (turn.last_token_ms - turn.first_token_ms) / (turn.output_tokens - 1);
}

/** Tokens/s that a user sees while no tool runs; null where no such time passed. */
export function effectiveTps({ turns, e2e_ms, tool_ms }: MetricRollout): number | null {
  const tokens = turns.reduce((total, turn) => total + turn.output_tokens, 0);
  return e2e_ms > tool_ms ? (tokens / (e2e_ms - tool_ms)) * 1000 : null;
}

/** The gaps between deltas of all rollouts that kept them, at the 1 % of their histograms. */
function itlQuantiles(rollouts: readonly MetricRollout[]): Quantiles {
  const all = new LatencyHistogram();
  for (const { itl_histogram: text } of rollouts)
    if (text !== undefined) all.add(LatencyHistogram.fromBase64(text));
  return all.quantiles() ?? quantiles([]);
}

/** Of the rollouts of one arm in one scenario, turns and rollouts pooled: a description, no interval belongs to it. */
export function metricsOf(rollouts: readonly MetricRollout[]): Metrics {
  const turns = rollouts.flatMap((one) => one.turns);
  // A first turn follows no tool output.
  const later = turns.filter((turn) => turn.turn > 1);
  return {
    ttft_ms: quantiles(turns.map(ttftMs)),
    itl_ms: itlQuantiles(rollouts),
    tpot_ms: quantiles(turns.flatMap((turn) => tpotMs(turn) ?? [])),
    request_latency_ms: quantiles(turns.map((turn) => turn.ms)),
    e2el_ms: quantiles(rollouts.map((one) => one.e2e_ms)),
    effective_tps: quantiles(rollouts.flatMap((one) => effectiveTps(one) ?? [])),
    tool_output_to_first_event_ms: quantiles(later.map((turn) => turn.first_event_ms)),
    tool_output_to_first_token_ms: quantiles(later.map(ttftMs)),
  };
}

/** A rollout of an open-loop run. */
export interface ServedRollout {
  readonly rollout: MetricRollout;
  /** How long after its scheduled start it began, in ms; counted into its first TTFT and its E2EL. */
  readonly lateMs: number;
}

/** Both bounds have to hold for a rollout to count, in ms. */
export interface Objectives {
  readonly ttftP95MsMax: number;
  readonly e2elMsMax: number;
}

/** Whether a rollout was as fast as promised; one that did not complete was not. */
export function meets({ rollout, lateMs }: ServedRollout, { ttftP95MsMax, e2elMsMax }: Objectives): boolean {
  const waits = rollout.turns.map((turn) => ttftMs(turn) + (turn.turn === 1 ? lateMs : 0));
  const slow = percentile(waits, 0.95);
  return (
    rollout.status === 'completed' &&
    slow !== null &&
    slow <= ttftP95MsMax &&
    rollout.e2e_ms + lateMs <= e2elMsMax
  );
}

/**
 * Rollouts per second that met both objectives.
 *
 * @param runMs From the first scheduled start to the end of the last rollout, in ms.
 * @throws RangeError where the run took no time.
 */
export function goodput(rollouts: readonly ServedRollout[], objectives: Objectives, runMs: number): number {
  if (!(runMs > 0)) throw new RangeError(`A run takes more than 0 ms, not ${runMs}.`);
  return (rollouts.filter((served) => meets(served, objectives)).length / runMs) * 1000;
}
