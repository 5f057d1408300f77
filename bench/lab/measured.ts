/** The measured part of a run: cells played block by block, and the sections that are folds of their rows. */
import { drawOrder, generatorFor } from '../../scenarios/random.js';
import { anchorSection, fittedMachine, type Machine } from './anchors.js';
import type { RealCell } from './cells.js';
import { measuredDifference, type MeasuredRollout } from './difference.js';
import { networkSections } from './network-sections.js';
import type { Plan } from './plan.js';
import { RealCellRun } from './real.js';
import { rowsOfMeasurement } from './rows.js';
import type { AnchorSection, Difference, NetworkSection } from './sections.js';
import type { Store } from './store.js';

export const unitOf = (cell: RealCell, block: number): string => `real/${cell.name}/${block}`;

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
    .map((row) => ({ ...row, turns: keyed.get(`${row.unit} ${row.arm}`) ?? [] }));
}

/** About how many seconds a block of a cell takes on two cores, for the progress bar alone. */
export function blockSeconds({ arms, profile, rttMs, scenario: { name } }: RealCell): number {
  const rollout = name === 'claim-regime' ? 1.9 : name === 'coding-replay' ? 2.5 : 0.5;
  return arms.length * (rollout + (5 * rttMs) / 1000 + (profile === 'bare' ? 0 : 0.4));
}

async function measureBlock(cell: RealCell, run: RealCellRun, block: number, store: Store): Promise<void> {
  const rows = (await run.measure(block)).map((measured) =>
    rowsOfMeasurement(
      {
        path: cell.path,
        scenario: cell.scenario.name,
        profile: cell.profile,
        arm: measured.arm,
        tokens_per_second: cell.decodeTokensPerSecond,
        rtt_ms: cell.rttMs,
        tool_scale: cell.toolScale,
        block,
        order: measured.order,
        rollout: measured.rollout,
      },
      measured,
    ),
  );
  const rollouts = rows.flatMap((one) => one.rollouts);
  store.add(
    unitOf(cell, block),
    rollouts,
    rows.flatMap(({ turns }) => turns),
  );
}

export interface CellOptions {
  readonly store: Store;
  /** A file with a scenario, for servers. */
  readonly scenarioFile: (scenario: RealCell['scenario']) => string;
  readonly seed: number;
  /** Ends it after the block under way. */
  readonly signal: AbortSignal;
  /** Called with every block that is there, measured now or before. */
  readonly onBlock: (cell: RealCell) => void;
}

/**
 * Measures the blocks of cells that are not there yet. Cells are measured in turns, a block of each at a time in an order
 * drawn from the seed, so that a machine that becomes slower or faster meanwhile does so for all of them.
 */
export async function measureCells(cells: readonly RealCell[], options: CellOptions): Promise<void> {
  const { store, scenarioFile, seed, signal, onBlock } = options;
  const runs = new Map<RealCell, RealCellRun>();
  const measure = async (cell: RealCell, block: number): Promise<void> => {
    const run = runs.get(cell) ?? (await RealCellRun.open(cell, seed, scenarioFile(cell.scenario)));
    runs.set(cell, run);
    await measureBlock(cell, run, block, store);
  };
  const blocks = Math.max(...cells.map((cell) => cell.blocks));
  try {
    for (let block = 0; block < blocks; block++)
      for (const at of drawOrder(cells.length, generatorFor('cells', seed, block))) {
        const cell = cells[at];
        if (cell === undefined || block >= cell.blocks) continue;
        if (signal.aborted) return;
        if (!store.has(unitOf(cell, block))) await measure(cell, block);
        onBlock(cell);
      }
  } finally {
    // All at once, so that one that fails to end keeps none of the others.
    await Promise.all([...runs.values()].map((run) => run[Symbol.asyncDispose]()));
  }
}

/** What the rows of a plan come to: the finding, whether the engines agree, and what the machine takes. */
export async function measuredSections(
  plan: Pick<Plan, 'bare' | 'transports' | 'anchors' | 'network'>,
  store: Store,
  seed: number,
): Promise<{
  bare: Difference[];
  anchors: AnchorSection[];
  network: NetworkSection[];
  machine: Machine;
}> {
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
  const network = await networkSections(plan.network, (cell) => rowsOf(store, cell), seed, machine);
  return { bare, anchors, network, machine };
}
