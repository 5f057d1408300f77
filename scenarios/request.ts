/** The client's side of a scenario: what to ask, and what the tools answer. */
import type { FunctionTool } from '../engine/protocol/requests.js';
import { instructionsOf, textGenerator, toolsOf, type RolloutKey } from './content.js';
import { rolloutOf } from './generate.js';
import type { Scenario } from './scenario.js';
import { textOf } from './text.js';

/** The `model` of every scenario's requests; which scenario is meant stands in the metadata. */
export const scenarioModelName = 'scenario';

/** The fields of `response.create` that a scenario decides. Designs that send further creates send them again. */
export interface RolloutRequest {
  readonly model: string;
  readonly instructions: string;
  readonly tools: FunctionTool[];
  /** The user's first message. */
  readonly input: string;
  /** By this the scripted model finds its rollout. */
  readonly metadata: { readonly scenario: string; readonly seed: string; readonly rollout: string };
}

/** @throws RangeError where seed or index is no whole number, or the index is below 0. */
export function rolloutRequest(scenario: Scenario, seed: number, index: number): RolloutRequest {
  const key: RolloutKey = { scenario, seed, index };
  const { context_tokens, context_text } = rolloutOf(scenario, seed, index);
  return {
    model: scenarioModelName,
    instructions: instructionsOf(scenario),
    tools: toolsOf(scenario),
    input: textOf(context_tokens, context_text, textGenerator(key, 'context')),
    metadata: { scenario: scenario.name, seed: String(seed), rollout: String(index) },
  };
}

/** What one tool call comes to. */
export interface PlannedOutput {
  readonly text: string;
  /** How long the tool runs. */
  readonly toolMs: number;
}

/**
 * The output of a call, by its turn (from 1) and its place among the turn's calls (from 0). A tool's name says nothing.
 *
 * @throws RangeError where the rollout has no such call.
 */
export type OutputFor = (turn: number, call: number) => PlannedOutput;

/** All tool outputs of a rollout. They are made here and now, so that no measured time holds the making. */
export function toolOutputs(scenario: Scenario, seed: number, index: number): OutputFor {
  const key: RolloutKey = { scenario, seed, index };
  const planned = rolloutOf(scenario, seed, index).turns.map(({ calls }, turn) =>
    calls.map(({ output_tokens, output_text, tool_ms }, call): PlannedOutput => {
      const random = textGenerator(key, 'output', turn + 1, call);
      return { text: textOf(output_tokens, output_text, random), toolMs: tool_ms };
    }),
  );
  return (turn, call) => {
    const output = planned[turn - 1]?.[call];
    if (output === undefined)
      throw new RangeError(`rollout ${index} of ${scenario.name} has no call ${call} in turn ${turn}`);
    return output;
  };
}
