import { builtinScenarios } from '../scenarios/index.js';

/** What is wrong with a word that should be a scenario's name or a path. */
export function missing(fault: unknown, word: string): unknown {
  return fault instanceof Error && fault.message.includes('ENOENT')
    ? new Error(`${word}: neither a file nor one of ${[...builtinScenarios.keys()].join(', ')}`)
    : fault;
}
