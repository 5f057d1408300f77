/** The Responses that one append socket follows, and those that a newer attach took from it. Bounded. */
import { ProtocolError, type LiveResponse } from '../engine/index.js';
import type { Feed } from './outbox.js';

export class Holds {
  readonly #max: number;
  readonly #feeds = new Map<string, Feed>();
  /** Number of the newest acknowledgement that the feed brings or has brought: an older one is a resend's. */
  readonly #acknowledged = new Map<string, number>();
  readonly #lost = new Set<string>();

  /** @param max live Responses at once. */
  constructor(max: number) {
    this.#max = max;
  }

  get responses(): LiveResponse[] {
    return [...this.#feeds.values()].map((feed) => feed.response);
  }

  feedOf(id: string): Feed | null {
    return this.#feeds.get(id) ?? null;
  }

  isLost(id: string): boolean {
    return this.#lost.has(id);
  }

  add(feed: Feed): void {
    const { id, lastNumber } = feed.response;
    this.#lost.delete(id);
    this.#feeds.set(id, feed);
    this.#acknowledged.set(id, lastNumber);
  }

  /** The feed has come to its end. */
  remove(feed: Feed): void {
    const { id } = feed.response;
    if (this.#feeds.get(id) !== feed) return;
    this.#feeds.delete(id);
    this.#acknowledged.delete(id);
  }

  /** Another socket took the Response over. */
  lose(feed: Feed): void {
    this.remove(feed);
    this.#lost.add(feed.response.id);
    const oldest = this.#lost.values().next();
    if (this.#lost.size > this.#max && oldest.done === false) this.#lost.delete(oldest.value);
  }

  clear(): void {
    this.#feeds.clear();
    this.#acknowledged.clear();
    this.#lost.clear();
  }

  /** Whether the feed brings the acknowledgement of that number; false for one that it brought before. */
  brings(id: string, number: number): boolean {
    const newest = this.#acknowledged.get(id);
    if (newest === undefined || number <= newest) return false;
    this.#acknowledged.set(id, number);
    return true;
  }

  /**
   * @param joining Responses about to be held, this one included; `id` may be held already.
   * @throws ProtocolError where they would be too many.
   */
  requireRoom(joining: number, id = ''): void {
    const others = this.responses.filter((response) => response.settlement === null && response.id !== id);
    if (others.length + joining > this.#max)
      throw new ProtocolError(
        'rate_limit_exceeded',
        `At most ${this.#max} responses at once on one socket; wait for one to end or open another socket.`,
        { retryAfterSeconds: 1 },
      );
  }
}
