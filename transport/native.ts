/** What the append design does the same on a socket and over HTTP. */
import { ProtocolError, type AppendAccepted, type LiveResponse } from '../engine/index.js';
import { parse } from '../engine/protocol/parse.js';
import { appendBodySchema } from './client-events.js';
import { keptOf, previousId } from './continuation.js';
import type { ContinuityParts, CreateFields } from './continuity.js';
import type { Transport } from './designs.js';

/** @throws ProtocolError where the create is refused. */
export async function admitNative(
  { host, credential, design }: Omit<ContinuityParts, 'connection'>,
  create: CreateFields,
  transport: Transport,
): Promise<LiveResponse> {
  host.requireOpen();
  const response = await host.engine.create(host.turns.items.resolve(credential, create), {
    credential,
    kept: await keptOf({ host, credential }, previousId(create['previous_response_id'])),
    ...host.termsFor(design, transport),
  });
  host.served(response, design);
  return response;
}

/** An append whose fields came without an event around them. @throws ProtocolError where it is refused. */
export function appendedTo(
  response: LiveResponse,
  body: Readonly<Record<string, unknown>>,
): Promise<AppendAccepted> {
  const { input, interrupt = false } = parse(appendBodySchema, body);
  return response.append(input, { interrupt });
}

type Caller = Pick<ContinuityParts, 'host' | 'credential'>;

/**
 * @throws ProtocolError for an unknown one, another caller's, a per-turn one, and one that is still being admitted: it has
 * no log yet.
 */
export function requireKnown({ host, credential }: Caller, id: string): LiveResponse {
  const response = host.engine.get(id, credential);
  if (response !== null && response.lastNumber >= 0 && !host.perTurn.has(response)) return response;
  throw new ProtocolError('response_not_found', `No response "${id.slice(0, 128)}" is known here.`, {
    param: 'response_id',
  });
}

/** @throws ProtocolError where a reader asks for events after one that is not there yet, or for some no longer kept. */
export function requirePlace(response: LiveResponse, startingAfter: number): void {
  if (startingAfter > response.lastNumber)
    throw new ProtocolError(
      'invalid_value',
      `starting_after is ${startingAfter}, but the newest event is ${response.lastNumber}.`,
      { param: 'starting_after' },
    );
  response.entries(startingAfter + 1, 0);
}

/** What an error about a Response says of it. */
export function placeOf(response: LiveResponse) {
  return { responseId: response.id, sequenceNumber: Math.max(0, response.lastNumber) };
}

export function endedError(id: string): ProtocolError {
  return new ProtocolError('response_already_completed', `Response ${id} has already ended.`, {
    param: 'response_id',
  });
}

export function supersededError(id: string): ProtocolError {
  return new ProtocolError(
    'superseded',
    `Another connection has attached to response ${id}; this one no longer receives its events or may append to it.`,
    { param: 'response_id' },
  );
}

export function lostError(id: string): ProtocolError {
  return new ProtocolError(
    'server_shutting_down',
    `The server is shutting down and response ${id} with it; start again from your transcript.`,
  );
}
