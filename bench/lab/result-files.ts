/** The files of a result directory: how they are read, and written whole. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import { parseManifest, parseSummary, type LabManifest } from '../schema/result.js';
import { parseRolloutRow, parseTurnRow } from '../schema/rows.js';
import type { RolloutRow, TurnRow } from './rows.js';
import type { LabSummary } from './sections.js';

export const fileNames = {
  manifest: 'manifest.json',
  rollouts: 'rollouts.jsonl',
  turns: 'turns.jsonl',
  summary: 'summary.json',
  rolloutsCsv: 'rollouts.csv',
  turnsCsv: 'turns.csv',
  dictionary: 'DICTIONARY.md',
  trace: 'trace.json',
  otlp: 'trace.otlp.json',
  measuredTrace: 'trace-measured.json',
  figures: 'figures',
  /** Only while a run is under way. */
  tasks: 'tasks.jsonl',
} as const;

/** Writes a file so that a reader, or a kill, meets the old one or the new one and nothing between. */
export function writeWhole(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const beside = `${path}.part`;
  writeFileSync(beside, content);
  renameSync(beside, path);
}

/** The text of a file; null where there is none. */
export function textOf(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

/** @throws RangeError where it is no JSON. */
export function jsonFrom(text: string, from: string): unknown {
  try {
    return JSON.parse(text);
  } catch (fault) {
    throw new RangeError(`${from}: not JSON: ${String(fault)}`, { cause: fault });
  }
}

/** The summary of a result; null where it has none yet. Throws a RangeError that names file and field. */
export function readSummary(dir: string): LabSummary | null {
  const path = join(dir, fileNames.summary);
  const text = textOf(path);
  return text === null ? null : parseSummary(jsonFrom(text, path), path);
}

/** The manifest of a result; null where it has none. Throws a RangeError that names file and field. */
export function readManifest(dir: string): LabManifest | null {
  const path = join(dir, fileNames.manifest);
  const text = textOf(path);
  return text === null ? null : parseManifest(jsonFrom(text, path), path);
}

/** The lines of a row file, and whether its last one was torn by a kill and left out. */
interface Lines<Row> {
  readonly rows: readonly Row[];
  readonly torn: boolean;
}

function linesOf<Row>(path: string, parse: (value: unknown, from: string) => Row): Lines<Row> {
  const lines = (textOf(path) ?? '').split('\n');
  // A whole file ends in a newline, so that what is behind the last one is nothing.
  const torn = lines.pop() !== '';
  return {
    rows: lines.map((line, index) =>
      parse(jsonFrom(line, `${path}: line ${index + 1}`), `${path}: line ${index + 1}`),
    ),
    torn,
  };
}

export interface StoredRows {
  readonly rollouts: readonly RolloutRow[];
  readonly turns: readonly TurnRow[];
  /** What was left out of the files, a sentence each. */
  readonly dropped: readonly string[];
}

/** Units of which every rollout is there. The store writes turns first, so these have their turns too. */
function wholeUnits(rollouts: readonly RolloutRow[]): Set<string> {
  const seen = new Map<string, number>();
  for (const { unit } of rollouts) seen.set(unit, (seen.get(unit) ?? 0) + 1);
  return new Set(rollouts.filter((row) => seen.get(row.unit) === row.unit_rollouts).map(({ unit }) => unit));
}

/** The rows of a result, without those that a kill left unfinished. Throws a RangeError that names file, line and field. */
export function readRows(dir: string): StoredRows {
  const rollouts = linesOf(join(dir, fileNames.rollouts), parseRolloutRow);
  const turns = linesOf(join(dir, fileNames.turns), parseTurnRow);
  const whole = wholeUnits(rollouts.rows);
  const unfinished = new Set(
    [...rollouts.rows, ...turns.rows].map(({ unit }) => unit).filter((unit) => !whole.has(unit)),
  );
  const torn = [rollouts.torn ? fileNames.rollouts : '', turns.torn ? fileNames.turns : ''];
  return {
    rollouts: rollouts.rows.filter(({ unit }) => whole.has(unit)),
    turns: turns.rows.filter(({ unit }) => whole.has(unit)),
    dropped: [
      ...torn
        .filter((name) => name !== '')
        .map((name) => `${name}: the last line was cut off, and is left out.`),
      ...[...unfinished].map((unit) => `${unit}: was cut off, and is measured again.`),
    ],
  };
}

const sameInOneRun = [
  'version',
  'set',
  'commit',
  'lock_sha256',
  'node',
  'kernel',
  'cpu',
  'cores',
  'governor',
  'sysctls',
  'seed',
  'rtt_method',
  'scenarios',
  'profiles',
  'parameters',
] as const;

function brief(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function entriesOf(value: unknown): ReadonlyMap<string, unknown> | null {
  return typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : null;
}

/** What keeps rows of one run from standing beside those of another: `parameters.blocks was 12, is 30`. */
export function differences(was: LabManifest, is: LabManifest): string[] {
  return sameInOneRun.flatMap((name) => {
    const [before, now] = [entriesOf(was[name]), entriesOf(is[name])];
    if (before === null || now === null)
      return was[name] === is[name] ? [] : [`${name} was ${brief(was[name])}, is ${brief(is[name])}`];
    return [...new Set([...before.keys(), ...now.keys()])]
      .filter((key) => !isDeepStrictEqual(before.get(key), now.get(key)))
      .map((key) => `${name}.${key} was ${brief(before.get(key))}, is ${brief(now.get(key))}`);
  });
}
