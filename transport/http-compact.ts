/** `POST /v1/responses/compact`: a conversation in, one `compaction` item out. A rollout that samples nothing. */
import { ProtocolError } from '../engine/index.js';
import { parse } from '../engine/protocol/parse.js';
import { appendInputSchema } from '../engine/protocol/requests.js';
import { keptOf, previousId } from './continuation.js';
import type { CreateFields } from './continuity.js';
import { json } from './http-answer.js';
import type { NativeParts } from './native-http.js';
import type { Answer } from './socket.js';

/** The input with the item that asks for a compaction at its end. */
function withTrigger(input: unknown): unknown[] {
  const items: unknown[] = Array.isArray(input)
    ? input
    : [...parse(appendInputSchema, input ?? [], ['input'])];
  return [...items, { type: 'compaction_trigger' }];
}

/** @throws ProtocolError where a create of the same fields would be refused. */
export async function compactInput(
  { host, credential, exchange }: NativeParts,
  body: CreateFields,
): Promise<Answer> {
  host.requireOpen();
  const fields = host.turns.items.resolve(credential, body);
  const kept = await keptOf({ host, credential }, previousId(fields['previous_response_id']));
  const response = await host.engine.create(
    { ...fields, generate: undefined, store: false, input: withTrigger(fields['input']) },
    { credential, kept, handOff: 'complete' },
  );
  host.perTurn.add(response);
  const leave = (): void => response.cancel('disconnected');
  if (exchange.gone.aborted) leave();
  else exchange.gone.addEventListener('abort', leave, { once: true });
  const { outcome } = await response.settled;
  if (outcome.status === 'failed') throw new ProtocolError(outcome.code, outcome.message);
  const { id, created_at, output, usage } = response.snapshot();
  return json(200, { id, object: 'response.compaction', created_at, output, usage });
}
