/**
 * What the importers read of each format: the fields they need, and nothing said about the others. The one place of zod
 * in this folder.
 */
import { z } from 'zod';

import type { TraceDocument, TraceRecord } from './document.js';

const tokens = z.int().min(0);
const milliseconds = z.number().min(0);

/** The text of a message: whole, or in blocks of which some have text. */
const textSchema = z
  .union([z.string(), z.null(), z.array(z.looseObject({ text: z.string().optional() }))], {
    error: 'expected text, null, or an array of blocks with text',
  })
  .transform((content) =>
    Array.isArray(content) ? content.flatMap(({ text }) => text ?? []).join('\n') : (content ?? ''),
  );

// Messages as the Chat Completions API has them; SWE-agent adds fields of its own.

const messageSchema = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: textSchema.optional().transform((content) => content ?? ''),
  tool_calls: z
    .array(
      z.looseObject({
        id: z.string().nullish(),
        function: z.looseObject({ name: z.string(), arguments: z.string() }),
      }),
    )
    .nullish(),
  tool_call_id: z.string().nullish(),
});

/** One conversation. `task_id` and `id` name it. */
const conversationSchema = z
  .looseObject({
    messages: z.array(messageSchema).min(1).optional(),
    traj: z.array(messageSchema).min(1).optional(),
    id: z.union([z.string(), z.number()]).nullish(),
    task_id: z.union([z.string(), z.number()]).nullish(),
    trial: z.number().nullish(),
  })
  .superRefine(({ messages, traj }, context) => {
    if ((messages ?? traj) === undefined)
      context.addIssue({ code: 'custom', path: ['messages'], message: 'expected an array of messages' });
  });

export const messagesSchema = z.array(messageSchema).min(1);
export const conversationsSchema = z.array(conversationSchema).min(1);
export { conversationSchema };
export type Message = z.output<typeof messageSchema>;
export type ConversationRecord = z.output<typeof conversationSchema>;

const historySchema = messageSchema.extend({
  thought: z.string().nullish(),
  action: z.string().nullish(),
  is_demo: z.boolean().nullish(),
  tool_call_ids: z.array(z.string()).nullish(),
});

export const sweAgentSchema = z.looseObject({
  history: z.array(historySchema).min(1),
  trajectory: z.array(z.looseObject({ execution_time: z.number().min(0).nullish() })).nullish(),
  environment: z.string().nullish(),
});
export type HistoryMessage = z.output<typeof historySchema>;

// Codex rollouts: a record a line, of which few kinds matter.

const durationSchema = z.looseObject({ secs: z.number().min(0), nanos: z.number().min(0) });

export const codexRecordSchema = z.looseObject({
  type: z.string(),
  timestamp: z.string().optional(),
  payload: z.looseObject({ type: z.string().optional() }),
});

export const codexMetaSchema = z.looseObject({
  id: z.string().min(1),
  base_instructions: z.looseObject({ text: z.string() }).nullish(),
  instructions: z.string().nullish(),
});

export const codexUsageSchema = z.looseObject({
  usage: z.looseObject({ output_tokens: tokens, reasoning_output_tokens: tokens.optional() }),
});

export const codexTokenCountSchema = z.looseObject({
  info: z
    .looseObject({
      last_token_usage: z.looseObject({ reasoning_output_tokens: tokens.optional() }).nullish(),
    })
    .nullish(),
});

export const codexItemSchemas = {
  message: z.looseObject({ role: z.string(), content: textSchema }),
  reasoning: z.looseObject({}),
  function_call: z.looseObject({ call_id: z.string(), name: z.string(), arguments: z.string() }),
  custom_tool_call: z.looseObject({ call_id: z.string(), name: z.string(), input: z.string() }),
  local_shell_call: z.looseObject({ call_id: z.string().nullish(), action: z.unknown() }),
  output: z.looseObject({
    call_id: z.string(),
    output: z.union(
      [textSchema, z.looseObject({ content: textSchema }).transform(({ content }) => content)],
      {
        error: 'expected text, or an array of blocks with text',
      },
    ),
  }),
} as const;

/** How long a tool ran, in the two ways that versions of Codex record it. */
export const codexEndSchema = z.looseObject({
  call_id: z.string().nullish(),
  duration: durationSchema.nullish(),
  item: z.looseObject({ id: z.string().nullish(), duration: durationSchema.nullish() }).nullish(),
});
export type Duration = z.output<typeof durationSchema>;

// kv-cache-tester: token counts of the requests of one session.

const requestSchema = z.looseObject({
  type: z.enum(['n', 's']),
  in: tokens,
  out: tokens,
  input_types: z.array(z.string()).optional(),
  stop: z.string().nullish(),
  /** Seconds before the request. */
  think_time: z.number().min(0).nullish(),
  /** Seconds from the request to its end and, of one that streams, to its first token. */
  api_time: z.number().min(0).nullish(),
  ttft: z.number().min(0).nullish(),
});

const subagentSchema = z.looseObject({
  type: z.literal('subagent'),
  get requests() {
    return z.array(entrySchema);
  },
});

const entrySchema = z.discriminatedUnion('type', [requestSchema, subagentSchema]);

export const kvCacheSchema = z.looseObject({
  id: z.string().min(1),
  tool_tokens: tokens.optional(),
  system_tokens: tokens.optional(),
  requests: z.array(entrySchema).min(1),
});
export type KvCacheRequest = z.output<typeof requestSchema>;
export type KvCacheEntry = z.output<typeof entrySchema>;

// TraceLab: one model call a line.

export const roundSchema = z.looseObject({
  session_id: z.string().min(1),
  round_index: z.int().min(0),
  input_tokens_total: tokens,
  output_tokens: tokens,
  current_user_message_count: z.int().min(0).nullish(),
  first_input_event_type: z.string().nullish(),
  tools: z
    .array(
      z.looseObject({
        tool_name: z.string().nullish(),
        input_chars: z.number().min(0).nullish(),
        result_chars: z.number().min(0).nullish(),
        tool_wall_latency_ms: milliseconds.nullish(),
      }),
    )
    .nullish(),
});
export type Round = z.output<typeof roundSchema>;

// Recordings of this server: a turn a line, under a header that says which version it is.

const recordedAnswerSchema = z.looseObject({
  kind: z.enum(['message', 'output']),
  tokens,
  call_id: z.string().min(1).optional(),
  at_ms: milliseconds.optional(),
  text: z.string().optional(),
});

const recordedItemSchema = z.looseObject({
  kind: z.enum(['message', 'reasoning', 'call', 'other']),
  tokens,
  call_id: z.string().min(1).optional(),
  text: z.string().optional(),
});

export const recordedHeaderSchema = z.looseObject({
  format: z.literal('long-response-recording'),
  version: z.literal(1),
});

export const recordedTurnSchema = z.looseObject({
  type: z.literal('turn'),
  response_id: z.string().min(1),
  turn: z.int().min(1),
  continues: z.string().min(1).nullable(),
  instructions_tokens: tokens,
  tools_count: z.int().min(0),
  tools_bytes: z.int().min(0),
  tools_tokens: tokens,
  history_items: z.int().min(0),
  history_tokens: tokens,
  compacted: z.literal(true).optional(),
  input: z.array(recordedAnswerSchema),
  output: z.array(recordedItemSchema),
  reasoning_tokens: tokens,
  started_at_ms: milliseconds,
  handed_off_at_ms: milliseconds,
  first_token_ms: milliseconds.nullish(),
  decode_tokens_per_second: z.number().min(0).nullish(),
  ended_at_ms: milliseconds.nullish(),
  end: z.enum(['done', 'cut', 'failed']),
});
export type RecordedTurn = z.output<typeof recordedTurnSchema>;
export type RecordedAnswer = z.output<typeof recordedAnswerSchema>;
export type RecordedItem = z.output<typeof recordedItemSchema>;

/**
 * A value of the file, by its schema.
 *
 * @throws TraceError that names the line and the first field at fault. `base` is the path of `value` in its record.
 */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  document: TraceDocument,
  { line, value }: TraceRecord,
  base: readonly PropertyKey[] = [],
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const message = (issue?.message ?? 'not as expected').replace(/^Invalid input: /, '');
  throw document.fault(line, [...base, ...(issue?.path ?? [])], message);
}
