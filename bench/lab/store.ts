/**
 * A result directory while it is being made.
 *
 *   R1  Rows are written as soon as their unit of work is done, turns before rollouts, so that a unit whose rollouts are all
 *       there is whole. An ended run loses nothing but the unit under way.
 *   R2  Rows of different commits, machines or parameters never stand in one result.
 *   R3  A file that is written at once is written whole or not at all.
 */
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { stringify } from 'csv-stringify/sync';

import { parseManifest, parseSummary, type LabManifest } from '../schema/result.js';
import { dictionary } from './dictionary.js';
import {
  differences,
  fileNames,
  jsonFrom,
  readManifest,
  readRows,
  textOf,
  writeWhole,
} from './result-files.js';
import type { NewRollout, NewTurn, RolloutRow, TurnRow } from './rows.js';
import type { LabSummary } from './sections.js';

export type { LabManifest } from '../schema/result.js';

export interface StoreOptions {
  /** Goes on with the rows that are there. Default: a finished result is made anew, and an unfinished one refused. */
  readonly resume?: boolean;
  readonly manifest: LabManifest;
}

/** Decimals of a number in a row: a microsecond. */
export const rowDecimals = 3;

function rounded<Row extends object>(row: Row): Row {
  const scale = 10 ** rowDecimals;
  const text = JSON.stringify(row, (_, value: unknown) =>
    typeof value === 'number' ? Math.round(value * scale) / scale : value,
  );
  return JSON.parse(text);
}

function jsonl(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

export class Store {
  readonly dir: string;
  /** What was dropped at the start, a sentence each: to be printed. */
  readonly dropped: readonly string[];
  readonly #rollouts: RolloutRow[];
  readonly #turns: TurnRow[];
  readonly #units: Set<string>;

  constructor(
    dir: string,
    {
      rollouts,
      turns,
      dropped,
    }: { rollouts: readonly RolloutRow[]; turns: readonly TurnRow[]; dropped: readonly string[] },
  ) {
    this.dir = dir;
    this.dropped = dropped;
    this.#rollouts = [...rollouts];
    this.#turns = [...turns];
    this.#units = new Set(rollouts.map(({ unit }) => unit));
  }

  /** Whether that unit of work is done. */
  has(unit: string): boolean {
    return this.#units.has(unit);
  }

  /**
   * Writes what a unit of work measured (R1). Turns may be left out where there are too many to keep.
   * @throws Error for a unit that is there, or that has no rollout.
   */
  add(unit: string, rollouts: readonly NewRollout[], turns: readonly NewTurn[] = []): void {
    if (this.has(unit)) throw new Error(`the unit "${unit}" has been measured`);
    if (rollouts.length === 0) throw new Error(`the unit "${unit}" has no rollout`);
    const unitRollouts = rollouts.length;
    const turnRows = turns.map((row) => rounded({ unit, ...row }));
    const rolloutRows = rollouts.map((row) => rounded({ unit, unit_rollouts: unitRollouts, ...row }));
    if (turnRows.length > 0) appendFileSync(join(this.dir, fileNames.turns), jsonl(turnRows));
    appendFileSync(join(this.dir, fileNames.rollouts), jsonl(rolloutRows));
    this.#turns.push(...turnRows);
    this.#rollouts.push(...rolloutRows);
    this.#units.add(unit);
  }

  /** Everything so far, as it stands in the files. */
  rows(): { readonly rollouts: readonly RolloutRow[]; readonly turns: readonly TurnRow[] } {
    return { rollouts: this.#rollouts, turns: this.#turns };
  }

  /** A file of the result that is made of its own, such as a trace. */
  write(name: string, content: string): void {
    writeWhole(join(this.dir, name), content);
  }

  /** Adds to a file of the run's own. It is gone once the result is finished. */
  append(name: string, line: string): void {
    appendFileSync(join(this.dir, name), line);
  }

  /**
   * Writes `summary.json`, both CSV files and the dictionary. May be called again: a partial result is replaced.
   * @throws RangeError for a field that the dictionary does not know.
   */
  finish(summary: LabSummary): void {
    const checked = parseSummary(
      jsonFrom(JSON.stringify(summary), fileNames.summary),
      join(this.dir, fileNames.summary),
    );
    this.write(fileNames.rolloutsCsv, stringify(this.#rollouts, { header: true }));
    this.write(fileNames.turnsCsv, stringify(this.#turns, { header: true }));
    this.write(fileNames.dictionary, dictionary());
    this.write(fileNames.summary, `${JSON.stringify(checked, null, 1)}\n`);
    if (!checked.partial) rmSync(join(this.dir, fileNames.tasks), { force: true });
  }
}

/** Puts down the rows that are whole, so that what is appended follows a whole line. */
function restored(dir: string): Store {
  const rows = readRows(dir);
  if (rows.dropped.length > 0) {
    writeWhole(join(dir, fileNames.turns), jsonl(rows.turns));
    writeWhole(join(dir, fileNames.rollouts), jsonl(rows.rollouts));
  }
  return new Store(dir, rows);
}

/** Read as text, because a finished result of an older format is to be replaced too. */
function isUnfinished(dir: string): boolean {
  const rows = textOf(join(dir, fileNames.rollouts)) ?? '';
  return rows !== '' && !/^ "partial": false/m.test(textOf(join(dir, fileNames.summary)) ?? '');
}

function begun(dir: string, manifest: LabManifest): Store {
  if (isUnfinished(dir))
    throw new Error(
      `${dir} has a result that is not finished: go on with --resume, or name another directory`,
    );
  for (const name of Object.values(fileNames)) rmSync(join(dir, name), { force: true, recursive: true });
  writeWhole(join(dir, fileNames.manifest), `${JSON.stringify(manifest, null, 1)}\n`);
  writeWhole(join(dir, fileNames.turns), '');
  writeWhole(join(dir, fileNames.rollouts), '');
  return new Store(dir, { rollouts: [], turns: [], dropped: [] });
}

/**
 * Opens a result directory, and makes it where there is none. A result that is finished is replaced; one that is not is
 * kept for `resume`.
 * @throws Error where there is an unfinished result and it was not to be resumed, or where it can't be resumed because the
 * commit, the machine or a parameter is another (each is named).
 */
export function openStore(dir: string, { resume = false, manifest }: StoreOptions): Store {
  mkdirSync(dir, { recursive: true });
  const written = parseManifest(
    jsonFrom(JSON.stringify(manifest), fileNames.manifest),
    join(dir, fileNames.manifest),
  );
  const there = resume ? readManifest(dir) : null;
  if (there === null) return begun(dir, written);
  const other = differences(there, written);
  if (other.length > 0)
    throw new Error(`${dir} can't be resumed: ${other.join('; ')}. Name another directory.`);
  return restored(dir);
}
