/**
 * The words of a rollout. Every text is named by its scenario, seed, rollout and place, and is made from that name
 * alone, so model and client, in any process and any design, come to the same bytes.
 */
import type { FunctionTool } from '../engine/protocol/requests.js';
import { generatorFor, type RandomGenerator } from './random.js';
import type { Scenario } from './scenario.js';
import { wordText } from './text.js';

/** One rollout among all that can be drawn. */
export interface RolloutKey {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly index: number;
}

/** The generator of the text at one place of a rollout, such as `output` of a turn and a call. */
export function textGenerator(key: RolloutKey, place: string, turn = 0, call = 0): RandomGenerator {
  return generatorFor(place, key.scenario.name, key.seed, key.index, turn, call);
}

/** The tools of a scenario, in the order of the tools array. */
export function toolName(scenario: Scenario, number: number): string {
  return `tool_${number % scenario.tools_count}`;
}

export function instructionsOf(scenario: Scenario): string {
  return wordText(scenario.instructions_tokens, generatorFor('instructions', scenario.name)).text;
}

function tool(name: string, description: string): FunctionTool {
  return {
    type: 'function',
    name,
    description,
    strict: true,
    parameters: {
      type: 'object',
      properties: { input: { type: 'string' } },
      required: ['input'],
      additionalProperties: false,
    },
  };
}

/** As many tools as the scenario says, whose JSON array is as long as it says, to within a word for each tool. */
export function toolsOf(scenario: Scenario): FunctionTool[] {
  const { tools_count, tools_bytes } = scenario;
  const random = generatorFor('tools', scenario.name);
  const bytesPerTool = tools_bytes / tools_count - 1;
  return Array.from({ length: tools_count }, (_, number) => {
    const name = toolName(scenario, number);
    const room = Math.max(0, Math.round(bytesPerTool) - JSON.stringify(tool(name, '')).length);
    // No word is shorter than three bytes with its space.
    const words = wordText(Math.ceil(room / 3), random).text.slice(0, room);
    return tool(name, words.slice(0, words.lastIndexOf(' ')));
  });
}
