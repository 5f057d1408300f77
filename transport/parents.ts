/**
 * The responses that a create of a per-turn design may name as its parent: those of its own connection, and those that
 * were stored, of any connection of the same credential. Both are bounded; the oldest go first.
 */
import { Bounded } from '../engine/bounded.js';
import { StoredItems } from './stored-items.js';
import type { TurnResponse } from './turn-response.js';

/** Of one connection, stored or not. They go with it. */
export class ConnectionCache {
  readonly #responses: Bounded<TurnResponse>;

  /** @param max responses, over all lanes. */
  constructor(max: number) {
    this.#responses = new Bounded(max);
  }

  get(id: string): TurnResponse | null {
    const response = this.#responses.get(id);
    return response === undefined || response.deleted ? null : response;
  }

  /** One that has ended. What it leaves may be gone already, if it was shown very late. */
  add(response: TurnResponse): void {
    if (response.kept !== null) this.#responses.set(response.id, response);
  }

  /** A continuation of it failed on that lane: it goes, unless it is another lane's (P40, P34). */
  evict(id: string, lane: string | null): TurnResponse | null {
    const response = this.#responses.get(id);
    if (response === undefined || response.lane !== lane) return null;
    this.#responses.delete(id);
    return response;
  }

  clear(): void {
    this.#responses.clear();
  }
}

/** Of all connections: what runs, so that it can be read and cancelled by id, and what was stored. */
export class TurnResponses {
  readonly #running = new Map<string, TurnResponse>();
  readonly #stored: Bounded<TurnResponse>;
  /** What stored responses have put out. */
  readonly items: StoredItems;

  /** @param max stored responses. @param itemsMax items of theirs that can be referred to. */
  constructor(max: number, itemsMax: number) {
    this.#stored = new Bounded(max);
    this.items = new StoredItems(itemsMax);
  }

  /** Those under way. */
  get running(): number {
    return this.#running.size;
  }

  begun(response: TurnResponse): void {
    this.#running.set(response.id, response);
  }

  /** It has ended, or its client has left. */
  over(response: TurnResponse): void {
    this.#running.delete(response.id);
    if (!response.stored || response.kept === null) return;
    this.#stored.set(response.id, response);
    this.items.add(response.credential, response.snapshot.output);
  }

  /** One of that credential, null where there is none. */
  get(id: string, credential: string): TurnResponse | null {
    const found = this.#running.get(id) ?? this.#stored.get(id);
    return found?.credential === credential ? found : null;
  }

  remove(response: TurnResponse): void {
    response.deleted = true;
    this.#stored.delete(response.id);
  }
}
