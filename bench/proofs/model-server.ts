/**
 * The server of the proofs, in a process of its own: the real one, with these simulated models.
 *
 *   calls    instant: all tokens of a turn are there at once, in one delta. It calls a tool at every turn up to
 *            `metadata.turns`, then answers. What it answers with are the CPU readings it took of its own process as it
 *            began the turns that `metadata.readings` names: so nothing has to be asked of the process inside a
 *            measured window, and a reading lies exactly between two turns.
 *   stream   one message of `metadata.tokens` tokens, four characters each, at 1,000 tokens/s.
 */
import { pino } from 'pino';

import {
  scriptedSampler,
  systemClock,
  type Sampler,
  type SamplerEvent,
  type SamplerOpening,
  type SamplerSession,
  type ScriptTurn,
  type TurnRequest,
} from '../../engine/index.js';
import { generatorFor, jsonArguments } from '../../scenarios/index.js';
import { serve } from '../../transport/index.js';
import { offer } from './child.js';

const call = jsonArguments(20, generatorFor('proof call'));

/** The readings of each rollout that is under way, by `metadata.rollout`. */
const readings = new Map<string, { readonly at: ReadonlySet<number>; readonly cpuUs: number[] }>();

/** The readings so far, with one more where this turn begins a window or follows one. */
function take(
  turn: number,
  { rollout = '', readings: places = '' }: Readonly<Record<string, string>>,
): number[] {
  let own = readings.get(rollout);
  if (own === undefined)
    readings.set(rollout, (own = { at: new Set(places.split(' ').map(Number)), cpuUs: [] }));
  if (own.at.has(turn)) {
    const { user, system } = process.cpuUsage();
    own.cpuUs.push(user + system);
  }
  return own.cpuUs;
}

class Calls implements SamplerSession {
  readonly #metadata: Readonly<Record<string, string>>;

  constructor({ request }: SamplerOpening) {
    this.#metadata = request.metadata ?? {};
  }

  async *sample({ context }: TurnRequest): AsyncGenerator<SamplerEvent, void> {
    const turn = context.transcript.turns + 1;
    const cpuUs = take(turn, this.#metadata);
    yield { type: 'prefill', held: 0, read: context.tokens };
    if (turn >= Number(this.#metadata['turns'] ?? Infinity)) {
      readings.delete(this.#metadata['rollout'] ?? '');
      yield { type: 'item', key: 0, start: { type: 'message' } };
      yield { type: 'delta', key: 0, delta: cpuUs.join(' '), tokens: 1 };
      yield { type: 'item_end', key: 0 };
    } else {
      yield { type: 'item', key: 0, start: { type: 'function_call', name: 'run' } };
      yield { type: 'delta', key: 0, delta: call.text, tokens: call.tokens.length };
      yield { type: 'item_end', key: 0, tokens: call.tokens };
    }
  }

  suspend(): void {}
  release(): void {}
}

function stream(_turn: TurnRequest, { request }: SamplerOpening): ScriptTurn {
  const tokens = new Uint32Array(Number(request.metadata?.['tokens'])).fill(1000);
  return { items: [{ type: 'message', text: ' abc'.repeat(tokens.length), tokens }] };
}

const pace = {
  clock: systemClock,
  contextTokensMax: Infinity,
  session: { policy: 'per-conversation' },
} as const;
const instant: Sampler = { contextTokensMax: Infinity, open: (opening) => new Calls(opening) };
const steady = scriptedSampler({ ...pace, script: stream, decodeTokensPerSecond: 1000 });

const serving = await serve({
  engine: { sampler: (model) => (model === 'stream' ? steady : instant) },
  transport: 'uws',
  log: pino({ level: 'silent' }),
});
offer(serving.url);
