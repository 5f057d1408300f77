/** What clients may send on a socket. Unknown fields are an error in append, cancel and attach; in create they are the engine's affair. */
import { z } from 'zod';

import { ProtocolError } from '../engine/index.js';
import { parse } from '../engine/protocol/parse.js';

const eventIdSchema = z.string().min(1).max(256).optional();
const responseId = z.string().min(1);

const schemas = {
  'response.create': z.looseObject({ type: z.literal('response.create'), event_id: eventIdSchema }),
  'response.append': z.strictObject({
    type: z.literal('response.append'),
    event_id: eventIdSchema,
    response_id: responseId,
    input: z.unknown(),
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
  /** Sent by some clients after a terminal event; it asks for nothing. */
  'response.processed': z.looseObject({ type: z.literal('response.processed') }),
} as const;

type Schemas = typeof schemas;
export type ClientEventType = keyof Schemas;
export type ClientEvent = { [Type in ClientEventType]: z.output<Schemas[Type]> }[ClientEventType];
export type CreateEvent = z.output<Schemas['response.create']>;

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
    throw new RefusedFrame(new ProtocolError('invalid_json', 'The frame is not valid JSON.'));
  }
}

/** What is read of a frame before its type is known; neither is refused here. */
const envelopeSchema = z.looseObject({
  type: z.string().optional().catch(undefined),
  event_id: z.string().optional().catch(undefined),
});

/**
 * A text frame as a client event.
 * @throws RefusedFrame whose error names the field at fault.
 */
export function parseFrame(text: string, depthMax: number): ClientEvent {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new RefusedFrame(
      new ProtocolError('invalid_frame', 'A frame is one JSON object with a string "type".'),
    );
  if (tooDeep(value, depthMax))
    throw new RefusedFrame(
      new ProtocolError(
        'invalid_json',
        `The frame nests deeper than ${depthMax} levels of arrays and objects.`,
      ),
    );
  const { type, event_id: id } = envelopeSchema.parse(value);
  if (type === undefined)
    throw new RefusedFrame(
      new ProtocolError('invalid_frame', 'The frame has no string "type".', { param: 'type' }),
      id,
    );
  if (!isClientEventType(type))
    throw new RefusedFrame(
      new ProtocolError('unknown_event_type', `Unknown event type "${type.slice(0, 64)}".`, {
        param: 'type',
      }),
      id,
    );
  try {
    const schema: z.ZodType<ClientEvent> = schemas[type];
    return parse(schema, value);
  } catch (fault) {
    throw fault instanceof ProtocolError ? new RefusedFrame(fault, id) : fault;
  }
}
