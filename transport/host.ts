/** What all sessions of one server share. */
import {
  ProtocolError,
  type CreateOptions,
  type Engine,
  type LiveResponse,
  type Tokenizer,
} from '../engine/index.js';
import type { Design, Transport } from './designs.js';
import { Adoption } from './adoption.js';
import { Creates } from './creates.js';
import { Holders } from './holders.js';
import { TurnResponses } from './parents.js';
import type { Session } from './session.js';

/** Frames and characters each way, over all sockets since the start. */
export class Traffic {
  framesIn = 0;
  charactersIn = 0;
  framesOut = 0;
  charactersOut = 0;

  received(characters: number): void {
    this.framesIn++;
    this.charactersIn += characters;
  }

  sent(frames: number, characters: number): void {
    this.framesOut += frames;
    this.charactersOut += characters;
  }
}

export class Host {
  readonly engine: Engine;
  readonly holders: Holders;
  readonly creates: Creates;
  /** Responses that live for one turn and belong to the socket they run on: no other may attach to them. */
  readonly perTurn = new WeakSet<LiveResponse>();
  /** What each Response was asked for in. */
  readonly #designs = new WeakMap<LiveResponse, Design>();
  /** Responses of the per-turn designs, by id. */
  readonly turns: TurnResponses;
  /** Rollouts of the shim, as a history finds them. */
  readonly adoption: Adoption;
  readonly sessions = new Set<Session>();
  readonly traffic = new Traffic();
  /** The tokenizer for designs that look tokens up by content. */
  readonly #tokenCache: Tokenizer;
  readonly failed: (fault: unknown) => void;
  /** Set once, on the way out: no new Response is admitted. */
  draining = false;

  constructor(engine: Engine, tokenCache: Tokenizer, failed: (fault: unknown) => void) {
    this.engine = engine;
    this.#tokenCache = tokenCache;
    this.failed = failed;
    this.holders = new Holders(engine.clock, engine.limits.graceMsMax);
    this.creates = new Creates(engine.limits.eventIdsMax);
    this.adoption = new Adoption(engine.limits.adoptionCallsMax);
    this.turns = new TurnResponses(engine.limits.storedResponsesMax, engine.limits.storedItemsMax);
  }

  readonly unixSeconds = (): number => this.engine.clock.unixSeconds();

  /** How the engine is to create a rollout of that design. */
  termsFor(design: Design, transport: Transport): Pick<CreateOptions, 'tokenizer' | 'obligations'> {
    const obligations = design.work?.[transport];
    return {
      ...(design.tokenCache ? { tokenizer: this.#tokenCache } : {}),
      ...(obligations === undefined ? {} : { obligations }),
    };
  }

  /** A Response was created in that design. */
  served(response: LiveResponse, design: Design): void {
    this.#designs.set(response, design);
  }

  /** The design that a Response was created in; null for one that is not known, or not a client's. */
  designOf(responseId: string, credential: string): Design | null {
    const response = this.engine.get(responseId, credential);
    return response === null ? null : (this.#designs.get(response) ?? null);
  }

  /** @throws ProtocolError once the server is on its way out. */
  requireOpen(): void {
    if (this.draining) throw shuttingDown();
  }
}

export function shuttingDown(): ProtocolError {
  return new ProtocolError('server_shutting_down', 'The server is shutting down; connect again and retry.', {
    retryAfterSeconds: 1,
  });
}
