/**
 * From a tool's output to the model's next token: what the server adds to the network itself.
 *
 * Measured, at the client: from handing `response.append` to the socket to the arrival of the first frame with a delta;
 * against a bare uWebSockets.js echo that gets a frame of as many bytes and sends back one frame of as many bytes as
 * all frames up to and including that delta have together (payloads; both counted in the run itself). Closed loop, one
 * exchange at a time, in alternating blocks of 50 on the same client process; each server is a process of its own.
 * The time the server spent on tokenising, by its own receipts, is taken off block by block and told beside it: an
 * echo does not read what it carries.
 * Real: server, engine, stages, tokeniser, sockets. Simulated: an instant model that calls one tool at every turn, and
 * tools that answer at once with varied text. One rollout per size, so the history grows all the while.
 */
import { deferred, trustedServerEventSchema } from '../../engine/index.js';
import { generatorFor, wordText } from '../../scenarios/index.js';
import { readCounters } from '../counters.js';
import { percentile } from '../statistics.js';
import { startChild } from './child.js';
import { FrameSocket } from './frames.js';
import { medianOf, medianText, type Median } from './median.js';

export interface ResumeOptions {
  /** Measured appends of each size. Default 2,000. */
  readonly appends?: number;
  readonly onProgress?: (line: string) => void;
}

export interface Resume {
  readonly output_bytes: number;
  readonly appends: number;
  /** Bytes of the append's frame, and of the frames up to the first token. */
  readonly bytes_up: number;
  readonly bytes_down: number;
  readonly frames_down: number;
  /** Microseconds; medians are over blocks, of each block's median. */
  readonly echo_us: Median;
  readonly append_us: Median;
  /** Tokenising, mean of each block. */
  readonly render_us: Median;
  /** (append − tokenising) ÷ echo, block by block. */
  readonly ratio: Median;
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
const warmUpBlocks = 20;

/** One exchange: its time, and what its frames weigh. */
interface Exchange {
  readonly us: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly framesDown: number;
}

/** The echo's turn: a frame of as many bytes up, and one of as many down. */
async function echo(socket: FrameSocket, like: Exchange): Promise<Exchange> {
  const { bytesUp, bytesDown } = like;
  const frame = String(bytesDown).padEnd(8).padEnd(bytesUp, 'x');
  const answered = deferred<number>();
  socket.onFrame = (_, at) => answered.resolve(at);
  const sentAt = performance.now();
  socket.send(frame);
  return { us: ((await answered.promise) - sentAt) * 1000, bytesUp, bytesDown, framesDown: 1 };
}

/** A rollout that hands off at every turn, and what it owes. */
class Rollout {
  readonly #socket: FrameSocket;
  #responseId = '';
  #owed: readonly string[] = [];

  constructor(socket: FrameSocket) {
    this.#socket = socket;
  }

  async begin(name: string): Promise<void> {
    await this.#turn({ type: 'response.create', model: 'calls', input: 'go', metadata: { rollout: name } });
  }

  append(output: string): Promise<Exchange> {
    const input = this.#owed.map((call_id) => ({ type: 'function_call_output', call_id, output }));
    return this.#turn({ type: 'response.append', response_id: this.#responseId, input });
  }

  /** Sends an event and waits for the next hand-off; the exchange ends at the first token before it. */
  async #turn(event: object): Promise<Exchange> {
    const frame = JSON.stringify(event);
    const handedOff = deferred<void>();
    let [firstTokenAt, bytesDown, framesDown] = [0, 0, 0];
    this.#socket.onFrame = (raw, at) => {
      const received = trustedServerEventSchema.parse(JSON.parse(raw.toString()));
      if (firstTokenAt === 0) {
        bytesDown += raw.length;
        framesDown++;
        if ('delta' in received) firstTokenAt = at;
      }
      if (received.type === 'response.created') this.#responseId = received.response.id;
      if (received.type === 'error' || received.type === 'response.append.failed')
        handedOff.reject(new Error(received.error.message));
      if (received.type !== 'response.done') return;
      this.#owed = received.required_input.map(({ call_id }) => call_id);
      handedOff.resolve();
    };
    const sentAt = performance.now();
    this.#socket.send(frame);
    await handedOff.promise;
    return { us: (firstTokenAt - sentAt) * 1000, bytesUp: Buffer.byteLength(frame), bytesDown, framesDown };
  }
}

/** Milliseconds and runs of tokenising so far. */
async function rendered(url: string): Promise<{ readonly runs: number; readonly ms: number }> {
  const { stage_runs } = await readCounters(url, undefined);
  return stage_runs['append.render'] ?? { runs: 0, ms: 0 };
}

interface Blocks {
  readonly echo: number[];
  readonly append: Exchange[];
  readonly renderUs: number;
}

/** One block of each. What an append weighs is what the one before it weighed, but for the length of a number. */
async function blocks(
  rollout: Rollout,
  bare: FrameSocket,
  url: string,
  texts: string[],
  like: Exchange,
): Promise<Blocks> {
  const echoed: number[] = [];
  for (let exchange = 0; exchange < perBlock; exchange++) echoed.push((await echo(bare, like)).us);
  const before = await rendered(url);
  const appended: Exchange[] = [];
  for (const text of texts) appended.push(await rollout.append(text));
  const after = await rendered(url);
  const renderUs = ((after.ms - before.ms) * 1000) / (after.runs - before.runs);
  return { echo: echoed, append: appended, renderUs };
}

function summary(outputBytes: number, measured: readonly Blocks[]): Resume {
  const middle = (values: readonly number[]): number => percentile(values, 0.5) ?? Number.NaN;
  const echoes = measured.map((block) => middle(block.echo));
  const appends = measured.map((block) => middle(block.append.map(({ us }) => us)));
  const renders = measured.map(({ renderUs }) => renderUs);
  const ratios = appends.map((us, index) => (us - (renders[index] ?? 0)) / (echoes[index] ?? Number.NaN));
  const last = measured.at(-1)?.append.at(-1);
  const all = measured.flatMap(({ append }) => append.map(({ us }) => us));
  return {
    output_bytes: outputBytes,
    appends: all.length,
    bytes_up: last?.bytesUp ?? 0,
    bytes_down: last?.bytesDown ?? 0,
    frames_down: last?.framesDown ?? 0,
    echo_us: medianOf(echoes),
    append_us: medianOf(appends),
    render_us: medianOf(renders),
    ratio: medianOf(ratios),
    echo_p99_us:
      percentile(
        measured.flatMap((block) => block.echo),
        0.99,
      ) ?? Number.NaN,
    append_p99_us: percentile(all, 0.99) ?? Number.NaN,
  };
}

export async function run(options: ResumeOptions = {}): Promise<ResumeResult> {
  const { appends = 2_000, onProgress } = options;
  await using server = await startChild('model-server');
  await using bareServer = await startChild('echo-server');
  await using bare = await FrameSocket.connect(bareServer.url, '/');
  await using socket = await FrameSocket.connect(server.url, '/v1/responses?design=append');
  const cells = [];
  for (const bytes of sizes) {
    const rollout = new Rollout(socket);
    await rollout.begin(`resume ${bytes}`);
    cells.push({ bytes, rollout, random: generatorFor('resume', bytes), measured: new Array<Blocks>() });
  }
  const rounds = Math.ceil(appends / perBlock);
  for (let round = -warmUpBlocks; round < rounds; round++) {
    onProgress?.(round < 0 ? `warm-up ${round}` : `block ${round + 1} of ${rounds}`);
    for (const { bytes, rollout, random, measured } of cells) {
      const texts = Array.from({ length: perBlock }, () => wordText(bytes, random).text.slice(0, bytes));
      const like = measured.at(-1)?.append.at(-1) ?? (await rollout.append(texts[0] ?? ''));
      measured.push(await blocks(rollout, bare, server.url, texts, like));
    }
  }
  return { sizes: cells.map(({ bytes, measured }) => summary(bytes, measured.slice(warmUpBlocks))) };
}

export function print({ sizes: own }: ResumeResult): string {
  const lines = own.map((one) =>
    [
      `  ${one.output_bytes} bytes (${one.appends} appends; ${one.bytes_up} bytes up, ${one.bytes_down} down in ${one.frames_down} frames):`,
      `    echo   p50 ${medianText(one.echo_us, 0)} µs, p99 ${one.echo_p99_us.toFixed(0)}`,
      `    append p50 ${medianText(one.append_us, 0)} µs, p99 ${one.append_p99_us.toFixed(0)}; of it tokenising ${medianText(one.render_us, 0)}`,
      `    (append − tokenising) ÷ echo: ${medianText(one.ratio)}, at most ${ratioMax}: ${one.ratio.median <= ratioMax ? 'yes' : 'NO'}`,
    ].join('\n'),
  );
  return [
    'From append to first token at the client, against a bare uWebSockets.js echo of the same bytes (medians [95 %]):',
    ...lines,
    '  Real: server, engine, stages, tokeniser, sockets. Simulated: an instant model, tools that answer at once.',
  ].join('\n');
}
