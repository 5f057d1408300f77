/** What is read, ended and forgotten by id over HTTP: responses of the per-turn designs and of the append design alike. */
import {
  ProtocolError,
  VirtualResponse,
  type Item,
  type LiveResponse,
  type ResponseObject,
} from '../engine/index.js';
import { isOpaque } from '../engine/protocol/items.js';
import { readQuery, type ItemQuery } from './client-events.js';
import type { Design } from './designs.js';
import { json } from './http-answer.js';
import { shown } from './http-create.js';
import { endedError, requireKnown } from './native.js';
import { hold, requireNative, type NativeParts } from './native-http.js';
import { SseStream } from './sse.js';
import type { Answer, StreamAnswer } from './socket.js';
import type { TurnResponse } from './turn-response.js';
import { WindowView } from './view.js';

/** A response by id: a rollout that is one Response, or a turn that is one. */
type Found = { readonly turn: TurnResponse } | { readonly response: LiveResponse };

function find({ host, credential }: NativeParts, id: string): Found {
  const turn = host.turns.get(id, credential);
  if (turn !== null) return { turn };
  return { response: requireKnown({ host, credential }, id) };
}

function snapshotOf(found: Found): ResponseObject {
  return 'turn' in found ? found.turn.snapshot : found.response.snapshot();
}

/** `GET /v1/responses/{id}`, also as a stream. */
export function readResponse(parts: NativeParts, id: string, design: Design): Answer | StreamAnswer {
  const found = find(parts, id);
  const { stream, starting_after: after = -1 } = readQuery(parts.exchange.query);
  // A stream without a body would take the Response from whoever holds it.
  if (!stream || parts.exchange.method === 'HEAD') return json(200, snapshotOf(found));
  if ('response' in found && design.dialect === 'append') return hold(parts, found.response, after);
  return readAsStandard(parts, found, after);
}

/** A stream in the standard shape: one response, numbered by itself. */
function readAsStandard(parts: NativeParts, found: Found, after: number): Answer | StreamAnswer {
  const { host, credential, streams, exchange } = parts;
  const rollout = 'response' in found ? found.response : host.engine.get(found.turn.rolloutId, credential);
  if (rollout === null)
    throw new ProtocolError(
      'replay_expired',
      'The events of this response are no longer kept; read its state.',
      {
        param: 'stream',
      },
    );
  // One that has ended did so at its own time, whenever it is read.
  const unixSeconds = (): number => snapshotOf(found).completed_at ?? host.unixSeconds();
  const view =
    'turn' in found
      ? found.turn.view(rollout, { unixSeconds, after, faultFirst: true })
      : wholeView(rollout, after, unixSeconds);
  rollout.entries(view.first, 0); // Refuses where its first events are no longer kept.
  const nothing = (): void => undefined;
  return new SseStream({ host, streams, gone: exchange.gone, view, onEnd: nothing, onLeft: nothing }).begin();
}

/** A rollout of many turns as one standard response. */
function wholeView(rollout: LiveResponse, after: number, unixSeconds: () => number): WindowView {
  const window = new VirtualResponse(rollout.created, { outputItems: 0, throughout: true, unixSeconds });
  return new WindowView(rollout, 2, window, { lane: null, after, faultFirst: true });
}

/** `POST /v1/responses/{id}/cancel`: answers when the response has ended. */
export async function cancelResponse(parts: NativeParts, id: string): Promise<Answer> {
  const found = find(parts, id);
  if ('turn' in found) return json(200, await cancelTurn(parts, found.turn));
  const response = requireNative(parts, id);
  if (response.settlement !== null) throw endedError(id);
  response.cancel();
  await response.settled;
  return json(200, response.snapshot());
}

async function cancelTurn({ host, credential, exchange }: NativeParts, turn: TurnResponse) {
  const running = turn.snapshot.status === 'in_progress' ? host.engine.get(turn.rolloutId, credential) : null;
  if (running === null || running.settlement !== null) throw endedError(turn.id);
  const view = turn.view(running, { unixSeconds: host.unixSeconds });
  running.cancel();
  await shown(view, exchange.gone);
  await running.settled;
  return view.window.snapshot;
}

/** `DELETE /v1/responses/{id}`: what runs has to be cancelled first. */
export async function deleteResponse(parts: NativeParts, id: string): Promise<Answer> {
  const found = find(parts, id);
  const { host, credential } = parts;
  if (snapshotOf(found).status === 'in_progress')
    throw new ProtocolError('response_not_completed', `Response ${id} still runs; cancel it first.`, {
      param: 'response_id',
    });
  if ('response' in found) await host.engine.forget(id, credential);
  else {
    host.turns.remove(found.turn);
    await forgetRollout(parts, found.turn);
  }
  return json(200, { id, object: 'response', deleted: true });
}

/** A rollout goes with the newest of its responses; the earlier ones share it. */
async function forgetRollout(
  { host, credential }: NativeParts,
  { rolloutId, turn }: TurnResponse,
): Promise<void> {
  const rollout = host.engine.get(rolloutId, credential);
  if (turn !== null && turn !== rollout?.handOffs.at(-1)?.turn) return;
  if (rollout?.settlement === null) {
    if (!rollout.suspended) return; // A later response of it runs.
    rollout.cancel();
    await rollout.settled;
  }
  await host.engine.forget(rolloutId, credential);
}

/** `GET /v1/responses/{id}/input_items`: what the response's own create, or its appends, brought. */
export function inputItems(parts: NativeParts, id: string): Answer {
  const found = find(parts, id);
  const items = 'turn' in found ? found.turn.inputItems : found.response.inputItems;
  const listed = items.map((item, index) => ({
    ...asListed(item),
    id: idOf(item) ?? `${id}_input_${index}`,
  }));
  return json(200, page(listed, readQuery(parts.exchange.query)));
}

/** An item as it stands in a list: the text of a message is a part. */
function asListed(item: Item): object {
  if (isOpaque(item)) {
    const { opaque: _, ...fields } = item;
    return fields;
  }
  if (item.type !== 'message' || typeof item.content !== 'string') return item;
  return { ...item, content: [{ type: 'input_text', text: item.content }] };
}

function idOf(item: object): string | null {
  return 'id' in item && typeof item.id === 'string' ? item.id : null;
}

function page(items: readonly { readonly id: string }[], { order, after, limit }: ItemQuery): object {
  const ordered = order === 'asc' ? items : items.toReversed();
  const start = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0)
    throw new ProtocolError('item_not_found', `No item "${after.slice(0, 128)}" is in this list.`, {
      param: 'after',
    });
  const data = ordered.slice(start, start + limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + limit < ordered.length,
  };
}
