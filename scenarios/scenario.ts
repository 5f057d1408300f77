/** What a scenario file may hold: the one place where scenarios are checked. Unknown fields are errors. */
import { readFile } from 'node:fs/promises';

import { z } from 'zod';

import { argumentsTokensMin } from './text.js';

/** Bytes of JSON that a generated tool needs before its description has a word. */
export const toolBytesMin = 240;

const tokens = z.int().min(0);
const milliseconds = z.number().min(0);

/**
 * Text that a trace recorded, and how many o200k_base tokens it has. Where the field beside it counts more, words made
 * to size come before it, on a line of their own.
 */
const keptSchema = z.strictObject({ tokens: z.int().min(1), text: z.string().min(1) });

const callSchema = z
  .strictObject({
    /** The length of the arguments the model writes. */
    arguments_tokens: z.int().min(1),
    /** The arguments themselves, where a trace has them: JSON of exactly that length. */
    arguments_text: z.string().min(1).optional(),
    /** How long the tool runs. Calls of one turn run in parallel. */
    tool_ms: milliseconds,
    /** The length of the tool's output, which is appended to the context. */
    output_tokens: z.int().min(1),
    output_text: keptSchema.optional(),
  })
  .superRefine((call, context) => {
    const fault = (field: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (call.arguments_text === undefined && call.arguments_tokens < argumentsTokensMin)
      fault('arguments_tokens', `expected at least ${argumentsTokensMin}, the shortest that are made`);
    if (call.output_text !== undefined && call.output_text.tokens > call.output_tokens)
      fault('output_text', `expected no more than the ${call.output_tokens} output_tokens`);
  });

const turnSchema = z
  .strictObject({
    /** What the model writes besides calls, as one message before them; 0 for no message. */
    output_tokens: tokens,
    text: keptSchema.optional(),
    calls: z.array(callSchema).default([]),
  })
  .superRefine(({ output_tokens, text }, context) => {
    if (text !== undefined && text.tokens > output_tokens)
      context.addIssue({
        code: 'custom',
        path: ['text'],
        message: `expected no more than the ${output_tokens} output_tokens`,
      });
  });

/** What the user says, and the turns that come of it: the last is an answer and calls nothing. */
const requestShape = {
  /** The user's message, which the first turn reads besides what stands in the context already. */
  context_tokens: z.int().min(1),
  context_text: keptSchema.optional(),
  turns: z.array(turnSchema).min(1),
};

function checkRequest(
  { turns, context_tokens, context_text }: z.output<z.ZodObject<typeof requestShape>>,
  context: z.RefinementCtx,
): void {
  const fault = (path: PropertyKey[], message: string): void =>
    context.addIssue({ code: 'custom', path, message });
  if (context_text !== undefined && context_text.tokens > context_tokens)
    fault(['context_text'], `expected no more than the ${context_tokens} context_tokens`);
  turns.forEach(({ calls, output_tokens }, index) => {
    const last = index === turns.length - 1;
    if (last && calls.length > 0)
      fault(['turns', index, 'calls'], 'the last turn is the final answer and calls nothing');
    if (!last && calls.length === 0)
      fault(['turns', index, 'calls'], 'every turn before the last needs a call');
    if (last && output_tokens === 0)
      fault(['turns', index, 'output_tokens'], 'the final answer needs a token');
  });
}

/** A further request of the user on the same conversation: its turns read all that was said before. */
const followUpSchema = z
  .strictObject({
    /** How long the user thinks after the answer before. No measured time holds it. */
    pause_ms: milliseconds.default(0),
    /** Whether it is sent to the other model, which has read nothing of the conversation yet. */
    model_change: z.boolean().default(false),
    ...requestShape,
  })
  .superRefine(checkRequest);

const rolloutSchema = z
  .strictObject({
    /** For tables and for grouping, such as the name of the task. Nothing depends on it. */
    label: z.string().min(1).optional(),
    ...requestShape,
    follow_ups: z.array(followUpSchema).optional(),
  })
  .superRefine(checkRequest);

const ascending = (numbers: readonly number[]): boolean =>
  numbers.every((value, index) => index === 0 || value >= (numbers[index - 1] ?? value));

const tableSchema = z
  .strictObject({
    /** Percentiles, from 0 to 100. */
    p: z.array(z.number().min(0).max(100)).min(2),
    /** The value at each percentile. */
    v: z.array(z.number().min(0)).min(2),
  })
  .superRefine(({ p, v }, context) => {
    const fault = (field: 'p' | 'v', message: string): void =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (!ascending(p)) fault('p', 'expected ascending percentiles');
    if (!ascending(v)) fault('v', 'expected ascending values');
    if (p.length !== v.length) fault('v', `expected ${p.length} values, one for each percentile`);
  });

const drawSchema = z.union([z.number().min(0), tableSchema], {
  error: 'expected a number from 0 up, or a table {p, v} of percentiles and values',
});

/** Rollouts drawn field by field, each independent of the others. Whole numbers are rounded. */
const drawnSchema = z.strictObject({
  /** Turns of a rollout, the final answer included; at least 1. */
  turns: drawSchema,
  context_tokens: drawSchema,
  /** Drawn for every turn before the last. */
  output_tokens: drawSchema,
  final_output_tokens: drawSchema,
  /** Calls of a turn before the last; at least 1. */
  calls: drawSchema,
  /** The other three are drawn for every call. */
  arguments_tokens: drawSchema,
  tool_ms: drawSchema,
  tool_output_tokens: drawSchema,
  /** Further requests of the user; their turns are drawn as those of the first. */
  follow_ups: z
    .strictObject({
      count: drawSchema,
      pause_ms: drawSchema.default(0),
      context_tokens: drawSchema,
      /** How many of them, from 0 to 1, go to the other model. */
      model_change_share: z.number().min(0).max(1).default(0),
    })
    .optional(),
});

const scenarioSchema = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9-]{1,64}$/, 'expected 1 to 64 of a-z 0-9 -'),
    /** One sentence: what a run of this scenario answers. */
    question: z.string().min(1),
    /** Which numbers are real and which are drawn, from where, under which licence. */
    source: z.string().min(1),
    /** The same text in every rollout. */
    instructions_tokens: z.int().min(1),
    /** Function tools, the same in every rollout. */
    tools_count: z.int().min(1).max(128),
    /** About how many bytes the JSON of the tools array has. */
    tools_bytes: z.int(),
    /**
     * Above this many tokens a context is compacted before its next turn: what was said becomes a summary, all but the
     * newest turn. Sent as `context_management`. Default: never.
     */
    compact_threshold_tokens: z.int().min(1).optional(),
    /** Given rollouts. A seed puts them in an order of its own; all of them come before any comes again. */
    rollouts: z.array(rolloutSchema).min(1).optional(),
    /** Or the distributions that rollouts are drawn from. */
    drawn: drawnSchema.optional(),
  })
  .superRefine((scenario, context) => {
    const fault = (field: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [field], message });
    if ((scenario.rollouts === undefined) === (scenario.drawn === undefined))
      fault('rollouts', 'expected either rollouts or drawn');
    const bytesMin = scenario.tools_count * toolBytesMin;
    if (scenario.tools_bytes < bytesMin)
      fault('tools_bytes', `expected at least ${bytesMin}, ${toolBytesMin} for each tool`);
  });

export type KeptText = z.output<typeof keptSchema>;
export type Drawn = z.output<typeof drawnSchema>;
export type Call = z.output<typeof callSchema>;
export type Turn = z.output<typeof turnSchema>;
export type FollowUp = z.output<typeof followUpSchema>;
export type Rollout = z.output<typeof rolloutSchema>;
export type Scenario = z.output<typeof scenarioSchema>;

/** What is wrong with a scenario, one line for each field at fault: `file: rollouts[0].turns[2].calls: …`. */
export class ScenarioError extends Error {
  override readonly name = 'ScenarioError';
}

/** A path of keys as it is written in JavaScript: `rollouts[0].turns`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '');
}

/**
 * Checks a scenario that came as JSON. `from` says where it came from and opens every line of the error.
 *
 * @throws ScenarioError that names every field at fault.
 */
export function parseScenario(value: unknown, from = 'scenario'): Scenario {
  const parsed = scenarioSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(({ path, message }) =>
    path.length === 0 ? `${from}: ${message}` : `${from}: ${pathText(path)}: ${message}`,
  );
  throw new ScenarioError(lines.join('\n'));
}

/**
 * Reads a scenario file.
 *
 * @throws ScenarioError where the file is no JSON or no scenario; the file system's error where it can't be read.
 */
export async function loadScenario(path: string): Promise<Scenario> {
  const text = await readFile(path, 'utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (fault) {
    throw new ScenarioError(`${path}: not JSON: ${String(fault)}`, { cause: fault });
  }
  return parseScenario(value, path);
}
