/**
 * The lab: measures and plays what a plan holds, writes every row as it comes, and folds the rows into a summary.
 *
 *   L1  What was measured stays: a run that is ended early leaves a partial summary, and goes on from there.
 *   L2  A section is a fold of rows or of virtual time, so that a summary can be made again from what is in its directory.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Scenario } from '../../scenarios/index.js';
import { manifest } from '../manifest.js';
import { parseSummary } from '../schema/result.js';
import { builtinProfiles } from '../service/profile.js';
import { anchorSection, fittedMachine, type Machine } from './anchors.js';
import type { RealCell } from './cells.js';
import { measuredDifference, type MeasuredRollout } from './difference.js';
import { judge } from './hypotheses.js';
import { plans, type Plan, type SetName, type VirtualTask } from './plan.js';
import { judgeClaims } from './published.js';
import { RealCellRun } from './real.js';
import { rowsOfMeasurement } from './rows.js';
import type { AnchorSection, Difference, LabSummary } from './sections.js';
import { openStore, type LabManifest, type Store } from './store.js';
import { fileNames } from './result-files.js';
import { readTasks, taskLine } from './tasks.js';

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
  /** The words that make this run again. */
  readonly command: string;
}

/** About how many seconds a block of a cell takes on two cores, for the progress bar alone. */
function blockSeconds({ arms, profile, rttMs, scenario: { name } }: RealCell): number {
  const rollout = name === 'claim-regime' ? 1.9 : name === 'coding-replay' ? 2.5 : 0.5;
  return arms.length * (rollout + (5 * rttMs) / 1000 + (profile === 'bare' ? 0 : 0.4));
}

const unitOf = (cell: RealCell, block: number): string => `real/${cell.name}/${block}`;

function hashOf(scenario: Scenario): string {
  return createHash('sha256').update(JSON.stringify(scenario)).digest('hex');
}

function manifestOf(plan: Plan, { set, seed = 1, command }: LabOptions): LabManifest {
  const cells = [...plan.bare, plan.transports, ...plan.anchors];
  const scenarios = new Map(cells.map(({ scenario }) => [scenario.name, scenario]));
  return {
    ...manifest(command),
    version: 1,
    set,
    seed,
    rtt_method: 'relay in a process of its own; virtual time by formula',
    scenarios: Object.fromEntries([...scenarios].map(([name, scenario]) => [name, hashOf(scenario)])),
    profiles: Object.fromEntries(builtinProfiles),
    parameters: {
      cells: cells.map(({ scenario, ...rest }) => ({ ...rest, scenario: scenario.name })),
      virtual: plan.virtual.map(({ name }) => name),
    },
  };
}

/** Rows of a cell, as they stand in the result: the same whether they were measured now or before. */
function rowsOf(store: Store, cell: RealCell): MeasuredRollout[] {
  const { rollouts, turns } = store.rows();
  const prefix = `real/${cell.name}/`;
  const keyed = new Map<string, MeasuredRollout['turns'][number][]>();
  for (const turn of turns)
    if (turn.unit.startsWith(prefix)) {
      const key = `${turn.unit} ${turn.arm}`;
      const known = keyed.get(key);
      if (known === undefined) keyed.set(key, [turn]);
      else known.push(turn);
    }
  return rollouts
    .filter(({ unit }) => unit.startsWith(prefix))
    .map(({ turns: _, ...row }) => ({ ...row, turns: keyed.get(`${row.unit} ${row.arm}`) ?? [] }));
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

async function measureCell(
  cell: RealCell,
  store: Store,
  scenarioFile: string,
  seed: number,
  { signal, meter }: { readonly signal: AbortSignal; readonly meter: Meter },
): Promise<void> {
  let run: RealCellRun | null = null;
  try {
    for (let block = 0; block < cell.blocks && !signal.aborted; block++) {
      const unit = unitOf(cell, block);
      if (!store.has(unit)) {
        run ??= await RealCellRun.open(cell, seed, scenarioFile);
        const measured = await run.measure(block);
        const rows = measured.map((measurement) =>
          rowsOfMeasurement(
            {
              path: cell.path,
              scenario: cell.scenario.name,
              profile: cell.profile,
              arm: measurement.arm,
              tokens_per_second: cell.decodeTokensPerSecond,
              rtt_ms: cell.rttMs,
              tool_scale: cell.toolScale,
              block,
              order: measurement.order,
              rollout: measurement.rollout,
            },
            measurement,
          ),
        );
        store.add(
          unit,
          rows.flatMap(({ rollouts }) => rollouts),
          rows.flatMap(({ turns }) => turns),
        );
      }
      meter.did(blockSeconds(cell), cell.name);
    }
  } finally {
    await run?.[Symbol.asyncDispose]();
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

type Sections = Partial<Record<VirtualTask['section'] | 'bare' | 'anchors', readonly object[]>>;

async function measuredSections(
  plan: Plan,
  store: Store,
  seed: number,
): Promise<Sections & { machine: Machine }> {
  const differences = [
    ...plan.bare.map((cell) =>
      measuredDifference(cell, rowsOf(store, cell), ['append-ws', 'chain-ws'], seed),
    ),
    measuredDifference(plan.transports, rowsOf(store, plan.transports), ['replay-ws', 'replay-http'], seed),
  ];
  const bare = differences.filter((one): one is Difference => one !== null);
  const machine = await fittedMachine(plan.anchors, (cell) => rowsOf(store, cell), seed);
  const anchors: AnchorSection[] = [];
  for (const cell of plan.anchors) {
    const section = await anchorSection(cell, rowsOf(store, cell), seed, machine);
    if (section !== null) anchors.push(section);
  }
  return { bare, anchors, machine };
}

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

/** A summary of these sections, judged. */
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
  const { set, dir, resume = false, seed = 1, signal, plan = plans[set] } = options;
  const about = manifestOf(plan, options);
  const store = openStore(dir, { resume, manifest: about });
  const cells = [...plan.bare, plan.transports, ...plan.anchors];
  const meter = new Meter(
    cells.reduce((sum, cell) => sum + cell.blocks * blockSeconds(cell), 0) +
      plan.virtual.reduce((sum, { seconds }) => sum + seconds, 0),
    options.onProgress,
  );
  using files = new ScenarioFiles();
  for (const cell of cells)
    await measureCell(cell, store, files.fileOf(cell.scenario), seed, { signal, meter });
  const { machine, ...measured } = await measuredSections(plan, store, seed);
  const played = await playTasks(plan, store, { signal, seed, machine, meter }).catch((fault: unknown) => {
    if (signal.aborted) return {};
    throw fault;
  });
  const summary = summaryOf(
    { ...measured, ...played },
    { set, seed, manifest: manifest(options.command), partial: signal.aborted },
  );
  store.finish(summary);
  return summary;
}
