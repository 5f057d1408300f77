/** `response.create`: what a client may ask for, flat, as on `POST /v1/responses`. Unknown fields are ignored. */
import { z } from 'zod';

import { dispatched, typeOf } from './dispatch.js';
import { itemSchema, type Item } from './items.js';
import { functionToolSchema } from './tool-schema.js';

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
  text: z.looseObject({ format: z.looseObject({ type: z.string() }).nullish() }).nullish(),
});

/** A validated request. */
export type CreateRequest = z.output<typeof createRequestSchema>;
/** What an embedder may pass to `engine.create`; it is validated like a client's. */
export type CreateRequestInput = Omit<z.input<typeof createRequestSchema>, 'input'> & { input?: unknown };

export const appendInputSchema = inputSchema;
