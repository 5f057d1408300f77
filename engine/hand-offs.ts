/** Where the turns of a rollout handed off to their client. */
import type { Kept } from './stages.js';

/** What a continuation from a hand-off, or another reader, needs of it. */
export interface HandOffPoint {
  readonly turn: number;
  /** Number of its `response.done`. */
  readonly number: number;
  /** Output items of the rollout through it: the next turn's begin at this index. */
  readonly outputItems: number;
  readonly kept: Kept;
}

/** The newest hand-off, and the one after which its turn began. */
const pointsMin = 2;

/** The newest hand-offs, oldest first. Their transcripts are prefixes of one another, so each weighs little. */
export class HandOffs {
  readonly points: HandOffPoint[] = [];
  readonly #max: number;

  /** @param max points to keep; two are kept in any case. */
  constructor(max: number) {
    this.#max = Math.max(pointsMin, max);
  }

  add(point: HandOffPoint): void {
    this.points.push(point);
    if (this.points.length > this.#max) this.points.shift();
  }
}
