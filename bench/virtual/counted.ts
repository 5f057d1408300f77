/**
 * Counted transcripts: text of one token per UTF-16 unit, all slices of one filler, so that the engine's own code runs on
 * token counts and nothing is encoded, sent or kept. A rollout of a scenario becomes a script and a request of such text.
 */
import type { ScriptItem, ScriptTurn, Tokenizer } from '../../engine/index.js';
import type { Scenario, Turn } from '../../scenarios/index.js';

/** Tokens of the longest text that can be counted: four times the largest context of any built-in scenario. */
export const countedTokensMax = 4_000_000;

const filler = 'x'.repeat(countedTokensMax);
const zeros = new Uint32Array(countedTokensMax);

/** A text of that many tokens. */
export function countedText(tokens: number): string {
  if (tokens > countedTokensMax)
    throw new RangeError(`a text of ${tokens} tokens; at most ${countedTokensMax} are counted`);
  return filler.slice(0, tokens);
}

/** One token per UTF-16 unit. */
export const countedTokenizer: Tokenizer = { encode: (text) => zeros.subarray(0, text.length) };

function scriptTurn({ output_tokens, calls }: Turn): ScriptTurn {
  const items: ScriptItem[] = [];
  if (output_tokens > 0)
    items.push({
      type: 'message',
      text: countedText(output_tokens),
      tokens: zeros.subarray(0, output_tokens),
    });
  for (const { arguments_tokens } of calls)
    items.push({
      type: 'function_call',
      name: 'tool',
      arguments: countedText(arguments_tokens),
      tokens: zeros.subarray(0, arguments_tokens),
    });
  return { items };
}

/** What the model writes, turn by turn, through all requests of the rollout. */
export function countedScript(turns: readonly Turn[]): ScriptTurn[] {
  return turns.map(scriptTurn);
}

/** Generated words have 4.5 bytes to a token on average: what a text of a scenario weighs in JSON. */
export const bytesPerToken = 4.5;

/** Fields of a create that a scenario decides: its tools are one, whose description is as long as theirs together. */
export function countedRequest({ instructions_tokens, tools_bytes, compact_threshold_tokens }: Scenario) {
  const compaction = { type: 'compaction' as const, compact_threshold: compact_threshold_tokens };
  return {
    context_management: compact_threshold_tokens === undefined ? [] : [compaction],
    instructions: countedText(instructions_tokens),
    tools: [
      {
        type: 'function' as const,
        name: 'tool',
        description: countedText(Math.round(tools_bytes / bytesPerToken)),
        // No schema of what it takes: rendered as one that takes nothing, and not checked anew at each create.
        strict: false,
      },
    ],
  };
}
