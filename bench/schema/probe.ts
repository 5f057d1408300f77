/** What the processes of the network's probe say to each other: see bench/network/probe.ts. */
import { z } from 'zod';

const probeTimesSchema = z.object({
  /** Of the body, without the four of its length. */
  bytes: z.number(),
  /** Per turn: the time to open the connection counts. */
  connection: z.enum(['kept', 'per-turn']),
  /** Idle time of the connection before the body. */
  gap_ms: z.number(),
  took_ms: z.array(z.number()),
});

export type ProbeTimes = z.infer<typeof probeTimesSchema>;

export const probeReportSchema = z.array(probeTimesSchema);
/** Where a process listens. */
export const portSchema = z.number().int().positive();
