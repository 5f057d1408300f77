/** Kinds of server events, as tests tell them apart. */
import type { ServerEvent } from '../../engine/index.js';

export type EventOf<Type extends ServerEvent['type']> = Extract<ServerEvent, { type: Type }>;

const terminals = new Set(['response.completed', 'response.incomplete', 'response.failed']);

export function isTerminal(event: ServerEvent): boolean {
  return terminals.has(event.type);
}

/** The end of a turn, as far as a client is concerned: a hand-off, a terminal event or an error. */
export function isPause(event: ServerEvent): boolean {
  return isTerminal(event) || event.type === 'response.done' || event.type === 'error';
}
