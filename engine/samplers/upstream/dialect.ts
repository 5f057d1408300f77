/** What the two APIs differ in, as the session sees it. */
import type { Item } from '../../protocol/items.js';
import type { SamplerEvent, SamplerOpening, TurnRequest } from '../sampler.js';
import type { Endpoint } from './endpoint.js';
import type { JsonObject } from './json.js';

/** The fold from one answer's events to the events of the turn. */
export interface Fold {
  /** @throws UpstreamFault where the upstream reports a failure or breaks its own rules. */
  accept(chunk: JsonObject): readonly SamplerEvent[];
  /** The upstream has said how the turn ends. */
  readonly ended: boolean;
  /** And nothing more is to come that the turn needs, its usage included. */
  readonly whole: boolean;
  /** What is told when the stream is over; `done` says that it closed with `[DONE]`. Throws where it broke off. */
  finish(done: boolean): readonly SamplerEvent[];
}

/** One session's view of the API. */
export interface Dialect {
  /** Fields that never change within the session: the beginning of every body. */
  readonly head: JsonObject;
  /** The name of the field with the list of items. */
  readonly list: 'messages' | 'input';
  /** What comes first in that list, as JSON. */
  readonly opening: readonly string[];
  /** New items of the transcript as JSON texts of the list. */
  render(items: readonly Item[]): readonly string[];
  /** Fields of one turn: the end of its body, so that all before it is the same bytes at every turn. */
  tail(turn: TurnRequest): JsonObject;
  fold(turn: TurnRequest): Fold;
}

/** What a dialect is made for. */
export interface DialectParts {
  readonly endpoint: Endpoint;
  readonly opening: SamplerOpening;
  /** The upstream's name of the model. */
  readonly model: string;
  readonly contextTokensMax: number;
  /** Shared by the sampler's sessions: in which field the upstream tells its reasoning (chat). */
  readonly reasoning: { field: 'reasoning_content' | 'reasoning' | null };
}

/** The bound to send: only one that is tighter than what the context leaves anyway, which servers refuse or know. */
export function outputBound(
  { outputTokensMax, context }: TurnRequest,
  contextTokensMax: number,
): number | null {
  const { tokens } = context;
  return outputTokensMax < contextTokensMax - tokens ? outputTokensMax : null;
}
