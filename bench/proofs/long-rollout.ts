/**
 * One rollout of 10,000 turns: what the engine keeps beyond transcript and log does not grow.
 * Real: engine, stages, tokeniser, sockets none. Simulated: an instant model, tools of 200 bytes.
 */
import { getEventListeners } from 'node:events';

import { Engine, scriptedSampler, systemClock, type LiveResponse, type Sampler } from '../../engine/index.js';
import { generatorFor, wordText } from '../../scenarios/index.js';
import { memoryNow, transcriptBytes } from './memory.js';

export interface LongRolloutOptions {
  /** Default 10,000. */
  readonly turns?: number;
  /** Where the first measurement is taken. Default 1,000. */
  readonly from?: number;
  readonly onProgress?: (line: string) => void;
}

export interface LongRolloutResult {
  readonly turns: number;
  readonly from: number;
  /** Growth between the two places, in bytes. */
  readonly heap_growth: number;
  readonly transcript_growth: number;
  readonly log_growth: number;
  /** Heap minus transcript and log: the bound is 5 MB. */
  readonly rest_growth: number;
  readonly log_bytes: number;
  readonly log_bytes_max: number;
  readonly listeners: { readonly first: number; readonly last: number };
}

const MB = 1_000_000;
export const restGrowthMax = 5 * MB;

/** A sampler that hands on to another and shows the rollout's signal. */
function watching(sampler: Sampler, see: (signal: AbortSignal) => void): Sampler {
  return {
    contextTokensMax: Infinity,
    open(opening) {
      const session = sampler.open(opening);
      return {
        sample(turn, signal) {
          see(signal);
          return session.sample(turn, signal);
        },
        suspend: () => session.suspend(),
        release: () => session.release(),
      };
    },
  };
}

async function answer(response: LiveResponse, turns: number, onTurn: (turn: number) => void): Promise<void> {
  const random = generatorFor('long-rollout');
  for await (const event of response) {
    if (event.type !== 'response.done') continue;
    onTurn(event.turn);
    if (event.turn === turns) return;
    const { text } = wordText(40, random);
    await response.append(event.required_input.map(({ type, call_id }) => ({ type, call_id, output: text })));
  }
}

export async function run(options: LongRolloutOptions = {}): Promise<LongRolloutResult> {
  const { turns = 10_000, from = 1_000, onProgress } = options;
  const script = () => ({
    items: [{ type: 'function_call' as const, name: 'run', arguments: '{"command":"ls -la"}' }],
  });
  const listeners: number[] = [];
  const sampler = watching(
    scriptedSampler({ clock: systemClock, script, contextTokensMax: Infinity }),
    (signal) => {
      listeners.push(getEventListeners(signal, 'abort').length);
    },
  );
  await using engine = new Engine({ sampler });
  const response = await engine.create({ model: 'long', input: 'go' });
  const at = new Map<number, { heap: number; log: number; entries: number }>();
  await answer(response, turns, (turn) => {
    if (turn === from || turn === turns)
      at.set(turn, {
        heap: memoryNow().heap,
        log: response.logBytes,
        entries: response.kept.transcript.length,
      });
    if (turn % 1_000 === 0) onProgress?.(`turn ${turn} of ${turns}`);
  });
  const first = at.get(from);
  const last = at.get(turns);
  if (first === undefined || last === undefined) throw new Error('the rollout ended before it was measured');
  const transcriptGrowth = transcriptBytes([
    { transcript: response.kept.transcript, from: first.entries, to: last.entries },
  ]);
  const heapGrowth = last.heap - first.heap;
  const logGrowth = last.log - first.log;
  return {
    turns,
    from,
    heap_growth: heapGrowth,
    transcript_growth: transcriptGrowth,
    log_growth: logGrowth,
    rest_growth: heapGrowth - transcriptGrowth - logGrowth,
    log_bytes: last.log,
    log_bytes_max: engine.limits.logBytesMax,
    listeners: { first: listeners[1] ?? 0, last: listeners.at(-1) ?? 0 },
  };
}

export function print(result: LongRolloutResult): string {
  const mb = (bytes: number): string => `${(bytes / MB).toFixed(2)} MB`;
  return [
    `One rollout of ${result.turns} turns; growth from turn ${result.from} to ${result.turns}, after full collections:`,
    `  heap ${mb(result.heap_growth)} = transcript ${mb(result.transcript_growth)} (weighed on a copy) + log ${mb(result.log_growth)} (its own estimate) + rest ${mb(result.rest_growth)}`,
    `  rest within ${mb(restGrowthMax)}: ${Math.abs(result.rest_growth) <= restGrowthMax ? 'yes' : 'NO'}`,
    `  log ${mb(result.log_bytes)} of at most ${mb(result.log_bytes_max)}; listeners on the rollout's signal as a turn starts: ${result.listeners.first} at turn 2, ${result.listeners.last} at turn ${result.turns}`,
  ].join('\n');
}
