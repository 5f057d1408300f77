/**
 * Items: the entries of a transcript, as they stand on the wire.
 *
 * Messages, calls, outputs and reasoning are known to the engine. Every other kind is opaque: carried, rendered as
 * JSON and, where `calls.ts` says so, owed like any call when a sampler produces it. Unknown fields of known
 * kinds are dropped, not refused, because clients send back what SDK helpers added to items.
 */
import { z } from 'zod';

import { dispatched, typeOf } from './dispatch.js';

export const itemStatusSchema = z.enum(['in_progress', 'completed', 'incomplete']);

const inputTextSchema = z.object({ type: z.literal('input_text'), text: z.string() });
const inputImageSchema = z.object({
  type: z.literal('input_image'),
  image_url: z.string().nullish(),
  file_id: z.string().nullish(),
  detail: z.enum(['auto', 'low', 'high', 'original']).nullish(),
});
const inputFileSchema = z.object({
  type: z.literal('input_file'),
  file_id: z.string().nullish(),
  file_url: z.string().nullish(),
  file_data: z.string().nullish(),
  filename: z.string().nullish(),
});
const outputTextSchema = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.unknown()).default([]),
  logprobs: z.array(z.unknown()).optional(),
});
const refusalSchema = z.object({ type: z.literal('refusal'), refusal: z.string() });

const inputPartSchema = z.discriminatedUnion('type', [inputTextSchema, inputImageSchema, inputFileSchema]);
const messagePartSchema = z.discriminatedUnion('type', [
  inputTextSchema,
  inputImageSchema,
  inputFileSchema,
  outputTextSchema,
  refusalSchema,
]);

const textSchema = z.string();

/** A text or an array of parts, in which the part at fault is named. */
function textOr<Part>(parts: z.ZodType<Part[]>, expected: string): z.ZodType<string | Part[]> {
  return dispatched<string | Part[]>((raw) => {
    if (typeof raw === 'string') return textSchema;
    return Array.isArray(raw) ? parts : expected;
  });
}

const messageSchema = z.object({
  type: z.literal('message').default('message'),
  id: z.string().min(1).optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: textOr(z.array(messagePartSchema), 'expected a string or an array of content parts'),
  status: itemStatusSchema.optional(),
  phase: z.enum(['commentary', 'final_answer']).nullish(),
});

const functionCallSchema = z.object({
  type: z.literal('function_call'),
  id: z.string().min(1).optional(),
  call_id: z.string().min(1),
  name: z.string().min(1),
  namespace: z.string().min(1).optional(),
  arguments: z.string(),
  status: itemStatusSchema.optional(),
});

const customToolCallSchema = z.object({
  type: z.literal('custom_tool_call'),
  id: z.string().min(1).optional(),
  call_id: z.string().min(1),
  name: z.string().min(1),
  namespace: z.string().min(1).optional(),
  input: z.string(),
  status: itemStatusSchema.optional(),
});

const outputSchema = textOr(
  z.array(inputPartSchema),
  'expected a string or an array of input_text, input_image and input_file parts',
);

const functionCallOutputSchema = z.object({
  type: z.literal('function_call_output'),
  id: z.string().min(1).nullish(),
  call_id: z.string().min(1),
  output: outputSchema,
  status: itemStatusSchema.nullish(),
});

const customToolCallOutputSchema = z.object({
  type: z.literal('custom_tool_call_output'),
  id: z.string().min(1).nullish(),
  call_id: z.string().min(1),
  output: outputSchema,
  status: itemStatusSchema.nullish(),
});

const summaryPartSchema = z.object({ type: z.literal('summary_text'), text: z.string() });
const reasoningSchema = z.object({
  type: z.literal('reasoning'),
  id: z.string().min(1).optional(),
  summary: z.array(summaryPartSchema).default([]),
  content: z.array(z.object({ type: z.literal('reasoning_text'), text: z.string() })).nullish(),
  encrypted_content: z.string().nullish(),
  status: itemStatusSchema.nullish(),
});

const opaqueItemSchema = z.looseObject({
  type: z.string().min(1),
  id: z.string().min(1).nullish(),
  call_id: z.string().min(1).nullish(),
});

export type InputPart = z.output<typeof inputPartSchema>;
export type MessagePart = z.output<typeof messagePartSchema>;
export type Message = z.output<typeof messageSchema>;
export type FunctionCall = z.output<typeof functionCallSchema>;
export type CustomToolCall = z.output<typeof customToolCallSchema>;
export type FunctionCallOutput = z.output<typeof functionCallOutputSchema>;
export type CustomToolCallOutput = z.output<typeof customToolCallOutputSchema>;
export type Reasoning = z.output<typeof reasoningSchema>;
export type OpaqueItem = z.output<typeof opaqueItemSchema> & { readonly opaque: true };

export type ToolCall = FunctionCall | CustomToolCall;
export type ToolOutput = FunctionCallOutput | CustomToolCallOutput;
export type KnownItem = Message | ToolCall | ToolOutput | Reasoning;
export type Item = KnownItem | OpaqueItem;

const knownItemSchemas = {
  message: messageSchema,
  function_call: functionCallSchema,
  custom_tool_call: customToolCallSchema,
  function_call_output: functionCallOutputSchema,
  custom_tool_call_output: customToolCallOutputSchema,
  reasoning: reasoningSchema,
} as const;

function isKnownType(type: unknown): type is keyof typeof knownItemSchemas {
  return typeof type === 'string' && Object.hasOwn(knownItemSchemas, type);
}

const markedOpaqueSchema = opaqueItemSchema.transform((item): OpaqueItem => ({ ...item, opaque: true }));

/** One item of a client's `input`. */
export const itemSchema: z.ZodType<Item> = dispatched<Item>((raw) => {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return 'expected an item object';
  const type = typeOf(raw);
  if (type === undefined && 'role' in raw) return messageSchema;
  return isKnownType(type) ? knownItemSchemas[type] : markedOpaqueSchema;
});

export function isOpaque(item: Item): item is OpaqueItem {
  return 'opaque' in item;
}

export function isToolCall(item: Item): item is ToolCall {
  return item.type === 'function_call' || item.type === 'custom_tool_call';
}

export function isToolOutput(item: Item): item is ToolOutput {
  return item.type === 'function_call_output' || item.type === 'custom_tool_call_output';
}

/** Opaque kinds that a model writes although they are no calls. */
const otherSampled = new Set(['mcp_approval_request', 'mcp_list_tools']);

/** True for what a model writes, false for what a client writes. */
export function isSampled(item: Item): boolean {
  if (item.type === 'message') return 'role' in item && item.role === 'assistant';
  return item.type === 'reasoning' || item.type.endsWith('_call') || otherSampled.has(item.type);
}
