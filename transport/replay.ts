/**
 * The replay design: every create brings the whole history and nothing is kept between turns. Whether rendered tokens
 * are looked up by content is the design's affair, not the dialect's.
 */
import type { Kept } from '../engine/index.js';
import { PerTurn } from './chain.js';
import { notFound, previousId } from './continuation.js';
import type { CreateFields } from './continuity.js';

export class ReplayContinuity extends PerTurn {
  protected keptFor(create: CreateFields): Promise<Kept | null> {
    const id = previousId(create['previous_response_id']);
    return id === null ? Promise.resolve(null) : Promise.reject(notFound(id));
  }
}
