/**
 * What clients may send on a socket. Unknown fields are an error in append, cancel, attach, steer and inject; in create
 * they are the engine's affair.
 */
import { z } from 'zod';

import { ProtocolError, type Item } from '../engine/index.js';
import { answeredCallId } from '../engine/calls.js';
import { dispatched, typeOf } from '../engine/protocol/dispatch.js';
import { isOpaque, itemSchema } from '../engine/protocol/items.js';
import { isRecord, parse } from '../engine/protocol/parse.js';

const eventIdSchema = z.string().min(1).max(256).optional();
const responseId = z.string().min(1);

const schemas = {
  'response.create': z.looseObject({
    type: z.literal('response.create'),
    event_id: eventIdSchema,
    stream_id: z.unknown().optional(),
  }),
  'response.append': z.strictObject({
    type: z.literal('response.append'),
    event_id: eventIdSchema,
    response_id: responseId,
    input: z.unknown(),
    interrupt: z.boolean().optional(),
  }),
  'response.cancel': z.strictObject({
    type: z.literal('response.cancel'),
    event_id: eventIdSchema,
    response_id: responseId,
  }),
  'response.attach': z.strictObject({
    type: z.literal('response.attach'),
    event_id: eventIdSchema,
    response_id: responseId,
    starting_after: z.int().min(-1).optional(),
  }),
  /** Each has errors of its own, so that it is read where it is answered: `readSteer`, `readInject`. */
  'response.steer': z.looseObject({
    type: z.literal('response.steer'),
    event_id: eventIdSchema.catch(undefined),
  }),
  'response.inject': z.looseObject({
    type: z.literal('response.inject'),
    event_id: eventIdSchema.catch(undefined),
  }),
  /** Sent by some clients after a terminal event; it asks for nothing. */
  'response.processed': z.looseObject({ type: z.literal('response.processed') }),
} as const;

type Schemas = typeof schemas;
export type ClientEventType = keyof Schemas;
export type ClientEvent = { [Type in ClientEventType]: z.output<Schemas[Type]> }[ClientEventType];
export type CreateEvent = z.output<Schemas['response.create']>;
export type SteerEvent = z.output<Schemas['response.steer']>;
export type InjectEvent = z.output<Schemas['response.inject']>;

/** Items that are checked and left as they came, for an answer that gives them back. */
function itemsThat(fit: (item: Item) => boolean, expected: string) {
  return z
    .array(z.unknown(), { error: `expected an array of ${expected}s` })
    .min(1, `expected at least one ${expected}`)
    .superRefine((items, context) => {
      items.forEach((raw, index) => {
        const read = itemSchema.safeParse(raw);
        if (read.success && fit(read.data)) return;
        const { path = [], message = `expected a ${expected}` } = read.error?.issues[0] ?? {};
        context.addIssue({ code: 'custom', path: [index, ...path], message });
      });
    });
}

function isUserMessage(item: Item): boolean {
  if (isOpaque(item) || item.type !== 'message' || item.role !== 'user') return false;
  return typeof item.content === 'string' || item.content.every(({ type }) => type.startsWith('input_'));
}

const userMessages = itemsThat(isUserMessage, 'user message');
const userText = z.string().min(1, 'expected a text or user messages');

const steerSchema = z.strictObject({
  type: z.literal('response.steer'),
  event_id: eventIdSchema,
  previous_response_id: responseId,
  input: dispatched<string | unknown[]>((raw) => (typeof raw === 'string' ? userText : userMessages)),
});

const injectSchema = z.strictObject({
  type: z.literal('response.inject'),
  event_id: eventIdSchema,
  response_id: responseId,
  input: itemsThat((item) => answeredCallId(item) !== null, 'tool output'),
});

/** @throws ProtocolError `invalid_input`, whatever is wrong with it. */
export function readSteer(event: SteerEvent): z.output<typeof steerSchema> {
  try {
    return parse(steerSchema, event);
  } catch (fault) {
    if (!(fault instanceof ProtocolError)) throw fault;
    throw new ProtocolError('invalid_input', fault.message, { cause: fault });
  }
}

/** @throws ProtocolError that names the field at fault. */
export function readInject(event: InjectEvent): z.output<typeof injectSchema> {
  return parse(injectSchema, event);
}

function isClientEventType(type: string): type is ClientEventType {
  return Object.hasOwn(schemas, type);
}

/** Whether arrays and objects nest deeper than `depthMax` levels, found without recursion. */
function tooDeep(value: object, depthMax: number): boolean {
  let level: object[] = [value];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > depthMax) return true;
    const inner: object[] = [];
    for (const one of level)
      for (const member of Object.values(one))
        if (typeof member === 'object' && member !== null) inner.push(member);
    level = inner;
  }
  return false;
}

/** A frame that was refused, with the event_id it carried if that much could be read. */
export class RefusedFrame extends Error {
  readonly refusal: ProtocolError;
  readonly eventId: string | undefined;

  constructor(refusal: ProtocolError, eventId?: string) {
    super(refusal.message);
    this.refusal = refusal;
    this.eventId = eventId;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ProtocolError('invalid_json', 'This is not valid JSON.');
  }
}

/**
 * The object in a frame or a body.
 * @throws ProtocolError, in the same words for both.
 */
export function parseObject(text: string, depthMax: number): Readonly<Record<string, unknown>> {
  const value = parseJson(text);
  if (!isRecord(value)) throw new ProtocolError('invalid_frame', 'Expected one JSON object.');
  if (tooDeep(value, depthMax))
    throw new ProtocolError('invalid_json', `The JSON nests deeper than ${depthMax} levels.`);
  return value;
}

/** The fields of an append that is a request of its own. */
export const appendBodySchema = schemas['response.append'].omit({ type: true, response_id: true });

const wholeNumber = z
  .string()
  .regex(/^-?\d{1,15}$/, 'expected a whole number')
  .transform(Number);

const querySchema = z.object({
  stream: z
    .enum(['true', 'false'])
    .default('false')
    .transform((word) => word === 'true'),
  starting_after: wholeNumber.pipe(z.number().min(-1)).optional(),
  order: z.enum(['asc', 'desc']).default('desc'),
  after: z.string().optional(),
  limit: wholeNumber.pipe(z.number().min(1).max(100)).default(20),
});

/** Which part of a list is asked for. */
export type ItemQuery = Pick<z.output<typeof querySchema>, 'order' | 'after' | 'limit'>;

/** What the query of a read says. @throws ProtocolError naming the field at fault. */
export function readQuery(query: URLSearchParams): z.output<typeof querySchema> {
  return parse(querySchema, Object.fromEntries(query));
}

/** What is read of a frame that is refused. */
const refusedSchema = z.object({ event_id: z.string().optional().catch(undefined) });

function refusedFrame(refusal: ProtocolError, value: object): RefusedFrame {
  return new RefusedFrame(refusal, refusedSchema.parse(value).event_id);
}

/**
 * A text frame as a client event.
 * @throws RefusedFrame whose error names the field at fault.
 */
export function parseFrame(text: string, depthMax: number): ClientEvent {
  const value = parseObject(text, depthMax);
  const type = typeOf(value);
  if (typeof type !== 'string')
    throw refusedFrame(
      new ProtocolError('invalid_frame', 'The frame has no string "type".', { param: 'type' }),
      value,
    );
  if (!isClientEventType(type))
    throw refusedFrame(
      new ProtocolError('unknown_event_type', `Unknown event type "${type.slice(0, 64)}".`, {
        param: 'type',
      }),
      value,
    );
  try {
    const schema: z.ZodType<ClientEvent> = schemas[type];
    return parse(schema, value);
  } catch (fault) {
    throw fault instanceof ProtocolError ? refusedFrame(fault, value) : fault;
  }
}
