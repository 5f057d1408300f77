/**
 * A piece of work of one's own around the model: real code, a simulated wait, and a place among the obligations, so that a
 * design can be bound to all of it, to its remembered answer, or to none. Run it with `node dist/bench/examples/work.js`.
 */
import { fileURLToPath } from 'node:url';

import {
  Engine,
  ProtocolError,
  scriptedSampler,
  VirtualClock,
  type Clock,
  type Obligation,
  type Stage,
} from '../../engine/index.js';

const sold = new Set(['demo']);

/** Asks whether a model may be used, which takes `waitMs` unless the rollout may go by an answer that is remembered. */
export function entitlement(clock: Clock, waitMs: number): Stage {
  return {
    name: 'entitlement',
    phases: ['pre'],
    reads: 'new',
    refuses: true,
    critical: true,
    async run({ request, obligations, signal }) {
      if (obligations['pre.entitlement'] !== 'cached') await clock.sleep(waitMs, signal);
      if (!sold.has(request.model))
        throw new ProtocolError('model_not_found', `${request.model} is not sold to you.`, {
          param: 'model',
        });
    },
  };
}

/** Virtual milliseconds that a create waits where it is bound to the work in that way, and how often the work ran. */
export async function example(obligation: Obligation, model = 'demo'): Promise<{ ms: number; runs: number }> {
  const clock = new VirtualClock();
  const script = [{ items: [{ type: 'message' as const, text: 'Thank you.' }] }];
  await using engine = new Engine({
    clock,
    sampler: scriptedSampler({ clock, script }),
    stages: (standard) => [...standard, entitlement(clock, 25)],
  });
  const obligations = { 'pre.entitlement': obligation };
  await clock.runUntil(engine.create({ model, input: 'hello' }, { obligations }));
  const ms = clock.now();
  return { ms, runs: engine.stageRuns['pre.entitlement']?.runs ?? 0 };
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const obligation of ['full', 'cached', 'absent'] as const) {
    const { ms, runs } = await example(obligation);
    console.log(`${obligation}: ${runs} runs, ${ms} ms before the model`);
  }
