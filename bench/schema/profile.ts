/** What a file of service costs may hold: see bench/service/profile.ts for what the fields do. Unknown fields are errors. */
import { z } from 'zod';

const table = z
  .strictObject({
    p: z.array(z.number().min(0).max(100)).min(2),
    v: z.array(z.number().min(0)).min(2),
  })
  .refine(({ p, v }) => p.length === v.length, { path: ['v'], error: 'expected a value for each percentile' })
  .refine(
    ({ p, v }) => [p, v].every((list) => list.every((one, at) => at === 0 || one >= (list[at - 1] ?? 0))),
    {
      error: 'expected p and v to ascend',
    },
  );

const cost = z.strictObject({
  /** Milliseconds that one run waits: for another service, a disk, a lock. A number, or a table of percentiles and values. */
  wait_ms: z.union([z.number().min(0), table]).default(0),
  /** Milliseconds of CPU that one run burns. */
  cpu_ms: z.number().min(0).default(0),
  /** Microseconds waited for each token that the run works on. */
  us_per_token: z.number().min(0).default(0),
});

/** The pieces of work around a model. */
export const moduleNames = [
  'auth',
  'rate_limit',
  'route',
  'config',
  'hop',
  'extra_hop',
  'residual',
  'hydrate',
  'validation',
  'render',
  'safety',
  'output_safety',
  'store',
  'billing',
] as const;

const module = z.strictObject({
  /** A whole run. */
  full: cost,
  /** A run that finds its answer in a cache. Default: nothing. */
  cached: cost.optional(),
});

const profileSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]{1,64}$/, 'expected 1 to 64 of a-z 0-9 -'),
  /** One sentence: what service this stands for. */
  about: z.string().min(1),
  /** Which numbers are measured, by whom, and which are assumed. */
  source: z.string().min(1),
  modules: z.partialRecord(z.enum(moduleNames), module),
  /** Milliseconds that a turn waits for a place on the machine: where it has none, and where it held one. */
  admission: z
    .strictObject({ admit_ms: z.number().min(0), resume_ms: z.number().min(0) })
    .default({ admit_ms: 0, resume_ms: 0 }),
  /** Share of the history that a piece of work which is bound to what is new still reads at a create. 0 to 1. */
  history_share: z.number().min(0).max(1).default(0),
});

export type ModuleName = (typeof moduleNames)[number];
export type Cost = z.output<typeof cost>;
export type ModuleCosts = z.output<typeof module>;
export type Profile = z.output<typeof profileSchema>;

/**
 * Checks a profile that came as JSON.
 * @throws RangeError that names every field at fault, a line each, after `from`.
 */
export function parseProfile(value: unknown, from: string): Profile {
  const parsed = profileSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(({ path, message }) => `${from}: ${path.join('.')}: ${message}`);
  throw new RangeError(lines.join('\n'));
}
