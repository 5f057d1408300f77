/** The scenarios that come with the project. */
import { drawnScenarios } from './drawn.js';
import { realScenarios } from './real.js';
import type { Scenario } from './scenario.js';

/** By name. */
export const builtinScenarios: ReadonlyMap<string, Scenario> = new Map(
  [...realScenarios, ...drawnScenarios].map((scenario) => [scenario.name, scenario]),
);

/** Names of those whose rollouts happened: what a result is led by. */
export const headlineScenarios: readonly string[] = realScenarios.map(({ name }) => name);
