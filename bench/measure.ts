/**
 * One rollout of one arm, measured at the client: a fresh connection, then all requests of the user, then the counters'
 * difference.
 */
import {
  playRollout,
  rolloutOf,
  rolloutRequests,
  toolOutputs,
  turnsOf,
  type Scenario,
} from '../scenarios/index.js';
import { Client, type RolloutReport, type Transport, type TurnReport } from '../transport/index.js';
import type { Arm } from './arms.js';
import { LatencyHistogram } from './histogram.js';
import { readCounters, stageRunsBetween, type Tally } from './schema/counters.js';

export interface Pace {
  /** Simulated: tokens the model writes in a second. */
  readonly decodeTokensPerSecond: number;
  /** Simulated: tokens the model reads in a second. */
  readonly prefillTokensPerSecond: number;
  /** True tool time is multiplied by this. */
  readonly toolScale: number;
}

export interface Place {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly rollout: number;
  readonly block: number;
  /** Place of this arm in its block, from 0. */
  readonly order: number;
}

/** One turn of a measurement, in milliseconds. Named as in the data dictionary of a result. */
export interface MeasuredTurn {
  readonly turn: number;
  /** Since the rollout's first turn was ready; the others since this one was. */
  readonly ready_ms: number;
  readonly first_event_ms: number;
  readonly first_token_ms: number;
  readonly last_token_ms: number;
  readonly overhead_ms: number;
  readonly ms: number;
  readonly input_tokens: number;
  readonly cached_tokens: number;
  readonly output_tokens: number;
  readonly bytes_up: number;
  readonly bytes_down: number;
}

export interface Measurement {
  readonly arm: string;
  readonly design: string;
  readonly transport: Transport;
  readonly scenario: string;
  readonly block: number;
  readonly order: number;
  readonly rollout: number;
  readonly status: string;
  /**
   * Opening the connection: cold is this and `e2e_ms`. Over HTTP it holds a first small request, because a pool opens its
   * connection with one: a round trip more than a socket of the kernel takes.
   */
  readonly connect_ms?: number;
  /** Of all requests of the user, from handing over its create to its terminal event; not what lies between two. */
  readonly e2e_ms: number;
  readonly turns: readonly MeasuredTurn[];
  /** Tool time the client waited for (scaled), and what it would have been. */
  readonly tool_ms: number;
  readonly true_tool_ms: number;
  readonly frames_up: number;
  readonly frames_down: number;
  readonly bytes_up: number;
  readonly bytes_down: number;
  readonly server_cpu_ms: number;
  readonly client_cpu_ms: number;
  readonly stage_runs: Readonly<Record<string, Tally>>;
  /** Gaps between the deltas of a turn, as `LatencyHistogram.toBase64` writes them; absent where nobody noted them. */
  readonly itl_histogram?: string;
}

export interface ServerAddress {
  readonly url: string;
  readonly key?: string | undefined;
  /** A certificate, as PEM text, that the client trusts beside Node's own. Default: none. */
  readonly ca?: string | undefined;
  /** Where its counters are read, without TLS. Default: `url`. */
  readonly countersUrl?: string | undefined;
}

/** A tool that takes its scaled time; under a millisecond it takes none, because a timer would take longer. */
function sleeping(ms: number): Promise<void> {
  return ms < 1 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms));
}

function measuredTurn(turn: TurnReport, startedAt: number, pace: Pace): MeasuredTurn {
  const input = turn.usage?.input_tokens ?? 0;
  const cached = turn.usage?.input_tokens_details.cached_tokens ?? 0;
  const injected = ((input - cached) / pace.prefillTokensPerSecond) * 1000;
  return {
    turn: turn.turn,
    ready_ms: turn.readyAt - startedAt,
    first_event_ms: turn.firstEventAt - turn.readyAt,
    first_token_ms: turn.firstTokenAt - turn.readyAt,
    last_token_ms: turn.lastTokenAt - turn.readyAt,
    overhead_ms: turn.firstTokenAt - turn.readyAt - injected,
    ms: turn.endedAt - turn.readyAt,
    input_tokens: input,
    cached_tokens: cached,
    output_tokens: turn.usage?.output_tokens ?? 0,
    bytes_up: turn.bytesUp,
    bytes_down: turn.bytesDown,
  };
}

/** Notes the gaps between the deltas of each turn. */
class DeltaGaps {
  readonly histogram = new LatencyHistogram();
  #turn = 0;
  #at = 0;

  note(turn: number, at: number): void {
    if (turn === this.#turn) this.histogram.record(at - this.#at);
    this.#turn = turn;
    this.#at = at;
  }
}

/** Slowest call of each turn, summed: calls of one turn run in parallel. */
function toolMs(slowest: ReadonlyMap<number, number>): number {
  return [...slowest.values()].reduce((sum, ms) => sum + ms, 0);
}

/** A server with another model would complete too, and its figures would mean nothing. */
function requirePlayed({ turns, status }: RolloutReport, scenario: Scenario, expected: number): void {
  if (status !== 'completed' || turns.length === expected) return;
  throw new Error(
    `the server made ${turns.length} turns of a rollout of ${scenario.name} that has ${expected}; start it with --scenarios`,
  );
}

/** @throws RolloutError where the server refuses or the connection ends. */
export async function measureRollout(
  server: ServerAddress,
  arm: Arm,
  place: Place,
  pace: Pace,
): Promise<Measurement> {
  const { scenario, seed, rollout } = place;
  const outputFor = toolOutputs(scenario, seed, rollout);
  // The key stands for the conversation, so that a design that keeps nothing finds the same model state as the others.
  const prompt_cache_key = `${arm.name}/${place.block}/${rollout}`;
  const requests = rolloutRequests(scenario, seed, rollout).map((request) => ({
    ...request,
    prompt_cache_key,
  }));
  const slowest = new Map<number, number>();
  const connection = {
    url: server.url,
    design: arm.design.name,
    client: arm.design.client,
    transport: arm.transport,
    ...(server.key === undefined ? {} : { key: server.key }),
    ...(server.ca === undefined ? {} : { ca: server.ca }),
  };
  const counters = () => readCounters(server.countersUrl ?? server.url, server.key);
  const gaps = new DeltaGaps();
  const connectAt = performance.now();
  await using client = await Client.connect(connection);
  const connect_ms = performance.now() - connectAt;
  const before = await counters();
  const cpu = process.cpuUsage();
  // What the user thinks between two requests is not waited for.
  const report = await playRollout(client, requests, {
    onToken: (turn, at) => gaps.note(turn, at),
    tool: async ({ turn, index }) => {
      const output = outputFor(turn, index);
      slowest.set(turn, Math.max(slowest.get(turn) ?? 0, output.toolMs));
      await sleeping(output.toolMs * pace.toolScale);
      return output.text;
    },
  });
  requirePlayed(report, scenario, turnsOf(rolloutOf(scenario, seed, rollout)).length);
  const used = process.cpuUsage(cpu);
  const after = await counters();
  return {
    arm: arm.name,
    design: arm.design.name,
    transport: arm.transport,
    scenario: scenario.name,
    block: place.block,
    order: place.order,
    rollout,
    connect_ms,
    tool_ms: toolMs(slowest) * pace.toolScale,
    true_tool_ms: toolMs(slowest),
    server_cpu_ms: (after.cpu_us - before.cpu_us) / 1000,
    client_cpu_ms: (used.user + used.system) / 1000,
    stage_runs: stageRunsBetween(before, after),
    itl_histogram: gaps.histogram.toBase64(),
    ...fromReport(report, pace),
  };
}

function fromReport(report: RolloutReport, pace: Pace) {
  const startedAt = report.turns[0]?.readyAt ?? 0;
  return {
    status: report.status,
    e2e_ms: report.ms,
    turns: report.turns.map((turn) => measuredTurn(turn, startedAt, pace)),
    frames_up: report.framesUp,
    frames_down: report.framesDown,
    bytes_up: report.bytesUp,
    bytes_down: report.bytesDown,
  };
}
