/**
 * The chain design, the shape that shipped: a turn is a Response, the next one names it as `previous_response_id`. State
 * lives with the connection (transcript, rendered tokens, preamble, the conversation the sampler knows) and, where the
 * client lets it be stored, beside it.
 */
import type { Kept } from '../engine/index.js';
import {
  transportOf,
  type Continuity,
  type ContinuityParts,
  type CreateFields,
  type Showing,
} from './continuity.js';
import { keptOf, previousId } from './continuation.js';
import { fromStart, TurnResponse } from './turn-response.js';

/** One Response per turn, whatever it continues from. */
export abstract class PerTurn implements Continuity {
  protected readonly parts: ContinuityParts;

  constructor(parts: ContinuityParts) {
    this.parts = parts;
  }

  async begin(create: CreateFields, lane: string | null): Promise<Showing> {
    const { host, credential, design } = this.parts;
    host.requireOpen();
    const kept = await this.keptFor(create);
    host.requireOpen(); // The store may have taken its time.
    const response = await host.engine.create(create, {
      credential,
      kept,
      handOff: 'complete',
      ...host.termsFor(design, transportOf(this.parts)),
    });
    host.perTurn.add(response);
    host.served(response, design);
    const turn = new TurnResponse(response, response.created, fromStart(kept), lane);
    host.turns.begun(turn);
    return { turn, view: turn.view(response, { unixSeconds: host.unixSeconds }) };
  }

  ended(create: CreateFields, { turn, view }: Showing): void {
    turn.end(view);
    const { host, connection } = this.parts;
    host.turns.over(turn);
    if (turn.snapshot.status === 'failed') this.refused(create, turn.lane);
    else connection?.add(turn);
  }

  /** A continuation that fails takes its parent with it. */
  refused(create: CreateFields, lane: string | null): void {
    const id = previousId(create['previous_response_id']);
    if (id !== null) this.parts.connection?.evict(id, lane);
  }

  /** Nobody can come back for it, so it ends. */
  left({ turn, view }: Showing): void {
    this.parts.host.turns.over(turn);
    view.response.cancel('disconnected');
  }

  closed(): void {
    this.parts.connection?.clear();
  }

  protected abstract keptFor(create: CreateFields): Promise<Kept | null>;
}

export class ChainContinuity extends PerTurn {
  protected keptFor(create: CreateFields): Promise<Kept | null> {
    return keptOf(this.parts, previousId(create['previous_response_id']));
  }
}
