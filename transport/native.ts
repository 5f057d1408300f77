/** What the append design does the same on a socket and over HTTP. */
import { ProtocolError, type AppendAccepted, type LiveResponse } from '../engine/index.js';
import { parse } from '../engine/protocol/parse.js';
import { appendBodySchema } from './client-events.js';
import { keptOf, previousId } from './continuation.js';
import type { ContinuityParts, CreateFields } from './continuity.js';

/** @throws ProtocolError where the create is refused. */
export async function admitNative(
  { host, credential, design }: Omit<ContinuityParts, 'connection'>,
  create: CreateFields,
): Promise<LiveResponse> {
  host.requireOpen();
  const where = { host, credential, connection: null };
  return host.engine.create(host.turns.items.resolve(credential, create), {
    credential,
    kept: await keptOf(where, previousId(create['previous_response_id'])),
    ...host.tokenizerFor(design),
  });
}

/** An append whose fields came without an event around them. @throws ProtocolError where it is refused. */
export function appendedTo(
  response: LiveResponse,
  body: Readonly<Record<string, unknown>>,
): Promise<AppendAccepted> {
  const { input } = parse(appendBodySchema, body);
  return response.append(input);
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
