/**
 * Whether a turn costs the server more the longer the rollout is.
 *
 * Measured: CPU of the server process, all threads, garbage collection included, in windows of 50 turns: turns 2–51
 * ("around 10"; turn 1 brings the request), 75–124 and 975–1,024. A window runs from the moment the model begins its
 * first turn to the moment it begins the turn after its last; the readings are taken inside the process then and there.
 * But in replay all three windows lie in one rollout, so the ratio is paired within it. A replay window is a rollout of
 * its own, whose first request brings the history up to there. Designs and windows run in random order within a round.
 * Real: server, engine, stages, tokeniser, sockets, client. Simulated: an instant model that calls one tool at every
 * turn, and a tool that answers at once with 200 bytes of varied text. No instructions and no tools are declared:
 * whatever each turn costs anyway would only hide growth.
 */
import { generatorFor, wordText } from '../../scenarios/index.js';
import { drawOrder } from '../../scenarios/random.js';
import { Client } from '../../transport/index.js';
import { startChild } from './child.js';
import { medianOf, medianText, type Median } from './median.js';

export interface TurnCostOptions {
  /** Measured rollouts of each design but replay. Default 30. */
  readonly rollouts?: number;
  /** Replay windows of each size. Default 3. */
  readonly replays?: number;
  readonly onProgress?: (line: string) => void;
}

export interface TurnCost {
  readonly design: string;
  /** Of each window: CPU of one turn, in microseconds, over rollouts. */
  readonly windows: readonly { readonly around: number; readonly cpu_us: Median }[];
  /** Turn 1,000 over turn 10: the median over rollouts (none in replay), and the sum over the sum. */
  readonly growth: { readonly paired: Median | null; readonly of_sums: number };
}

export interface TurnCostResult {
  readonly designs: readonly TurnCost[];
}

/** The bound for all but replay: a turn around 1,000 costs at most this many times one around 10. */
export const growthMax = 1.1;
const turnsPerWindow = 50;
export const windows = [
  { around: 10, from: 2 },
  { around: 100, from: 75 },
  { around: 1_000, from: 975 },
];
const outputBytes = 200;
/** Rollouts of each design whose figures are thrown away. */
const warmUps = 2;

export type MeasuredDesign = 'append' | 'chain' | 'shim' | 'replay';

/** One rollout, or one window of replay. */
interface Run {
  readonly design: MeasuredDesign;
  readonly round: number;
  readonly around: readonly number[];
}

export interface Reading {
  readonly design: MeasuredDesign;
  /** Readings of one round were taken close together. */
  readonly round: number;
  readonly around: number;
  readonly cpuUs: number;
}

function outputText(...place: (string | number)[]): string {
  return wordText(outputBytes, generatorFor('turn-cost', ...place)).text.slice(0, outputBytes);
}

/** What a client of the replay design holds after so many turns. */
function history(turns: number, rollout: number): object[] {
  const items: object[] = [{ type: 'message', role: 'user', content: 'go' }];
  for (let turn = 1; turn <= turns; turn++) {
    const call_id = `call_${turn}`;
    const call = outputText('arguments', rollout, turn).slice(0, 100);
    items.push({ type: 'function_call', call_id, name: 'run', arguments: JSON.stringify({ input: call }) });
    items.push({ type: 'function_call_output', call_id, output: outputText(rollout, turn) });
  }
  return items;
}

/** @throws Error where the rollout does not come back with its readings. */
async function measure(url: string, { design, around, round }: Run, rollout: number): Promise<Reading[]> {
  const chosen = windows.filter((window) => around.includes(window.around));
  const first = chosen[0]?.from ?? 1;
  const seeded = design === 'replay' ? first - 1 : 0;
  const last = Math.max(...chosen.map(({ from }) => from)) + turnsPerWindow;
  // Made before the rollout, so that the client is as quick at every turn.
  const outputs = Array.from({ length: last }, (_, index) => outputText(rollout, index + 1));
  await using client = await Client.connect({ url, design });
  const report = await client.run({
    request: {
      model: 'calls',
      input: history(seeded, rollout),
      metadata: {
        rollout: String(rollout),
        turns: String(last),
        readings: chosen.flatMap(({ from }) => [from, from + turnsPerWindow]).join(' '),
      },
    },
    tool: async ({ turn }) => outputs[seeded + turn - 1] ?? '',
  });
  const spoken =
    JSON.stringify(report.items.at(-1))
      .match(/"text":"([\d ]+)"/)?.[1]
      ?.split(' ') ?? [];
  return chosen.map((window, index) => {
    const cpuUs = (Number(spoken[2 * index + 1]) - Number(spoken[2 * index])) / turnsPerWindow;
    if (!(cpuUs > 0)) throw new Error(`a rollout in ${design} ended ${report.status} without its readings`);
    return { design, round, around: window.around, cpuUs };
  });
}

/** Rounds of the designs, with the replay windows spread over them; in random order within a round. */
function plan(designs: readonly MeasuredDesign[], rollouts: number, replays: number): Run[] {
  const all = windows.map(({ around }) => around);
  const chosen = designs.filter((design) => design !== 'replay');
  return Array.from({ length: rollouts }, (_, round) => {
    const runs: Run[] = chosen.map((design) => ({ design, round, around: all }));
    const replayed = Math.ceil(((round + 1) * replays) / rollouts) > Math.ceil((round * replays) / rollouts);
    if (replayed && designs.includes('replay'))
      for (const around of all) runs.push({ design: 'replay', round, around: [around] });
    return Array.from(drawOrder(runs.length, generatorFor('turn-cost order', round)), (at) => runs[at]);
  }).flatMap((runs) => runs.filter((one) => one !== undefined));
}

/** CPU of one turn in each window, over rounds. */
export function costOf(design: MeasuredDesign, readings: readonly Reading[]): TurnCost {
  const own = readings.filter((reading) => reading.design === design);
  const at = (around: number): number[] =>
    own.filter((reading) => reading.around === around).map(({ cpuUs }) => cpuUs);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const [small, large] = [at(10), at(1_000)];
  const ratios = large.map((cpuUs, index) => cpuUs / (small[index] ?? Number.NaN));
  return {
    design: `${design}-ws`,
    windows: windows.map(({ around }) => ({ around, cpu_us: medianOf(at(around)) })),
    growth: { paired: design === 'replay' ? null : medianOf(ratios), of_sums: sum(large) / sum(small) },
  };
}

/** Starts a server and takes the readings of all rounds, less those of warm-up. */
export async function readingsOf(
  designs: readonly MeasuredDesign[],
  { rollouts = 30, replays = 3, onProgress }: TurnCostOptions,
): Promise<Reading[]> {
  await using server = await startChild('model-server');
  const readings: Reading[] = [];
  const warm = plan(designs, warmUps, 1);
  const planned = [...warm, ...plan(designs, rollouts, replays)];
  for (const [index, one] of planned.entries()) {
    onProgress?.(`${index + 1} of ${planned.length}: ${one.design}, turn ${one.around.join(', ')}`);
    const measured = await measure(server.url, one, index);
    if (index >= warm.length) readings.push(...measured);
  }
  return readings;
}

export async function run(options: TurnCostOptions = {}): Promise<TurnCostResult> {
  const designs = ['append', 'chain', 'replay'] as const;
  const readings = await readingsOf(designs, options);
  return { designs: designs.map((design) => costOf(design, readings)) };
}

export function costLine({ design, windows: own, growth }: TurnCost): string {
  const costs = own.map(({ around, cpu_us }) => `turn ${around}: ${medianText(cpu_us, 0)}`).join('   ');
  const paired = growth.paired === null ? '' : `paired ratio ${medianText(growth.paired)}, `;
  return `  ${design.padEnd(10)} ${costs}   ${paired}ratio of sums ${growth.of_sums.toFixed(2)}`;
}

export const costHead = `Server CPU of one turn, in µs, in windows of ${turnsPerWindow} turns (median over rollouts [95 %]):`;
export const costFoot =
  '  Real: server, engine, stages, tokeniser, sockets, client. Simulated: an instant model, a tool of 200 bytes.';

export function print({ designs }: TurnCostResult): string {
  const bounded = designs.filter(({ growth }) => growth.paired !== null);
  const holds = bounded.every(({ growth }) => (growth.paired?.median ?? Infinity) <= growthMax);
  return [
    costHead,
    ...designs.map(costLine),
    `  turn 1,000 costs at most ${growthMax} times turn 10 in append-ws and chain-ws: ${holds ? 'yes' : 'NO'}`,
    costFoot,
  ].join('\n');
}
