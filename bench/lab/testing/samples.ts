/** Small results for tests. */
import type { LabManifest } from '../../schema/result.js';
import type { NewRollout, NewTurn } from '../rows.js';
import type { Difference, LabSummary } from '../sections.js';

export const sampleManifest: LabManifest = {
  version: 1,
  made_at: '2026-01-01T00:00:00.000Z',
  commit: 'abc',
  lock_sha256: null,
  node: 'v20.20.0',
  kernel: 'Linux 6',
  cpu: 'a cpu',
  cores: 2,
  memory_gib: 8,
  governor: null,
  sysctls: { 'net.ipv4.tcp_congestion_control': 'cubic' },
  command: 'lab',
  set: 'quick',
  seed: 1,
  rtt_method: 'loopback',
  scenarios: { terminal: 'f00' },
  profiles: { bare: { name: 'bare' } },
  parameters: { blocks: 12 },
};

export const sampleRollout: NewRollout = {
  engine: 'real',
  path: 'loopback',
  scenario: 'terminal',
  profile: 'bare',
  arm: 'append-ws',
  tokens_per_second: 1000,
  rtt_ms: 0,
  tool_scale: 0.01,
  block: 0,
  order: 0,
  rollout: 0,
  status: 'completed',
  turns: 1,
  e2e_ms: 12.345678,
  connect_ms: 1,
  tool_ms: 1,
  true_tool_ms: 100,
  overhead_ms: 0.5,
  output_tokens: 10,
  bytes_up: 100,
  bytes_down: 200,
  frames_up: 1,
  frames_down: 12,
  server_cpu_ms: 1,
  client_cpu_ms: null,
  itl_p50_ms: 1,
  itl_p99_ms: 1.5,
  pre_runs: 1,
  append_runs: 0,
  post_runs: 1,
};

export const sampleTurn: NewTurn = {
  scenario: 'terminal',
  arm: 'append-ws',
  block: 0,
  rollout: 0,
  turn: 1,
  ready_ms: 0,
  first_event_ms: 0.25,
  first_token_ms: 2,
  last_token_ms: 11,
  ms: 11.5,
  overhead_ms: 0.5,
  tpot_ms: 1,
  input_tokens: 100,
  cached_tokens: 50,
  output_tokens: 10,
  bytes_up: 100,
  bytes_down: 200,
};

function sampleDifference(tokens_per_second: number, mean: number): Difference {
  return {
    engine: 'real',
    scenario: 'terminal',
    profile: 'bare',
    tokens_per_second,
    rtt_ms: 0,
    left: 'append-ws',
    right: 'chain-ws',
    rollouts: 12,
    turns: 120,
    ms_per_turn: {
      blocks: 12,
      mean,
      median: mean,
      interval: { low: mean - 0.2, high: mean + 0.2 },
      p_value: 0.001,
    },
    relative: mean / (10 + 100_000 / tokens_per_second),
    relative_at_true_tool_time: mean / 5000,
    smallest_detectable_ms_per_turn: 0.1,
  };
}

const speeds = [65, 250, 1000, 4000];

export const sampleSummary: LabSummary = {
  version: 1,
  set: 'quick',
  manifest: sampleManifest,
  seed: 1,
  partial: false,
  bare: speeds.map((speed) => sampleDifference(speed, -1.1)),
  frontier: speeds.map((tokens_per_second) => ({
    scenario: 'terminal',
    tokens_per_second,
    rtt_ms: 50,
    tool_scale: 1,
    restarts_after_idle: false,
    rollouts: 30,
    points: [0, 20, 80].map((residual_ms) => ({
      residual_ms,
      admission_ms: 0,
      chain_ms_per_turn: 100 + 100_000 / tokens_per_second,
      ms_per_turn: -residual_ms,
      relative: -residual_ms / (100 + 100_000 / tokens_per_second),
      relative_at_true_tool_time: -residual_ms / 5000,
    })),
    threshold_ms: 24 + 10_000 / tokens_per_second,
  })),
  factors: [
    {
      scenario: 'terminal',
      profile: 'hosted',
      tokens_per_second: 1000,
      rtt_ms: 50,
      restarts_after_idle: false,
      rollouts: 30,
      cells: [{ on: ['wire'], ms_per_turn: 600 }],
      ladder: [
        { step: 'replay-http', ms_per_turn: 1000 },
        { step: 'on a socket', ms_per_turn: 700 },
        { step: 'append-ws', ms_per_turn: 590 },
      ],
      shapley: [
        { factor: 'obligations', ms_per_turn: 16, share: 0.8, alone_ms_per_turn: 15 },
        { factor: 'suspension', ms_per_turn: 4, share: 0.2, alone_ms_per_turn: 0 },
      ],
      ahead: { ms_per_turn: 14, share: 0.7 },
    },
  ],
};
