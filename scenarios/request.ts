/** The client's side of a scenario: what to ask, and what the tools answer. */
import type { FunctionTool } from '../engine/protocol/requests.js';
import { instructionsOf, textGenerator, toolsOf, type RolloutKey } from './content.js';
import { requestsOf, rolloutOf, turnsOf } from './generate.js';
import type { Scenario } from './scenario.js';
import { textOf } from './text.js';

/** The `model` of every scenario's requests, and of those after a change of model; which scenario is meant stands in the metadata. */
export const scenarioModelName = 'scenario';
export const otherModelName = 'scenario-b';

/** The fields of `response.create` that a scenario decides. Designs that send further creates send them again. */
export interface RolloutRequest {
  readonly model: string;
  readonly instructions: string;
  readonly tools: FunctionTool[];
  /** The user's message. */
  readonly input: string;
  /** By this the scripted model finds its rollout. */
  readonly metadata: { readonly scenario: string; readonly seed: string; readonly rollout: string };
  readonly context_management?: readonly {
    readonly type: 'compaction';
    readonly compact_threshold: number;
  }[];
}

/**
 * All requests of the user: the first, then the follow-ups, each on the conversation that the one before has left.
 *
 * @throws RangeError where seed or index is no whole number, or the index is below 0.
 */
export function rolloutRequests(scenario: Scenario, seed: number, index: number): RolloutRequest[] {
  const key: RolloutKey = { scenario, seed, index };
  const { compact_threshold_tokens: compact_threshold } = scenario;
  const settings = {
    instructions: instructionsOf(scenario),
    tools: toolsOf(scenario),
    metadata: { scenario: scenario.name, seed: String(seed), rollout: String(index) },
    ...(compact_threshold === undefined
      ? {}
      : { context_management: [{ type: 'compaction', compact_threshold } as const] }),
  };
  let model = scenarioModelName;
  return requestsOf(rolloutOf(scenario, seed, index)).map(
    ({ model_change, context_tokens, context_text }, number) => {
      if (model_change) model = model === scenarioModelName ? otherModelName : scenarioModelName;
      const random = textGenerator(key, 'context', number);
      return { model, ...settings, input: textOf(context_tokens, context_text, random) };
    },
  );
}

/**
 * The first of them.
 *
 * @throws RangeError where seed or index is no whole number, or the index is below 0.
 */
export function rolloutRequest(scenario: Scenario, seed: number, index: number): RolloutRequest {
  const [first] = rolloutRequests(scenario, seed, index);
  if (first === undefined) throw new RangeError(`rollout ${index} of ${scenario.name} asks for nothing`);
  return first;
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
  const planned = turnsOf(rolloutOf(scenario, seed, index)).map(({ calls }, turn) =>
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
