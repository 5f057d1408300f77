/**
 * Whether a megabyte of input holds up another rollout's deltas.
 * Real: engine, stages, tokeniser, one process, in-process reader (so nothing but the event loop is between them).
 * Simulated: the model of the watched rollout, at 1,000 tokens/s in ticks of 4 ms.
 */
import { Engine, scriptedSampler, systemClock, type LiveResponse } from '../../engine/index.js';
import { generatorFor, wordText } from '../../scenarios/index.js';
import { percentile } from '../statistics.js';

export interface BigInputOptions {
  /** Seconds watched in each condition. Default 8. */
  readonly seconds?: number;
  readonly onProgress?: (line: string) => void;
}

export interface Lateness {
  readonly condition: string;
  readonly deltas: number;
  /** Inputs rendered while the deltas were watched. */
  readonly inputs: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly p999_ms: number;
}

export interface BigInputResult {
  readonly conditions: readonly Lateness[];
}

export const riseMsMax = 20;
const tokensPerSecond = 1_000;
const megabyte = 1_000_000;

const ordinary = wordText(220_000, generatorFor('big-input')).text.slice(0, megabyte);
const oneLetter = 'a'.repeat(megabyte);

/** Arrival of each delta against the moment its last token was due. The first is due as the Response is admitted. */
async function watch(response: LiveResponse, lateness: number[]): Promise<void> {
  const startedAt = performance.now();
  let tokens = 0;
  for await (const event of response) {
    if (event.type !== 'response.output_text.delta') continue;
    const now = performance.now();
    tokens += event.delta.length / charsPerToken;
    lateness.push(now - startedAt - ((tokens - 1) / tokensPerSecond) * 1000);
  }
}

const charsPerToken = 4;

async function condition(name: string, input: string | null, seconds: number): Promise<Lateness> {
  const text = 'abc '.repeat(seconds * tokensPerSecond);
  const watched = scriptedSampler({
    clock: systemClock,
    script: [{ items: [{ type: 'message', text }] }],
    decodeTokensPerSecond: tokensPerSecond,
  });
  const busy = scriptedSampler({
    clock: systemClock,
    script: [{ items: [{ type: 'message', text: 'ok' }] }],
    contextTokensMax: Infinity,
  });
  await using engine = new Engine({ sampler: (model) => (model === 'watched' ? watched : busy) });
  const lateness: number[] = [];
  const response = await engine.create({ model: 'watched', input: 'go' });
  const done = watch(response, lateness);
  let inputs = 0;
  if (input !== null)
    while (response.settlement === null) {
      const other = await engine.create({ model: 'busy', input });
      await other.settled;
      inputs++;
    }
  await done;
  const at = (p: number): number => percentile(lateness, p) ?? 0;
  return {
    condition: name,
    deltas: lateness.length,
    inputs,
    p50_ms: at(0.5),
    p99_ms: at(0.99),
    p999_ms: at(0.999),
  };
}

export async function run(options: BigInputOptions = {}): Promise<BigInputResult> {
  const { seconds = 8, onProgress } = options;
  const conditions: Lateness[] = [];
  for (const [name, input] of [
    ['warm-up', ordinary],
    ['idle', null],
    ['1 MB of words', ordinary],
    ['1 MB of one letter', oneLetter],
  ] as const) {
    onProgress?.(`${name}, ${seconds} s`);
    const measured = await condition(name, input, name === 'warm-up' ? 1 : seconds);
    if (name !== 'warm-up') conditions.push(measured);
  }
  return { conditions };
}

export function print({ conditions }: BigInputResult): string {
  const idle = conditions[0]?.p999_ms ?? 0;
  return [
    `Lateness of a rollout's deltas (a delta is one tick's tokens, 4 ms at ${tokensPerSecond} tokens/s) while other inputs are rendered:`,
    ...conditions.map(
      ({ condition: name, deltas, inputs, p50_ms, p99_ms, p999_ms }) =>
        `  ${name.padEnd(20)} ${deltas} deltas, ${inputs} inputs: p50 ${p50_ms.toFixed(2)}, p99 ${p99_ms.toFixed(2)}, p99.9 ${p999_ms.toFixed(2)} ms (${(p999_ms - idle).toFixed(2)} over idle)`,
    ),
    `  p99.9 rises by at most ${riseMsMax} ms: ${conditions.every(({ p999_ms }) => p999_ms - idle <= riseMsMax) ? 'yes' : 'NO'}`,
  ].join('\n');
}
