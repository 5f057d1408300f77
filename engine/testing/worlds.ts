/** Random worlds: a model, stages and bounds for one rollout; and what a client may do in them. */
import * as fc from 'fast-check';

import type { ScriptTurn } from '../samplers/scripted.js';
import { call, customCall, say } from './lab.js';

export const worlds = fc.record({
  turns: fc.array(
    fc.record({
      said: fc.array(fc.constantFrom('text', 'call', 'call', 'custom', 'think'), {
        minLength: 1,
        maxLength: 4,
      }),
      interleave: fc.boolean(),
    }),
    { maxLength: 4 },
  ),
  tokensPerSecond: fc.constantFrom(Infinity, Infinity, 500, 50),
  modelFault: fc.option(
    fc.record({
      turn: fc.nat({ max: 3 }),
      kind: fc.constantFrom('throws', 'stalls'),
      tokens: fc.nat({ max: 12 }),
    }),
    { freq: 2 },
  ),
  stageFault: fc.option(
    fc.record({
      phase: fc.constantFrom('pre', 'append', 'post', 'late'),
      kind: fc.constantFrom('throws', 'refuses', 'is slow', 'is deaf'),
    }),
    { freq: 2 },
  ),
  limits: fc.record({
    suspensionMsMax: fc.constantFrom(150, 3000),
    rolloutMsMax: fc.constantFrom(400, Infinity, Infinity, Infinity),
    keepaliveMs: fc.constantFrom(70, 2 ** 34),
    samplerStepMsMax: fc.constantFrom(200, 5000),
    postMsMax: fc.constant(100),
    logBytesMax: fc.constantFrom(2 ** 22, 2 ** 22, 3000),
    pendingAppendsMax: fc.constantFrom(2, 256),
    turnsMax: fc.constantFrom(2, 100),
  }),
  warmUp: fc.boolean(),
  /** So many microtasks after each event of a kind the client answers what it owes, or says something. */
  eager: fc.option(
    fc.record({ ticks: fc.nat({ max: 40 }), at: fc.constantFrom('added', 'done'), says: fc.boolean() }),
    { freq: 1 },
  ),
});

/** `pick` chooses among what there is to choose from, whatever that is by then. */
export const acts = fc.record({
  does: fc.constantFrom(
    ...([
      'answer',
      'answer',
      'answer',
      'answer and say',
      'say',
      'resend',
      'contradict',
      'stray',
      'malform',
    ] as const),
    ...(['time', 'time', 'ticks', 'ticks', 'settle', 'read', 'leave', 'come back', 'cancel'] as const),
  ),
  pick: fc.nat({ max: 63 }),
});

type Drawn<From> = From extends fc.Arbitrary<infer Value> ? Value : never;
export type World = Drawn<typeof worlds>;
export type Act = Drawn<typeof acts>;

/** What the model says at each turn, from 0. */
export function scripted({ turns, modelFault }: World): (index: number) => ScriptTurn {
  const items = {
    text: say('some text for the client'),
    call: call('ls', '{"path":"/usr"}'),
    custom: customCall('patch', '*** patch'),
    think: { type: 'reasoning', summary: 'let me think' },
  } as const;
  return (index) => {
    const drawn = turns[index];
    const turn: ScriptTurn =
      drawn === undefined
        ? { items: [say('the end')] }
        : { items: drawn.said.map((kind) => items[kind]), interleave: drawn.interleave };
    if (modelFault === null || modelFault.turn !== index) return turn;
    const { kind, tokens } = modelFault;
    if (kind === 'stalls') return { ...turn, stallAfterTokens: tokens };
    return { ...turn, failAfterTokens: { tokens, fault: new Error('the model broke') } };
  };
}
