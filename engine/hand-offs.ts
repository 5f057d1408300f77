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

/** Before the first: one for all, because most rollouts are few hand-offs old. */
export const noHandOffs: readonly HandOffPoint[] = [];

/**
 * The newest hand-offs, oldest first. Their transcripts are prefixes of one another, so each weighs little. A list of
 * just their number is made each time, because one that grows in place, or is spread, has room for sixteen more.
 * @param max points to keep; two are kept in any case.
 */
export function withHandOff(
  points: readonly HandOffPoint[],
  point: HandOffPoint,
  max: number,
): readonly HandOffPoint[] {
  return points.slice(-Math.max(pointsMin, max) + 1).concat(point);
}
