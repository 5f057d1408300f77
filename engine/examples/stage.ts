/** A stage of an embedder's own: it refuses input that holds what looks like a bank card number. */
import { Engine, ProtocolError, scriptedSampler, systemClock, type Stage } from '../index.js';

const cardNumber = /\b(?:\d[ -]?){15}\d\b/;

export const noCardNumbers: Stage = {
  name: 'no-card-numbers',
  phases: ['pre', 'append'],
  reads: 'new',
  refuses: true,
  critical: true,
  run(_passage, items) {
    const index = items.findIndex((item) => cardNumber.test(JSON.stringify(item)));
    if (index >= 0)
      throw new ProtocolError('invalid_prompt', 'Leave card numbers out.', { param: `input[${index}]` });
  },
};

/** An engine with the stage behind the standard ones: one line. */
export function guardedEngine(): Engine {
  return new Engine({
    sampler: scriptedSampler({
      clock: systemClock,
      script: [{ items: [{ type: 'message', text: 'Thank you.' }] }],
    }),
    stages: (standard) => [...standard, noCardNumbers],
  });
}
