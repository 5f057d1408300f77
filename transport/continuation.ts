/** What `previous_response_id` leads to. */
import { ProtocolError, type Kept } from '../engine/index.js';
import type { ContinuityParts } from './continuity.js';
import type { TurnResponse } from './turn-response.js';

/** The one sentence for an id that leads nowhere, whatever the reason, so that nobody learns of others' ids. */
export function notFound(id: string): ProtocolError {
  return new ProtocolError(
    'previous_response_not_found',
    `Previous response with id "${id.slice(0, 128)}" not found; send the full history without previous_response_id.`,
    { param: 'previous_response_id' },
  );
}

/** The field as an id, null where it is absent. What is no string is left for the engine to refuse. */
export function previousId(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Whose id it is. Without a connection only what was stored can be named. */
type Where = Pick<ContinuityParts, 'host' | 'credential'> & Partial<Pick<ContinuityParts, 'connection'>>;

/** A per-turn response that has ended: of this connection, or stored. */
export function parentTurn({ host, credential, connection }: Where, id: string): TurnResponse | null {
  const own = connection?.get(id) ?? null;
  if (own !== null) return own;
  const found = host.turns.get(id, credential);
  // One that failed is no parent, here or anywhere.
  return found !== null && found.stored && found.kept !== null && found.snapshot.status !== 'failed'
    ? found
    : null;
}

/**
 * What a create continues from, null where it names nothing: a per-turn response; a Response of the append design, ended
 * or, while it is suspended, as it stands; or a stored one that the engine no longer holds, rendered anew.
 * @throws ProtocolError `previous_response_not_found` for an unknown one, another caller's, or one that still runs.
 */
export async function keptOf(where: Where, id: string | null): Promise<Kept | null> {
  if (id === null) return null;
  const { host, credential } = where;
  const turn = parentTurn(where, id);
  if (turn !== null) return turn.kept;
  const response = host.engine.get(id, credential);
  if (
    response !== null &&
    !host.perTurn.has(response) &&
    (response.settlement !== null || response.suspended)
  )
    return response.kept;
  // A per-turn one may still be held by the engine while its place among the nameable ones is gone.
  const stored = await host.engine.hydrate(id, credential);
  if (stored === null) throw notFound(id);
  return stored;
}
