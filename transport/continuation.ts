/** What `previous_response_id` leads to. */
import { ProtocolError, type Engine, type LiveResponse } from '../engine/index.js';

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

/**
 * The ended Response a create continues from, or null where it names none.
 * @throws ProtocolError `previous_response_not_found` for an unknown one, another caller's, or one that still runs.
 */
export function continuable(
  engine: Engine,
  credential: string,
  previous: unknown,
  visible: (response: LiveResponse) => boolean = () => true,
): LiveResponse | null {
  const id = previousId(previous);
  if (id === null) return null;
  const response = engine.get(id, credential);
  if (response === null || response.settlement === null || !visible(response)) throw notFound(id);
  return response;
}
