/**
 * The lab: measures and plays what a plan holds, writes every row as it comes, and folds the rows into a summary.
 *
 *   L1  What was measured stays: a run that is ended early leaves a partial summary, and goes on from there.
 *   L2  A section is a fold of rows or of virtual time, so that a summary can be made again from what is in its directory.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { builtinScenarios, type Scenario } from '../../scenarios/index.js';
import { parseSummary } from '../schema/result.js';
import { builtinProfiles } from '../service/profile.js';
import type { Machine } from './anchors.js';
import { namespacesAvailable } from './cell-path.js';
import { claimMean, type RealCell } from './cells.js';
import { judge } from './hypotheses.js';
import { labManifest } from './manifest.js';
import { blockSeconds, measureCells, measuredSections, unitOf } from './measured.js';
import { plans, type Plan, type SetName, type VirtualTask } from './plan.js';
import { judgeClaims } from './published.js';
import { fileNames } from './result-files.js';
import type { LabSummary } from './sections.js';
import { openStore, type LabManifest, type Store } from './store.js';
import { readTasks, taskLine } from './tasks.js';
import { writeMeasuredTrace, writeTraces } from './traced.js';

export interface LabOptions {
  readonly set: SetName;
  /** Default: the set's own. */
  readonly plan?: Plan;
  /** Where the result is written. */
  readonly dir: string;
  /** Goes on with what is there. Default false. */
  readonly resume?: boolean;
  /** Default 1. */
  readonly seed?: number;
  /** Ends the run after the unit of work under way. */
  readonly signal: AbortSignal;
  /** Seconds of planned work that are done, of all; and what is being done. */
  readonly onProgress?: (done: number, of: number, doing: string) => void;
  /** Called with a sentence for each thing that a kill left unfinished and that is measured again. */
  readonly onNotice?: (sentence: string) => void;
  /** The words that make this run again. */
  readonly command: string;
}

/** Cells in the order in which they are measured: those that are compared with each other are taken in turns. */
function measuredTogether({ bare, transports, anchors, network }: Plan): (readonly RealCell[])[] {
  return [...[...bare, transports].map((cell) => [cell]), anchors, ...network.map((cell) => [cell])];
}

/** The plan as it can be measured here, and why not all of it can. */
async function measurable(plan: Plan): Promise<{ readonly plan: Plan; readonly missing: string | null }> {
  const missing = plan.network.length === 0 ? null : await namespacesAvailable();
  return { plan: missing === null ? plan : { ...plan, network: [] }, missing };
}

function manifestOf(plan: Plan, missing: string | null, options: LabOptions): LabManifest {
  const { set, seed = 1, command } = options;
  const cells = measuredTogether(plan).flat();
  return labManifest({
    set,
    seed,
    command,
    rttMethod: `relay in a process of its own; ${missing ?? 'kernel TCP over network namespaces'}; in virtual time by formula`,
    scenarios: [...cells.map(({ scenario }) => scenario), ...builtinScenarios.values(), claimMean],
    profiles: [...builtinProfiles.values()],
    parameters: {
      cells: cells.map(({ scenario, ...rest }) => ({ ...rest, scenario: scenario.name })),
      virtual: plan.virtual.map(({ name }) => name),
    },
  });
}

/** Work that is done, for the bar. */
class Meter {
  readonly #of: number;
  readonly #told: LabOptions['onProgress'];
  #done = 0;

  constructor(of: number, told: LabOptions['onProgress']) {
    this.#of = of;
    this.#told = told;
  }

  did(seconds: number, what: string): void {
    this.#done += seconds;
    this.#told?.(Math.round(this.#done), Math.round(this.#of), what);
  }
}

/** Scenarios as files for the server of each cell, gone with the run. */
class ScenarioFiles implements Disposable {
  readonly #dir = mkdtempSync(join(tmpdir(), 'long-response-lab-'));
  fileOf(scenario: Scenario): string {
    const file = join(this.#dir, `${scenario.name}.json`);
    writeFileSync(file, JSON.stringify(scenario));
    return file;
  }
  [Symbol.dispose](): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

type Sections = Partial<
  Record<VirtualTask['section'] | 'bare' | 'anchors' | 'machine' | 'network', readonly object[]>
>;

async function playTasks(
  plan: Plan,
  store: Store,
  options: Pick<LabOptions, 'signal'> & {
    readonly seed: number;
    readonly machine: Machine;
    readonly meter: Meter;
  },
): Promise<Sections> {
  const done = readTasks(store.dir);
  const sections: Record<string, object[]> = {};
  for (const task of plan.virtual) {
    if (options.signal.aborted) break;
    let rows = done.get(task.name);
    if (rows === undefined) {
      rows = await task.run(options);
      store.append(fileNames.tasks, taskLine(task.name, rows));
    }
    (sections[task.section] ??= []).push(...rows);
    options.meter.did(task.seconds, task.name);
  }
  return sections;
}

/** A summary of these sections, judged. Of the manifest it repeats what says where and how it was made. */
function summaryOf(sections: Sections, about: Omit<LabSummary, 'version'>): LabSummary {
  const summary = parseSummary(
    JSON.parse(JSON.stringify({ version: 1, ...about, ...sections })),
    'the summary',
  );
  return { ...summary, hypotheses: judge(summary), claims: judgeClaims(summary) };
}

/**
 * Runs a set, or what is left of it, and writes its result.
 * @throws Error where there is an unfinished result and it was not to be resumed, or a rollout does not complete.
 */
export async function runLab(options: LabOptions): Promise<LabSummary> {
  const { set, dir, resume = false, seed = 1, signal } = options;
  const { plan, missing } = await measurable(options.plan ?? plans[set]);
  if (missing !== null) options.onNotice?.(`cells over real TCP are left out: ${missing}`);
  const about = manifestOf(plan, missing, options);
  const store = openStore(dir, { resume, manifest: about });
  for (const sentence of store.dropped) options.onNotice?.(sentence);
  const groups = measuredTogether(plan);
  const cells = groups.flat();
  const meter = new Meter(
    cells.reduce((sum, cell) => sum + cell.blocks * blockSeconds(cell), 0) +
      plan.virtual.reduce((sum, { seconds }) => sum + seconds, 0),
    options.onProgress,
  );
  using files = new ScenarioFiles();
  for (const together of groups)
    await measureCells(together, {
      store,
      scenarioFile: (scenario) => files.fileOf(scenario),
      seed,
      signal,
      onBlock: (cell) => meter.did(blockSeconds(cell), cell.name),
    });
  const { machine, ...measured } = await measuredSections(plan, store, seed);
  const played = await playTasks(plan, store, { signal, seed, machine, meter }).catch((fault: unknown) => {
    if (signal.aborted) return {};
    throw fault;
  });
  const summary = summaryOf(
    { ...measured, machine: Object.entries(machine).map(([arm, costs]) => ({ arm, ...costs })), ...played },
    { set, seed, manifest: about, partial: signal.aborted },
  );
  store.finish(summary);
  if (!summary.partial) await writeTraces(store, seed);
  const [first] = plan.bare;
  if (first !== undefined) writeMeasuredTrace(store, unitOf(first, 0));
  return summary;
}
