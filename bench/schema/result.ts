/** `manifest.json` and `summary.json` of a result, with unit and meaning of each field. */
import { z } from 'zod';

import type { LabSummary } from '../lab/sections.js';
import { count, fieldsOf, flag, named, oneOf, orNull, text, type Field } from './field.js';
import * as section from './sections.js';

const manifest = z.object({
  made_at: text('Time it was made, ISO 8601.'),
  commit: orNull(text('Git commit; `+` behind it where the tree had changes; null outside a checkout.')),
  lock_sha256: orNull(text('SHA-256 of package-lock.json.')),
  node: text('Version of Node.'),
  kernel: text('Operating system and release.'),
  cpu: text('Model of the CPU.'),
  cores: count('Cores that this process may use.'),
  memory_gib: z.number().meta({ unit: 'GiB', description: 'Memory of the machine.' }),
  governor: orNull(text('What sets the CPU’s frequency; null where it can’t be read.')),
  sysctls: named(z.string(), 'Settings of TCP that bear on latency, those that can be read.'),
  command: text('The words that make the same result again.'),
});

const labManifest = manifest.extend({
  version: z.literal(1).meta({ unit: 'version', description: 'Of this format.' }),
  set: text('Which set was run.'),
  seed: count('Chooses rollouts, costs and orders.'),
  rtt_method: text('How round-trip time and bandwidth came about.'),
  scenarios: named(z.string(), 'SHA-256 of each scenario that was played.'),
  profiles: named(z.unknown(), 'Every simulated cost of each service profile that was used.'),
  parameters: named(z.unknown(), 'Everything else that was set.'),
});

const summary = z.strictObject({
  version: labManifest.shape.version,
  set: oneOf(['quick', 'full'], 'Which set was run.'),
  manifest,
  seed: labManifest.shape.seed,
  partial: flag('The run was ended early: sections that are missing were not reached.'),
  counts: z.array(section.counts).exactOptional(),
  bare: z.array(section.difference).exactOptional(),
  profiles: z.array(section.profile).exactOptional(),
  frontier: z.array(section.frontier).exactOptional(),
  factors: z.array(section.factors).exactOptional(),
  invariance: z.array(section.invariance).exactOptional(),
  cold: z.array(section.cold).exactOptional(),
  residency: z.array(section.residency).exactOptional(),
  anchors: z.array(section.anchor).exactOptional(),
  machine: z.array(section.machine).exactOptional(),
  network: z.array(section.network).exactOptional(),
  capacity: z.array(section.capacity).exactOptional(),
  hypotheses: z.array(section.verdict).exactOptional(),
  claims: z.array(section.claim).exactOptional(),
});

export type LabManifest = z.output<typeof labManifest>;

export const summaryFields: readonly Field[] = fieldsOf(summary);
export const manifestFields: readonly Field[] = fieldsOf(labManifest);

/** A list of numbers that are none has a line for each: more of them say no more. */
const faultsShown = 5;

function parsed<Value>(schema: z.ZodType<Value>, value: unknown, from: string): Value {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { issues } = result.error;
  const lines = issues
    .slice(0, faultsShown)
    .map(({ path, message }) => `${from}: ${path.join('.')}: ${message}`);
  const more = issues.length - lines.length;
  throw new RangeError([...lines, ...(more > 0 ? [`${from}: and ${more} more`] : [])].join('\n'));
}

/** @throws RangeError that names the first fields at fault, a line each: unknown ones too, so that none goes without a meaning. */
export const parseSummary = (value: unknown, from: string): LabSummary => parsed(summary, value, from);
/** @throws RangeError that names the first fields at fault, a line each. */
export const parseManifest = (value: unknown, from: string): LabManifest => parsed(labManifest, value, from);

const task = z.strictObject({ task: z.string(), rows: z.array(z.record(z.string(), z.unknown())) });

/** A line of the sections that are done; null where it is none. */
export function parseTask(line: string): z.output<typeof task> | null {
  try {
    return task.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    return null;
  }
}
