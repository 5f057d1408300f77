/**
 * What the per-turn designs have in common: a create is turned into a response to show, whichever route brought it. Where
 * they differ is what a create continues from, and what becomes of a rollout whose client has left.
 */
import type { Design, Transport } from './designs.js';
import type { Host } from './host.js';
import type { ConnectionCache } from './parents.js';
import type { TurnResponse } from './turn-response.js';
import type { WindowView } from './view.js';

/** The fields of a create as they came, without those of the event around it. */
export type CreateFields = Readonly<Record<string, unknown>>;

/** A response under way. */
export interface Showing {
  readonly turn: TurnResponse;
  readonly view: WindowView;
}

export interface Continuity {
  /**
   * Begins the response that a create asks for. What it names is looked up now, not when the create arrived (P33).
   * @throws ProtocolError where it is refused.
   */
  begin(create: CreateFields, lane: string | null): Promise<Showing>;
  /** It has been shown to its end. */
  ended(create: CreateFields, showing: Showing): void;
  /** The create was refused. */
  refused(create: CreateFields, lane: string | null): void;
  /** Its client has gone before its end. */
  left(showing: Showing): void;
  /** The connection is closed, its state goes. Broken: what was shown last may not have arrived. */
  closed(broken: boolean): void;
}

export interface ContinuityParts {
  readonly host: Host;
  readonly design: Design;
  readonly credential: string;
  /** What the connection remembers; null on HTTP, which has none. */
  readonly connection: ConnectionCache | null;
}

/** What the connection is. */
export function transportOf({ connection }: Pick<ContinuityParts, 'connection'>): Transport {
  return connection === null ? 'http' : 'ws';
}

export type MakeContinuity = (parts: ContinuityParts) => Continuity;
