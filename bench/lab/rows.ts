/** From what was measured, or played in virtual time, to the rows of a result. Pure. */
import { LatencyHistogram } from '../histogram.js';
import type { MeasuredTurn, Measurement } from '../measure.js';
import { tpotMs } from '../metrics.js';
import type { RolloutRow, TurnRow } from '../schema/rows.js';
import type { SimulatedRollout } from '../virtual/thread.js';

export type { RolloutRow, TurnRow } from '../schema/rows.js';

/** Rows as they are measured; the store puts the key of their unit of work before them. */
export type NewRollout = Omit<RolloutRow, 'unit' | 'unit_rollouts'>;
export type NewTurn = Omit<TurnRow, 'unit'>;

/** What a row says of where it comes from. */
export type RowPlace = Pick<
  NewRollout,
  | 'path'
  | 'scenario'
  | 'profile'
  | 'arm'
  | 'tokens_per_second'
  | 'rtt_ms'
  | 'tool_scale'
  | 'block'
  | 'order'
  | 'rollout'
>;

export interface NewRows {
  readonly rollouts: readonly NewRollout[];
  readonly turns: readonly NewTurn[];
}

type AnyTurn = Omit<MeasuredTurn, 'bytes_down'> & { readonly bytes_down?: number };
type Runs = Readonly<Record<string, { readonly runs: number }>>;

function turnRow({ scenario, arm, block, rollout }: RowPlace, turn: AnyTurn): NewTurn {
  return {
    scenario,
    arm,
    block,
    rollout,
    turn: turn.turn,
    ready_ms: turn.ready_ms,
    first_event_ms: turn.first_event_ms,
    first_token_ms: turn.first_token_ms,
    last_token_ms: turn.last_token_ms,
    ms: turn.ms,
    overhead_ms: turn.overhead_ms,
    tpot_ms: tpotMs(turn),
    input_tokens: turn.input_tokens,
    cached_tokens: turn.cached_tokens,
    output_tokens: turn.output_tokens,
    bytes_up: turn.bytes_up,
    bytes_down: turn.bytes_down ?? null,
  };
}

function sum(turns: readonly AnyTurn[], field: 'overhead_ms' | 'output_tokens' | 'bytes_up'): number {
  return turns.reduce((total, turn) => total + turn[field], 0);
}

/** Validation is in every passage of every design. */
function passages(runs: Runs): Pick<RolloutRow, 'pre_runs' | 'append_runs' | 'post_runs'> {
  const of = (stage: string): number => runs[stage]?.runs ?? 0;
  return {
    pre_runs: of('pre.validate'),
    append_runs: of('append.validate'),
    post_runs: of('post.bill'),
  };
}

function gaps(histogram: string | undefined): Pick<RolloutRow, 'itl_p50_ms' | 'itl_p99_ms'> {
  const at = histogram === undefined ? null : LatencyHistogram.fromBase64(histogram).quantiles();
  return { itl_p50_ms: at?.p50 ?? null, itl_p99_ms: at?.p99 ?? null };
}

/** A rollout over processes and sockets. */
export function rowsOfMeasurement(place: RowPlace, measured: Measurement): NewRows {
  const { turns, status, e2e_ms, tool_ms, true_tool_ms, bytes_up, bytes_down } = measured;
  const row: NewRollout = {
    ...place,
    engine: 'real',
    status,
    turns: turns.length,
    e2e_ms,
    connect_ms: measured.connect_ms ?? null,
    tool_ms,
    true_tool_ms,
    overhead_ms: sum(turns, 'overhead_ms'),
    output_tokens: sum(turns, 'output_tokens'),
    bytes_up,
    bytes_down,
    frames_up: measured.frames_up,
    frames_down: measured.frames_down,
    server_cpu_ms: measured.server_cpu_ms,
    client_cpu_ms: measured.client_cpu_ms,
    ...gaps(measured.itl_histogram),
    ...passages(measured.stage_runs),
  };
  return { rollouts: [row], turns: turns.map((turn) => turnRow(place, turn)) };
}

/** A rollout in virtual time. */
export function rowsOfPlayed(place: RowPlace, played: SimulatedRollout): NewRows {
  const { turns, status, e2e_ms, tool_ms, true_tool_ms, stage_runs } = played;
  const row: NewRollout = {
    ...place,
    engine: 'virtual',
    status,
    turns: turns.length,
    e2e_ms,
    connect_ms: null,
    tool_ms,
    true_tool_ms,
    overhead_ms: sum(turns, 'overhead_ms'),
    output_tokens: sum(turns, 'output_tokens'),
    bytes_up: sum(turns, 'bytes_up'),
    bytes_down: null,
    frames_up: null,
    frames_down: null,
    server_cpu_ms: null,
    client_cpu_ms: null,
    itl_p50_ms: null,
    itl_p99_ms: null,
    ...passages(stage_runs),
  };
  return { rollouts: [row], turns: turns.map((turn) => turnRow(place, turn)) };
}
