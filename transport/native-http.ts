/**
 * The append design over HTTP: one stream, held open for the whole rollout, and a request for each append. Whoever has
 * the key may append, unless a socket holds the Response.
 */
import { ProtocolError, type LiveResponse } from '../engine/index.js';
import { parse } from '../engine/protocol/parse.js';
import { appendBodySchema } from './client-events.js';
import type { CreateFields } from './continuity.js';
import {
  admitNative,
  appendedTo,
  lostError,
  placeOf,
  requireKnown,
  requirePlace,
  supersededError,
} from './native.js';
import type { Design } from './designs.js';
import type { Holder } from './holders.js';
import type { Host } from './host.js';
import { json } from './http-answer.js';
import { SseStream, type Streams } from './sse.js';
import type { Answer, Exchange, StreamAnswer } from './socket.js';
import { NativeView } from './view.js';

/** A stream that holds a Response. */
class StreamHold implements Holder {
  readonly #stream: SseStream;
  readonly response: LiveResponse;

  constructor({ host, exchange, streams }: NativeParts, response: LiveResponse, startingAfter: number) {
    this.response = response;
    this.#stream = new SseStream({
      host,
      streams,
      gone: exchange.gone,
      view: new NativeView(response, startingAfter),
      onEnd: () => undefined,
      onLeft: () => host.holders.leave(response, this),
    });
  }

  get stream(): SseStream {
    return this.#stream;
  }

  superseded(response: LiveResponse): void {
    this.#stream.refuse(supersededError(response.id), placeOf(response));
  }

  lost(response: LiveResponse): void {
    this.#stream.refuse(lostError(response.id), placeOf(response));
  }
}

export interface NativeParts {
  readonly host: Host;
  readonly exchange: Exchange;
  readonly credential: string;
  readonly streams: Streams;
}

/** `POST /v1/responses` of the append design. */
export async function createNative(
  parts: NativeParts,
  design: Design,
  create: CreateFields,
): Promise<StreamAnswer> {
  if (create['stream'] !== true)
    throw new ProtocolError('invalid_value', 'A create of the append design is a stream: send stream:true.', {
      param: 'stream',
    });
  return hold(parts, await admittedOnce(parts, design, create), -1);
}

const eventIdSchema = appendBodySchema.pick({ event_id: true });

/** A create that is sent again under its `event_id` is the Response that it made. */
async function admittedOnce(
  { host, credential }: NativeParts,
  design: Design,
  create: CreateFields,
): Promise<LiveResponse> {
  const { event_id: eventId } = parse(eventIdSchema, { event_id: create['event_id'] });
  const known = host.creates.find(credential, eventId);
  if (known !== null) return requireKnown({ host, credential }, await known);
  const made = admitNative({ host, credential, design }, create, 'http');
  host.creates.remember(credential, eventId, made);
  return made;
}

/** Streams a Response of the append design from after that number, and holds it unless a socket does. */
export function hold(parts: NativeParts, response: LiveResponse, startingAfter: number): StreamAnswer {
  const { host } = parts;
  requirePlace(response, startingAfter);
  const held = new StreamHold(parts, response, startingAfter);
  if (!heldBySocket(host, response)) host.holders.take(response, held);
  return held.stream.begin();
}

function heldBySocket(host: Host, response: LiveResponse): boolean {
  const holder = host.holders.holderOf(response);
  return holder !== null && !(holder instanceof StreamHold);
}

/** `POST /v1/responses/{id}/append` */
export async function appendNative(
  { host, credential }: NativeParts,
  id: string,
  body: Readonly<Record<string, unknown>>,
): Promise<Answer> {
  const response = requireNative({ host, credential }, id);
  return json(200, await appendedTo(response, body));
}

/** @throws ProtocolError as `requireKnown`, and for one that a socket holds. */
export function requireNative(caller: Pick<NativeParts, 'host' | 'credential'>, id: string): LiveResponse {
  const { host } = caller;
  const response = requireKnown(caller, id);
  if (response.settlement === null && heldBySocket(host, response))
    throw new ProtocolError(
      'not_attached',
      `A socket holds response ${id}; append and cancel there, or attach to it on a socket.`,
      { param: 'response_id' },
    );
  return response;
}
