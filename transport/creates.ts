/**
 * Creates remembered by `event_id`, so that one sent again after a lost connection is the same rollout. The place is
 * taken before the create is awaited, so that two of them at once are one too.
 */
import type { LiveResponse } from '../engine/index.js';

export class Creates {
  readonly #max: number;
  readonly #byKey = new Map<string, Promise<LiveResponse>>();

  /** @param max creates remembered, over all credentials; the oldest go first. */
  constructor(max: number) {
    this.#max = max;
  }

  /** The create of that event_id, or null. */
  find(credential: string, eventId: string | undefined): Promise<LiveResponse> | null {
    return eventId === undefined ? null : (this.#byKey.get(keyOf(credential, eventId)) ?? null);
  }

  /** Remembers a create under its event_id, until it turns out to be refused. */
  remember(credential: string, eventId: string | undefined, create: Promise<LiveResponse>): void {
    if (eventId === undefined) return;
    const key = keyOf(credential, eventId);
    this.#byKey.set(key, create);
    create.catch(() => this.#byKey.delete(key));
    const oldest = this.#byKey.keys().next();
    if (this.#byKey.size > this.#max && oldest.done === false) this.#byKey.delete(oldest.value);
  }
}

function keyOf(credential: string, eventId: string): string {
  return JSON.stringify([credential, eventId]);
}
