/** `response.create`: what a client may ask for, flat, as on `POST /v1/responses`. Unknown fields are ignored. */
import { z } from 'zod';

import { dispatched, typeOf } from './dispatch.js';
import { itemSchema, type Item } from './items.js';
import { jsonCheckFor } from './json-check.js';
import { checkObjectSchema, functionToolSchema, type Complain } from './tool-schema.js';

const customToolSchema = z.looseObject({
  type: z.literal('custom'),
  name: z.string().min(1),
  description: z.string().nullish(),
});
const namespaceToolSchema = z.looseObject({
  type: z.literal('namespace'),
  name: z.string().min(1),
  description: z.string().nullish(),
  tools: z.array(z.lazy(() => toolSchema)),
});
const otherToolSchema = z
  .looseObject({ type: z.string().min(1) })
  .transform((tool): OtherTool => ({ ...tool, other: true }));

export type FunctionTool = z.output<typeof functionToolSchema>;
export type CustomTool = z.output<typeof customToolSchema>;
export interface NamespaceTool {
  type: 'namespace';
  name: string;
  description?: string | null | undefined;
  tools: Tool[];
}
/** Hosted and future tools: carried and echoed, never interpreted. */
export interface OtherTool {
  type: string;
  other: true;
}
export type Tool = FunctionTool | CustomTool | NamespaceTool | OtherTool;

export function isFunctionTool(tool: Tool): tool is FunctionTool {
  return tool.type === 'function';
}

export function isCustomTool(tool: Tool): tool is CustomTool {
  return tool.type === 'custom';
}

export function isNamespaceTool(tool: Tool): tool is NamespaceTool {
  return tool.type === 'namespace';
}

const toolSchema: z.ZodType<Tool> = dispatched<Tool>((raw) => {
  switch (typeOf(raw)) {
    case 'function':
      return functionToolSchema;
    case 'custom':
      return customToolSchema;
    case 'namespace':
      return namespaceToolSchema;
    default:
      return otherToolSchema;
  }
});

const toolChoiceSchema = z.union(
  [
    z.enum(['auto', 'none', 'required']),
    z.object({ type: z.literal('function'), name: z.string().min(1) }),
    z.object({ type: z.literal('custom'), name: z.string().min(1) }),
    z.object({
      type: z.literal('allowed_tools'),
      mode: z.enum(['auto', 'required']).default('auto'),
      tools: z.array(z.looseObject({ type: z.string(), name: z.string().optional() })).min(1),
    }),
  ],
  {
    error:
      'expected auto, none, required, {type:"function"|"custom", name} or {type:"allowed_tools", mode, tools}',
  },
);

export type ToolChoice = z.output<typeof toolChoiceSchema>;

const itemsSchema = z.array(itemSchema, { error: 'expected a string or an array of items' });
const textSchema = z.string().transform((text): Item[] => [{ type: 'message', role: 'user', content: text }]);

/** A string is one user message. */
const inputSchema: z.ZodType<Item[]> = dispatched<Item[]>((raw) =>
  typeof raw === 'string' ? textSchema : itemsSchema,
);

const jsonSchemaFormatSchema = z
  .looseObject({
    type: z.literal('json_schema'),
    name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'expected 1 to 64 of A-Z a-z 0-9 _ -'),
    schema: z.looseObject({}),
    description: z.string().nullish(),
    strict: z.boolean().nullish(),
  })
  .superRefine(({ schema, strict }, context) => {
    let whole = true;
    const complain: Complain = (path, message) => {
      whole = false;
      context.addIssue({ code: 'custom', path: ['schema', ...path], message });
    };
    checkObjectSchema(schema, strict === true, complain);
    if (!whole) return;
    try {
      jsonCheckFor(schema); // Made here, once, so that a schema that cannot be checked is refused before anything is sampled.
    } catch (fault) {
      complain(
        [],
        `the schema cannot be checked: ${fault instanceof Error ? fault.message : 'it is too deep'}`,
      );
    }
  });
/** For what is no format: it says so of the `type`. */
const noFormatSchema = z.looseObject({
  type: z.literal('text', { error: 'expected text, json_object or json_schema' }),
});
const textFormatSchemas = {
  text: z.looseObject({ type: z.literal('text') }),
  json_object: z.looseObject({ type: z.literal('json_object') }),
  json_schema: jsonSchemaFormatSchema,
} as const;

export type TextFormat = z.output<(typeof textFormatSchemas)[keyof typeof textFormatSchemas]>;

const textFormatSchema: z.ZodType<TextFormat> = dispatched<TextFormat>((raw) => {
  switch (typeOf(raw)) {
    case 'text':
      return textFormatSchemas.text;
    case 'json_object':
      return textFormatSchemas.json_object;
    case 'json_schema':
      return textFormatSchemas.json_schema;
    default:
      return noFormatSchema;
  }
});

const compactionSchema = z.looseObject({
  type: z.literal('compaction'),
  compact_threshold: z.int().min(1).nullish(),
});

export const createRequestSchema = z.object({
  model: z
    .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'expected a string') })
    .min(1),
  input: inputSchema.default([]),
  instructions: z.string().nullish(),
  tools: z.array(toolSchema).nullish(),
  tool_choice: toolChoiceSchema.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  max_tool_calls: z.int().min(0).nullish(),
  previous_response_id: z.string().min(1).nullish(),
  conversation: z.unknown().optional(),
  store: z.boolean().nullish(),
  background: z.boolean().nullish(),
  generate: z.boolean().nullish(),
  metadata: z.record(z.string().max(64), z.string().max(512)).nullish(),
  prompt_cache_key: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  service_tier: z.string().nullish(),
  user: z.string().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish(), summary: z.string().nullish() }).nullish(),
  text: z.looseObject({ format: textFormatSchema.nullish(), verbosity: z.string().nullish() }).nullish(),
  /** What else the client wants to see; of all values only `reasoning.encrypted_content` changes anything here. */
  include: z.array(z.string()).nullish(),
  context_management: z.array(compactionSchema).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({}).nullish(),
  client_metadata: z.record(z.string(), z.unknown()).nullish(),
  prompt_cache_retention: z.string().nullish(),
});

/** Whether the client wants the encrypted content of reasoning. */
export function wantsEncrypted({ include }: CreateRequest): boolean {
  return include?.includes('reasoning.encrypted_content') ?? false;
}

/** A validated request. */
export type CreateRequest = z.output<typeof createRequestSchema>;
/** What an embedder may pass to `engine.create`; it is validated like a client's. */
export type CreateRequestInput = Omit<z.input<typeof createRequestSchema>, 'input'> & { input?: unknown };

export const appendInputSchema = inputSchema;
