/**
 * A design of one's own: the chain design of a service that keeps nothing but the newest response of a connection. A row
 * for the registry, and a continuity that says what a create goes on from.
 */
import {
  builtinDesigns,
  ChainContinuity,
  DesignRegistry,
  type CreateFields,
  type Design,
  type MakeContinuity,
  type Showing,
} from '../index.js';

class LatestContinuity extends ChainContinuity {
  #latest: string | null = null;

  override ended(create: CreateFields, showing: Showing): void {
    super.ended(create, showing);
    if (this.#latest !== null) this.parts.connection?.evict(this.#latest, showing.turn.lane);
    this.#latest = showing.turn.id;
  }
}

const chain = builtinDesigns.find(({ name }) => name === 'chain');
if (chain === undefined) throw new Error('there is no chain design to start from');

export const latestDesign: Design = {
  ...chain,
  name: 'chain-latest',
  title: 'chain, newest only',
  dialect: 'latest',
  stateBetweenTurns: 'the newest response of the connection',
};

/** For `new Server({ engine, keys, ...latestParts })`. */
export const latestParts: {
  readonly designs: DesignRegistry;
  readonly dialects: Readonly<Record<string, MakeContinuity>>;
} = {
  designs: new DesignRegistry([...builtinDesigns, latestDesign]),
  dialects: { latest: (parts) => new LatestContinuity(parts) },
};
