/** `POST /v1/responses`: a create over HTTP, answered as JSON or as a stream. */
import { deferred, ProtocolError } from '../engine/index.js';
import type { Continuity, CreateFields, Showing } from './continuity.js';
import type { Host } from './host.js';
import { json } from './http-answer.js';
import { SseStream, type Streams } from './sse.js';
import type { Answer, Exchange, StreamAnswer } from './socket.js';
import type { WindowView } from './view.js';

/**
 * Waits until a window has been shown to its end, or the client has gone. Entries are read as they come, inside the wake
 * of the log, so that none is dropped before it is read, however much comes at once.
 */
export function shown({ response, first, window }: WindowView, gone: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = deferred<void>();
  let next = first;
  let leave = (): void => undefined;
  const end = (): void => {
    gone.removeEventListener('abort', end);
    leave();
    resolve();
  };
  const look = (): void => {
    try {
      for (const entry of response.entries(next)) {
        next++;
        if ('output_index' in entry) window.place(entry);
        else window.project(entry);
        if (window.over) return end();
      }
      leave = response.whenBeyond(next, look);
    } catch (fault) {
      reject(fault);
      end();
    }
  };
  if (gone.aborted) return Promise.resolve();
  gone.addEventListener('abort', end);
  look();
  return promise;
}

/** A response that failed is an error of the request: whoever waits for one answer gets it as such. */
function answerFor({ turn, view }: Showing): Answer {
  const outcome = view.response.settlement?.outcome;
  if (turn.snapshot.status === 'failed' && outcome?.status === 'failed')
    throw new ProtocolError(outcome.code, outcome.message);
  return json(200, turn.snapshot);
}

export interface CreateParts {
  readonly host: Host;
  readonly exchange: Exchange;
  readonly credential: string;
  readonly streams: Streams;
  readonly continuity: Continuity;
}

/** A create of a per-turn design. */
export async function answerTurn(parts: CreateParts, create: CreateFields): Promise<Answer | StreamAnswer> {
  const { host, exchange, credential, continuity } = parts;
  // A lane is a matter of sockets (P35).
  const { stream_id: _, ...fields } = create;
  let showing: Showing;
  try {
    showing = await continuity.begin(host.turns.items.resolve(credential, fields), null);
  } catch (fault) {
    continuity.refused(fields, null);
    throw fault;
  } finally {
    if (exchange.gone.aborted) continuity.closed(false);
  }
  if (create['stream'] === true) return streamTurn(parts, fields, showing);
  try {
    await shown(showing.view, exchange.gone);
  } finally {
    if (showing.view.over) continuity.ended(fields, showing);
    else continuity.left(showing);
    continuity.closed(false);
  }
  return answerFor(showing);
}

function streamTurn(
  { host, exchange, streams, continuity }: CreateParts,
  fields: CreateFields,
  { turn, view }: Showing,
): StreamAnswer {
  const { unixSeconds } = host;
  const showing = { turn, view: turn.view(view.response, { unixSeconds, faultFirst: true }) };
  const stream = new SseStream({
    host,
    streams,
    gone: exchange.gone,
    view: showing.view,
    onEnd: () => {
      continuity.ended(fields, showing);
      continuity.closed(false);
    },
    onLeft: () => {
      continuity.left(showing);
      continuity.closed(false);
    },
  });
  return stream.begin();
}
