/** What a trace in Chrome's format holds where the lab wrote it: see bench/lab/trace.ts. */
import { z } from 'zod';

const named = z.object({
  ph: z.literal('M'),
  name: z.string(),
  pid: z.number(),
  args: z.object({ name: z.string() }),
});

const span = z.object({
  ph: z.literal('X'),
  name: z.string(),
  cat: z.enum(['client', 'network', 'service', 'overlapped', 'model']),
  pid: z.number(),
  /** Microseconds. */
  ts: z.number(),
  dur: z.number(),
  args: z.object({ turn: z.number() }),
});

const trace = z.object({
  otherData: z.object({
    engine: z.enum(['real', 'virtual']),
    scenario: z.string(),
    profile: z.string(),
    tokens_per_second: z.number(),
    rtt_ms: z.number(),
    rollout: z.number(),
  }),
  traceEvents: z.array(z.discriminatedUnion('ph', [named, span])),
});

export type ChromeTrace = z.output<typeof trace>;

/** @throws RangeError that names the first field at fault. */
export function parseTrace(value: unknown, from: string): ChromeTrace {
  const result = trace.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new RangeError(`${from}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'no trace'}`);
}
