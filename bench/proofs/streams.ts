/**
 * Whether many rollouts stream side by side at their own rate.
 *
 * Measured, at the client: 64 rollouts on 8 sockets of the append design (8 on each), 1,000 tokens/s each for 10 s, all
 * begun at once. A delta is not a token: it holds what became due in a tick of the model, about 4 ms. How far it is off
 * is its arrival minus the due time of its last token, by the model's published schedule `dueMs`. Its lateness is how
 * much further off it is than
 *
 *   the stream's first delta, which is a token alone; or
 *   the most punctual delta of the stream, which is stricter: a first delta that was late excuses nothing.
 *
 * A stream's rate is its tokens after the first delta over the time from there to the last delta.
 * All streams also end at once: each then sends its 40 kB of text four times, in the events that close it, and the
 * last deltas wait behind 10 MB of them. The largest lateness is theirs.
 * Real: server, engine, sockets, timers; client and server are a process each. Simulated: the model.
 */
import { deferred, trustedServerEventSchema } from '../../engine/index.js';
import { dueMs } from '../../engine/samplers/scripted.js';
import { percentile } from '../statistics.js';
import { startChild } from './child.js';
import { FrameSocket } from './frames.js';

export interface StreamsOptions {
  /** Default 10. */
  readonly seconds?: number;
  readonly onProgress?: (line: string) => void;
}

export interface Lateness {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface StreamsResult {
  readonly streams: number;
  readonly sockets: number;
  readonly seconds: number;
  readonly deltas: number;
  /** Mean over all deltas. */
  readonly tokens_per_delta: number;
  /** The rates of the slowest and the fastest stream, in tokens/s. */
  readonly rate: { readonly slowest: number; readonly fastest: number };
  /** Counted from each stream's first delta, and from its most punctual one. */
  readonly lateness_ms: Lateness;
  readonly strict_lateness_ms: Lateness;
  /** Share of one core over the run. */
  readonly server_cpu: number;
  readonly client_cpu: number;
}

/** The bounds. */
export const rateErrorMax = 0.02;
export const latenessMsMax = 20;
const tokensPerSecond = 1_000;
const sockets = 8;
const streamsPerSocket = 8;
const charactersPerToken = 4;
const pace = { decodeTokensPerSecond: tokensPerSecond };

class Stream {
  /** Of each delta, from the first: its arrival minus the due time of its last token. */
  readonly #off: number[] = [];
  #firstAt = 0;
  #lastAt = 0;
  #firstTokens = 0;
  #tokens = 0;

  take(delta: string, at: number): void {
    this.#tokens += delta.length / charactersPerToken;
    this.#lastAt = at;
    if (this.#firstTokens === 0) {
      this.#firstAt = at;
      this.#firstTokens = this.#tokens;
    }
    this.#off.push(at - dueMs(this.#tokens - 1, pace, 0));
  }

  /** Of each delta after the first. */
  lateness(from: 'first' | 'most punctual'): number[] {
    const start = from === 'first' ? (this.#off[0] ?? 0) : Math.min(...this.#off);
    return this.#off.slice(1).map((off) => off - start);
  }

  get deltas(): number {
    return this.#off.length;
  }

  /** Tokens per second after the first delta. */
  get rate(): number {
    return ((this.#tokens - this.#firstTokens) * 1000) / (this.#lastAt - this.#firstAt);
  }
}

/** Begins rollouts on one socket and follows them to their ends. */
async function follow(socket: FrameSocket, tokens: number): Promise<Stream[]> {
  const streams = new Map<string, Stream>();
  const over = deferred<void>();
  let ended = 0;
  socket.onFrame = (frame, at) => {
    const event = trustedServerEventSchema.parse(JSON.parse(frame.toString()));
    if (event.type === 'response.created') streams.set(event.response.id, new Stream());
    else if (event.type === 'response.output_text.delta')
      streams.get(String(event['response_id']))?.take(event.delta, at);
    else if (event.type === 'response.completed' && ++ended === streamsPerSocket) over.resolve();
    else if (event.type === 'error') over.reject(new Error(event.error.message));
  };
  const create = {
    type: 'response.create',
    model: 'stream',
    input: 'go',
    metadata: { tokens: String(tokens) },
  };
  for (let stream = 0; stream < streamsPerSocket; stream++) socket.send(JSON.stringify(create));
  await over.promise;
  socket.onFrame = () => undefined;
  return [...streams.values()];
}

export async function run(options: StreamsOptions = {}): Promise<StreamsResult> {
  const { seconds = 10, onProgress } = options;
  await using server = await startChild('model-server');
  const connect = () => FrameSocket.connect(server.url, '/v1/responses?design=append');
  const open = await Promise.all(Array.from({ length: sockets }, connect));
  const followAll = (forSeconds: number) =>
    Promise.all(open.map((one) => follow(one, forSeconds * tokensPerSecond)));
  onProgress?.('warm-up, 2 s');
  await followAll(2);
  onProgress?.(`${sockets * streamsPerSocket} streams, ${seconds} s`);
  const serverCpuUs = await server.cpuUs();
  const clientCpu = process.cpuUsage();
  const startedAt = performance.now();
  const streams = (await followAll(seconds)).flat();
  const elapsedUs = (performance.now() - startedAt) * 1000;
  const { user, system } = process.cpuUsage(clientCpu);
  const serverUsedUs = (await server.cpuUs()) - serverCpuUs;
  await Promise.all(open.map((one) => one[Symbol.asyncDispose]()));
  const lateness = (from: 'first' | 'most punctual'): Lateness => {
    const all = streams.flatMap((stream) => stream.lateness(from));
    const at = (p: number): number => percentile(all, p) ?? Number.NaN;
    return { p50: at(0.5), p99: at(0.99), max: at(1) };
  };
  const rates = streams.map(({ rate }) => rate);
  const deltas = streams.reduce((sum, { deltas: own }) => sum + own, 0);
  return {
    streams: streams.length,
    sockets,
    seconds,
    deltas,
    tokens_per_delta: (streams.length * seconds * tokensPerSecond) / deltas,
    rate: { slowest: Math.min(...rates), fastest: Math.max(...rates) },
    lateness_ms: lateness('first'),
    strict_lateness_ms: lateness('most punctual'),
    server_cpu: serverUsedUs / elapsedUs,
    client_cpu: (user + system) / elapsedUs,
  };
}

export function print(result: StreamsResult): string {
  const { streams, seconds, deltas, tokens_per_delta, rate, server_cpu, client_cpu } = result;
  const holds =
    rate.slowest >= tokensPerSecond * (1 - rateErrorMax) &&
    rate.fastest <= tokensPerSecond * (1 + rateErrorMax);
  const late = ({ p50, p99, max }: Lateness): string =>
    `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, max ${max.toFixed(1)} ms; p99 at most ${latenessMsMax} ms: ${p99 <= latenessMsMax ? 'yes' : 'NO'}`;
  return [
    `${streams} rollouts at ${tokensPerSecond} tokens/s each for ${seconds} s, on ${result.sockets} sockets of one server process:`,
    `  rate: slowest stream ${rate.slowest.toFixed(1)}, fastest ${rate.fastest.toFixed(1)} tokens/s; all within ${rateErrorMax * 100} %: ${holds ? 'yes' : 'NO'}`,
    `  lateness of a delta by the schedule, from its stream's first: ${late(result.lateness_ms)}`,
    `    from its stream's most punctual: ${late(result.strict_lateness_ms)}`,
    `  ${deltas} deltas of ${tokens_per_delta.toFixed(1)} tokens (what became due in a tick of about 4 ms, not a token each)`,
    `  CPU: server ${(server_cpu * 100).toFixed(0)} % of a core, client ${(client_cpu * 100).toFixed(0)} %`,
    '  Real: server, engine, sockets, timers, a process each for client and server. Simulated: the model.',
  ].join('\n');
}
