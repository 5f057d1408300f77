/**
 * From a tool's output to the model's next token: what the server adds to the network itself.
 *
 * Measured, at the client: from handing `response.append` to the socket to the arrival of the first frame with a delta.
 * The model is instant, so the rest of its turn leaves in the same write. The time that the server spent on tokenising,
 * by its own receipts, is taken off block by block and told beside it. What is left is held against
 *
 *   the echo    a bare uWebSockets.js server that gets a frame of as many bytes and sends back one frame of as many
 *               bytes as all frames up to and including that delta have together (payloads, counted in the run);
 *   the floor   the same server, which keeps busy for as long as the tokeniser did (taken off again), parses the append
 *               and serialises the turn's frames: what no server of this protocol can do without. A client that waits
 *               long goes to sleep and wakes slowly, on virtual machines by up to 0.1 ms: the floor pays that, too.
 *
 * Closed loop, one exchange at a time, in alternating blocks of 50 from one client process; each server is a process.
 * Real: server, engine, stages, tokeniser, sockets. Simulated: an instant model that calls one tool at every turn, and
 * tools that answer at once with varied text. One rollout per size, so the history grows all the while.
 */
import { generatorFor, wordText } from '../../scenarios/index.js';
import { readCounters } from '../schema/counters.js';
import { percentile } from '../statistics.js';
import { startChild } from './child.js';
import { FrameSocket } from './frames.js';
import { medianOf, medianText, type Median } from './median.js';
import { echo, floor, keepFrames, Rollout, type Exchange } from './resume-exchanges.js';

export interface ResumeOptions {
  /** Measured appends of each size. Default 2,000. */
  readonly appends?: number;
  readonly onProgress?: (line: string) => void;
}

/** Microseconds; medians are over blocks, of each block's median. */
export interface Resume {
  readonly output_bytes: number;
  readonly appends: number;
  /** Bytes of the append's frame, and of the frames up to the first token. */
  readonly bytes_up: number;
  readonly bytes_down: number;
  readonly frames_down: number;
  readonly echo_us: Median;
  /** Without the time it kept busy. */
  readonly floor_us: Median;
  /** With tokenising. */
  readonly append_us: Median;
  /** Tokenising: the mean of each block. */
  readonly render_us: Median;
  /** (append − tokenising) ÷ echo and ÷ floor, block by block. */
  readonly to_echo: Median;
  readonly to_floor: Median;
  /** Over all exchanges. */
  readonly echo_p99_us: number;
  readonly append_p99_us: number;
}

export interface ResumeResult {
  readonly sizes: readonly Resume[];
}

/** The bound: an append without its tokenising takes at most this many times the echo. */
export const ratioMax = 1.8;
const sizes = [200, 2_000];
const perBlock = 50;
/** Blocks of each kind and size whose figures are thrown away. */
const warmUpBlocks = 40;

/** One block of each kind, in microseconds. */
interface Blocks {
  readonly echo: readonly number[];
  readonly floor: readonly number[];
  readonly append: readonly number[];
  readonly renderUs: number;
}

/** One size under measurement. */
interface Cell {
  readonly bytes: number;
  readonly rollout: Rollout;
  readonly measured: Blocks[];
  /** What the last append weighed: the next ones weigh as much, but for the length of a number. */
  last: Exchange;
}

/** Milliseconds and runs of tokenising so far. */
async function rendered(url: string): Promise<{ readonly runs: number; readonly ms: number }> {
  const { stage_runs } = await readCounters(url, undefined);
  return stage_runs['append.render'] ?? { runs: 0, ms: 0 };
}

async function block(exchange: () => Promise<number>): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < perBlock; index++) times.push(await exchange());
  return times;
}

async function measure(cell: Cell, bare: FrameSocket, url: string, round: number): Promise<Blocks> {
  const random = generatorFor('resume', cell.bytes, round);
  const texts = Array.from({ length: perBlock }, () =>
    wordText(cell.bytes, random).text.slice(0, cell.bytes),
  );
  const { last } = cell;
  const echoTimes = await block(() => echo(bare, last));
  const start = await rendered(url);
  const appendTimes = await block(async () => (cell.last = await cell.rollout.append(texts.pop() ?? '')).us);
  const end = await rendered(url);
  const renderUs = ((end.ms - start.ms) * 1000) / (end.runs - start.runs);
  keepFrames(bare, last);
  const floorTimes = await block(() => floor(bare, last, Math.round(renderUs)));
  return { echo: echoTimes, floor: floorTimes, append: appendTimes, renderUs };
}

function summary({ bytes, measured: all, last }: Cell): Resume {
  const measured = all.slice(warmUpBlocks);
  const at = (values: readonly number[], p: number): number => percentile(values, p) ?? Number.NaN;
  const medians = (kind: 'echo' | 'floor' | 'append'): number[] => measured.map((one) => at(one[kind], 0.5));
  const ratioTo = (kind: 'echo' | 'floor'): Median =>
    medianOf(measured.map((one) => (at(one.append, 0.5) - one.renderUs) / at(one[kind], 0.5)));
  const times = (kind: 'echo' | 'append'): number[] => measured.flatMap((one) => one[kind]);
  return {
    output_bytes: bytes,
    appends: times('append').length,
    bytes_up: last.bytesUp,
    bytes_down: last.bytesDown,
    frames_down: last.framesDown,
    echo_us: medianOf(medians('echo')),
    floor_us: medianOf(medians('floor')),
    append_us: medianOf(medians('append')),
    render_us: medianOf(measured.map(({ renderUs }) => renderUs)),
    to_echo: ratioTo('echo'),
    to_floor: ratioTo('floor'),
    echo_p99_us: at(times('echo'), 0.99),
    append_p99_us: at(times('append'), 0.99),
  };
}

export async function run(options: ResumeOptions = {}): Promise<ResumeResult> {
  const { appends = 2_000, onProgress } = options;
  await using server = await startChild('model-server');
  await using bareServer = await startChild('echo-server');
  await using bare = await FrameSocket.connect(bareServer.url, '/');
  await using socket = await FrameSocket.connect(server.url, '/v1/responses?design=append');
  const cells: Cell[] = [];
  for (const bytes of sizes) {
    const rollout = new Rollout(socket);
    await rollout.begin(`resume ${bytes}`);
    const last = await rollout.append(wordText(bytes, generatorFor('resume')).text.slice(0, bytes));
    cells.push({ bytes, rollout, measured: [], last });
  }
  const rounds = Math.ceil(appends / perBlock);
  for (let round = -warmUpBlocks; round < rounds; round++) {
    if (round % 10 === 0) onProgress?.(round < 0 ? 'warm-up' : `block ${round + 1} of ${rounds}`);
    for (const cell of cells) cell.measured.push(await measure(cell, bare, server.url, round));
  }
  return { sizes: cells.map(summary) };
}

export function print({ sizes: own }: ResumeResult): string {
  const lines = own.map((one) =>
    [
      `  ${one.output_bytes} bytes of output (${one.appends} appends; ${one.bytes_up} bytes up, ${one.bytes_down} down in ${one.frames_down} frames), in µs:`,
      `    echo p50 ${medianText(one.echo_us, 0)}, p99 ${one.echo_p99_us.toFixed(0)}   floor p50 ${medianText(one.floor_us, 0)}`,
      `    append p50 ${medianText(one.append_us, 0)}, p99 ${one.append_p99_us.toFixed(0)}; of it tokenising ${medianText(one.render_us, 0)}`,
      `    (append − tokenising) ÷ echo: ${medianText(one.to_echo)}; at most ${ratioMax}: ${one.to_echo.median <= ratioMax ? 'yes' : 'NO'}   ÷ floor: ${medianText(one.to_floor)}`,
    ].join('\n'),
  );
  return [
    'From append to first token at the client, against a bare uWebSockets.js echo of the same bytes (medians over blocks',
    'of 50 [95 %]). The floor also keeps busy as long as the tokeniser (taken off), parses the append, serialises the turn.',
    ...lines,
    '  Real: server, engine, stages, tokeniser, sockets. Simulated: an instant model, tools that answer at once.',
  ].join('\n');
}
