/**
 * The server of the proofs, in a process of its own: the real one, with these simulated models.
 *
 *   calls    instant; calls a tool at every turn up to `metadata.turns`, then answers. What it answers with are the CPU
 *            readings it took of its own process as it began the turns that `metadata.readings` names: so nothing has
 *            to be asked of the process inside a measured window, and a reading lies exactly between two turns.
 *   stream   one message of `metadata.tokens` tokens, four characters each, at 1,000 tokens/s.
 */
import { pino } from 'pino';

import {
  scriptedSampler,
  systemClock,
  type SamplerOpening,
  type ScriptTurn,
  type TurnRequest,
} from '../../engine/index.js';
import { generatorFor, jsonArguments } from '../../scenarios/index.js';
import { serve } from '../../transport/index.js';
import { offer } from './child.js';

const call = jsonArguments(20, generatorFor('proof call'));
const callTurn: ScriptTurn = {
  items: [{ type: 'function_call', name: 'run', arguments: call.text, tokens: call.tokens }],
};

/** The readings of each rollout that is under way, by `metadata.rollout`. */
const readings = new Map<string, { readonly at: ReadonlySet<number>; readonly cpuUs: number[] }>();

function calls({ context }: TurnRequest, { request }: SamplerOpening): ScriptTurn {
  const turn = context.transcript.turns + 1;
  const { rollout = '', turns = 'Infinity', readings: places = '' } = request.metadata ?? {};
  let own = readings.get(rollout);
  if (own === undefined)
    readings.set(rollout, (own = { at: new Set(places.split(' ').map(Number)), cpuUs: [] }));
  if (own.at.has(turn)) {
    const { user, system } = process.cpuUsage();
    own.cpuUs.push(user + system);
  }
  if (turn < Number(turns)) return callTurn;
  readings.delete(rollout);
  return { items: [{ type: 'message', text: own.cpuUs.join(' ') }] };
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
const instant = scriptedSampler({ ...pace, script: calls });
const steady = scriptedSampler({ ...pace, script: stream, decodeTokensPerSecond: 1000 });

const serving = await serve({
  engine: { sampler: (model) => (model === 'stream' ? steady : instant) },
  transport: 'uws',
  log: pino({ level: 'silent' }),
});
offer(serving.url);
