/** What a process that measures is asked, and what it answers: see bench/lab/measure-child.ts. */
import { z } from 'zod';

export const measureOrderSchema = z.object({
  address: z.object({
    url: z.string(),
    key: z.string().exactOptional(),
    ca: z.string().exactOptional(),
    countersUrl: z.string().exactOptional(),
  }),
  arm: z.string(),
  place: z.object({ seed: z.number(), rollout: z.number(), block: z.number(), order: z.number() }),
  pace: z.object({
    decodeTokensPerSecond: z.number(),
    prefillTokensPerSecond: z.number(),
    toolScale: z.number(),
  }),
});

const turnSchema = z.object({
  turn: z.number(),
  ready_ms: z.number(),
  first_event_ms: z.number(),
  first_token_ms: z.number(),
  last_token_ms: z.number(),
  overhead_ms: z.number(),
  ms: z.number(),
  input_tokens: z.number(),
  cached_tokens: z.number(),
  output_tokens: z.number(),
  bytes_up: z.number(),
  bytes_down: z.number(),
});

const tallySchema = z.object({ runs: z.number(), items: z.number(), tokens: z.number(), ms: z.number() });

const measurementSchema = z.object({
  arm: z.string(),
  design: z.string(),
  transport: z.enum(['ws', 'http']),
  scenario: z.string(),
  block: z.number(),
  order: z.number(),
  rollout: z.number(),
  status: z.string(),
  connect_ms: z.number().exactOptional(),
  e2e_ms: z.number(),
  turns: z.array(turnSchema),
  tool_ms: z.number(),
  true_tool_ms: z.number(),
  frames_up: z.number(),
  frames_down: z.number(),
  bytes_up: z.number(),
  bytes_down: z.number(),
  server_cpu_ms: z.number(),
  client_cpu_ms: z.number(),
  stage_runs: z.record(z.string(), tallySchema),
  itl_histogram: z.string().exactOptional(),
});

/** A rollout as it was measured, or why it could not be. */
export const measureAnswerSchema = z.union([
  z.object({ measurement: measurementSchema }),
  z.object({ fault: z.string() }),
]);

export type MeasureOrder = z.output<typeof measureOrderSchema>;
export type MeasureAnswer = z.output<typeof measureAnswerSchema>;
