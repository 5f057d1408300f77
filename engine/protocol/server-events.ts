/**
 * Server events as they stand on the wire. The schemas are what a strict client would check: extra fields pass,
 * missing ones fail. Event names and fields are those of the public Responses protocol; `response.done`,
 * `response.append.accepted`, `response.append.failed` and `response.attached` belong to the native dialect alone.
 */
import { z } from 'zod';

import { itemStatusSchema } from './items.js';

const number = z.int().min(0);
const index = z.int().min(0);
const id = z.string().min(1);

const annotationSchema = z.record(z.string(), z.unknown());
const outputPartSchema = z.union([
  z.looseObject({ type: z.literal('output_text'), text: z.string(), annotations: z.array(annotationSchema) }),
  z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
]);
const reasoningPartSchema = z.looseObject({ type: z.literal('reasoning_text'), text: z.string() });
const contentPartSchema = z.union([outputPartSchema, reasoningPartSchema]);

/** An item the model wrote. Opaque kinds need only a type and an id. */
export const outputItemSchema = z.union([
  z.looseObject({
    type: z.literal('message'),
    id,
    role: z.literal('assistant'),
    status: itemStatusSchema,
    content: z.array(outputPartSchema),
    phase: z.enum(['commentary', 'final_answer']).optional(),
  }),
  z.looseObject({
    type: z.literal('function_call'),
    id,
    call_id: id,
    name: id,
    arguments: z.string(),
    status: itemStatusSchema,
  }),
  z.looseObject({
    type: z.literal('custom_tool_call'),
    id,
    call_id: id,
    name: id,
    input: z.string(),
    status: itemStatusSchema,
  }),
  z.looseObject({
    type: z.literal('reasoning'),
    id,
    status: itemStatusSchema,
    summary: z.array(z.looseObject({ type: z.literal('summary_text'), text: z.string() })),
    content: z.array(reasoningPartSchema).optional(),
    encrypted_content: z.string().optional(),
  }),
  z.looseObject({
    type: z
      .string()
      .refine((type) => !['message', 'function_call', 'custom_tool_call', 'reasoning'].includes(type)),
    id,
  }),
]);

export const usageSchema = z.looseObject({
  input_tokens: z.int().min(0),
  input_tokens_details: z.looseObject({ cached_tokens: z.int().min(0) }),
  output_tokens: z.int().min(0),
  output_tokens_details: z.looseObject({ reasoning_tokens: z.int().min(0) }),
  total_tokens: z.int().min(0),
});

export const errorBodySchema = z.looseObject({
  type: z.string(),
  code: z.string().min(1),
  message: z.string(),
  param: z.string().nullable(),
  headers: z.record(z.string(), z.string()).optional(),
});

/** The 31 fields that strict clients require, `null` where there is nothing to say. */
export const responseObjectSchema = z.looseObject({
  id,
  object: z.literal('response'),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status: z.enum(['in_progress', 'completed', 'failed', 'incomplete', 'cancelled']),
  background: z.boolean(),
  error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
  incomplete_details: z.looseObject({ reason: z.string() }).nullable(),
  instructions: z.string().nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  metadata: z.record(z.string(), z.string()),
  model: z.string(),
  output: z.array(outputItemSchema),
  parallel_tool_calls: z.boolean(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  previous_response_id: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
  reasoning: z.looseObject({ effort: z.string().nullable(), summary: z.string().nullable() }).nullable(),
  safety_identifier: z.string().nullable(),
  service_tier: z.string(),
  store: z.boolean(),
  temperature: z.number(),
  text: z.looseObject({ format: z.looseObject({ type: z.string() }) }),
  tool_choice: z.unknown(),
  tools: z.array(z.looseObject({ type: z.string() })),
  top_logprobs: z.int(),
  top_p: z.number(),
  truncation: z.enum(['auto', 'disabled']),
  usage: usageSchema.nullable(),
});

/**
 * What a client still owes: one stub per unanswered call, in call order. `call_id` names the call in all of them; an
 * approval names it as `approval_request_id` too.
 */
export const requiredInputSchema = z.looseObject({
  type: z.string(),
  call_id: id,
  name: z.string().optional(),
  approval_request_id: id.optional(),
  execution: z.literal('client').optional(),
});

/** A message that waits to enter a response. */
const steerSchema = z.looseObject({ id, previous_response_id: id });

const responseEvent = <Type extends string>(type: Type) =>
  z.looseObject({ type: z.literal(type), sequence_number: number, response: responseObjectSchema });
const itemEvent = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.looseObject({ type: z.literal(type), sequence_number: number, output_index: index, ...shape });
const partOf = { item_id: id, content_index: index };
const summaryOf = { item_id: id, summary_index: index };
const summaryPart = z.looseObject({ type: z.literal('summary_text'), text: z.string() });

export const serverEventSchema = z.discriminatedUnion('type', [
  responseEvent('response.created'),
  responseEvent('response.in_progress'),
  responseEvent('response.completed'),
  responseEvent('response.failed'),
  responseEvent('response.incomplete'),
  itemEvent('response.output_item.added', { item: outputItemSchema }),
  itemEvent('response.output_item.done', { item: outputItemSchema }),
  itemEvent('response.content_part.added', { ...partOf, part: contentPartSchema }),
  itemEvent('response.content_part.done', { ...partOf, part: contentPartSchema }),
  itemEvent('response.output_text.delta', { ...partOf, delta: z.string(), logprobs: z.array(z.unknown()) }),
  itemEvent('response.output_text.done', { ...partOf, text: z.string(), logprobs: z.array(z.unknown()) }),
  itemEvent('response.output_text.annotation.added', {
    ...partOf,
    annotation_index: index,
    annotation: annotationSchema,
  }),
  itemEvent('response.refusal.delta', { ...partOf, delta: z.string() }),
  itemEvent('response.refusal.done', { ...partOf, refusal: z.string() }),
  itemEvent('response.reasoning_text.delta', { ...partOf, delta: z.string() }),
  itemEvent('response.reasoning_text.done', { ...partOf, text: z.string() }),
  itemEvent('response.function_call_arguments.delta', { item_id: id, delta: z.string() }),
  itemEvent('response.function_call_arguments.done', { item_id: id, arguments: z.string() }),
  itemEvent('response.custom_tool_call_input.delta', { item_id: id, delta: z.string() }),
  itemEvent('response.custom_tool_call_input.done', { item_id: id, input: z.string() }),
  itemEvent('response.reasoning_summary_part.added', { ...summaryOf, part: summaryPart }),
  itemEvent('response.reasoning_summary_part.done', { ...summaryOf, part: summaryPart }),
  itemEvent('response.reasoning_summary_text.delta', { ...summaryOf, delta: z.string() }),
  itemEvent('response.reasoning_summary_text.done', { ...summaryOf, text: z.string() }),
  z.looseObject({
    type: z.literal('response.done'),
    sequence_number: number,
    response_id: id,
    turn: z.int().min(0),
    output: z.array(outputItemSchema),
    required_input: z.array(requiredInputSchema),
    usage: usageSchema,
    interrupted: z.literal(true).optional(),
  }),
  z.looseObject({
    type: z.literal('response.append.accepted'),
    sequence_number: number,
    response_id: id,
    turn: z.int().min(0),
    call_ids: z.array(z.string()),
    messages: z.int().min(0),
    required_input: z.array(requiredInputSchema),
  }),
  z.looseObject({
    type: z.literal('response.append.failed'),
    sequence_number: number,
    response_id: z.string(),
    event_id: z.string().optional(),
    input: z.unknown(),
    error: errorBodySchema,
  }),
  z.looseObject({
    type: z.literal('response.attached'),
    sequence_number: number,
    response_id: id,
    event_id: z.string().optional(),
    response: responseObjectSchema,
    required_input: z.array(requiredInputSchema),
  }),
  z.looseObject({ type: z.literal('response.steer.accepted'), sequence_number: number, steer: steerSchema }),
  z.looseObject({
    type: z.literal('response.steer.pending'),
    sequence_number: number,
    steer: steerSchema,
    reason: z.literal('waiting_for_required_input'),
    required_input: z.array(requiredInputSchema),
  }),
  z.looseObject({
    type: z.literal('response.steer.failed'),
    sequence_number: number,
    event_id: z.string().optional(),
    steer: z.looseObject({ id: id.optional(), previous_response_id: z.string(), input: z.unknown() }),
    error: z.looseObject({ type: z.string(), code: id, message: z.string() }),
  }),
  z.looseObject({ type: z.literal('response.inject.created'), sequence_number: number, response_id: id }),
  z.looseObject({
    type: z.literal('response.inject.failed'),
    sequence_number: number,
    event_id: z.string().optional(),
    response_id: z.string(),
    input: z.unknown(),
    error: z.looseObject({ code: id, message: z.string() }),
  }),
  z.looseObject({
    type: z.literal('error'),
    status: z.int(),
    sequence_number: number,
    event_id: z.string().optional(),
    response_id: z.string().optional(),
    error: errorBodySchema,
  }),
]);

export type ServerEvent = z.output<typeof serverEventSchema>;
export type ResponseObject = z.output<typeof responseObjectSchema>;
export type OutputItem = z.output<typeof outputItemSchema>;
export type Usage = z.output<typeof usageSchema>;
export type RequiredInput = z.output<typeof requiredInputSchema>;

/** For a peer that trusts its server: only that it is an event at all is checked, which costs next to nothing. */
export const trustedServerEventSchema = z.custom<ServerEvent>(
  (value) => typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string',
  'expected an object with a string type',
);
