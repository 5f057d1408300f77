/** Reads a server's cumulative counters. The difference between two readings is what lay between them. */
import { z } from 'zod';

const tallySchema = z.looseObject({
  runs: z.number(),
  items: z.number(),
  tokens: z.number(),
  ms: z.number(),
});

const countersSchema = z.looseObject({
  /** CPU of the whole server process, all threads, user and system. */
  cpu_us: z.number(),
  rss_bytes: z.number(),
  stage_runs: z.record(z.string(), tallySchema),
});

export type Counters = z.output<typeof countersSchema>;
export type Tally = Pick<z.output<typeof tallySchema>, 'runs' | 'items' | 'tokens' | 'ms'>;

/** @throws Error where the server has no counters or does not let us read them. */
export async function readCounters(url: string, key: string | undefined): Promise<Counters> {
  const at = new URL('/counters', url);
  at.protocol = at.protocol.replace('ws', 'http');
  const answer = await fetch(at, { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } });
  if (!answer.ok)
    throw new Error(`${at.href} answered ${answer.status}; is it a long-response server, and the key right?`);
  return countersSchema.parse(await answer.json());
}

/** What the stages did between two readings. */
export function stageRunsBetween(before: Counters, after: Counters): Record<string, Tally> {
  const entries = Object.entries(after.stage_runs).map(([stage, { runs, items, tokens, ms }]) => {
    const was = before.stage_runs[stage] ?? { runs: 0, items: 0, tokens: 0, ms: 0 };
    const tally = {
      runs: runs - was.runs,
      items: items - was.items,
      tokens: tokens - was.tokens,
      ms: ms - was.ms,
    };
    return [stage, tally] as const;
  });
  return Object.fromEntries(entries.filter(([, tally]) => tally.runs > 0));
}
