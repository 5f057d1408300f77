/**
 * Creates remembered by `event_id`, so that one sent again after a lost connection is the same rollout. The place is
 * taken before the create is awaited, so that two of them at once are one too.
 */
import type { LiveResponse } from '../engine/index.js';
import { Bounded } from '../engine/bounded.js';

export class Creates {
  /** Ids only, so that nothing of an ended Response is kept for the sake of a resend. */
  readonly #byKey: Bounded<Promise<string>>;

  /** @param max creates remembered, over all credentials; the oldest go first. */
  constructor(max: number) {
    this.#byKey = new Bounded(max);
  }

  /** The id of the Response that a create of that event_id made or is making, or null. Rejects where it is refused. */
  find(credential: string, eventId: string | undefined): Promise<string> | null {
    return eventId === undefined ? null : (this.#byKey.get(keyOf(credential, eventId)) ?? null);
  }

  /** Remembers a create under its event_id, until it turns out to be refused. */
  remember(credential: string, eventId: string | undefined, create: Promise<LiveResponse>): void {
    if (eventId === undefined) return;
    const key = keyOf(credential, eventId);
    const id = create.then((response) => response.id);
    this.#byKey.set(key, id);
    id.catch(() => {
      if (this.#byKey.get(key) === id) this.#byKey.delete(key);
    });
  }
}

/** One key for an id of one credential, whatever either holds. */
export function keyOf(credential: string, eventId: string): string {
  return JSON.stringify([credential, eventId]);
}
