/**
 * The shim: the wire of the chain design over the engine of the append design. Outside, each turn is a response that
 * `response.completed` ends; inside, one loop stays suspended, and the next create resumes it.
 *
 *   V1  A create resumes a rollout where it names its newest hand-off, brings the owed outputs (and messages) and
 *       nothing else, and has the same settings.
 *   V2  A history sent in full that is a suspended rollout's, or one's whose client has left in mid-turn, adopts it: item
 *       by item the same, with the same settings.
 *   V3  Everything else starts a rollout on what was kept, and shares its transcript: a fork. So does a create whose
 *       rollout has ended while its input was taken in.
 *   V4  A create that is refused takes its parent with it; if a rollout was suspended there, it ends.
 */
import { ProtocolError, type Kept, type LiveResponse, type ResponseObject } from '../engine/index.js';
import { parse } from '../engine/protocol/parse.js';
import { createRequestSchema } from '../engine/protocol/requests.js';
import { beginningFor, callIdIn, windowFor, type Adoptable } from './adoption.js';
import { itemsOf, resumes, type Asked } from './asked.js';
import { keptOf, parentTurn, previousId } from './continuation.js';
import {
  transportOf,
  type Continuity,
  type ContinuityParts,
  type CreateFields,
  type Showing,
} from './continuity.js';
import type { Holder } from './holders.js';
import { SettingsKeys } from './settings.js';
import { fromStart, TurnResponse, type Window } from './turn-response.js';

const metadataSchema = createRequestSchema.pick({ metadata: true });

export class ShimContinuity implements Continuity, Holder {
  readonly #parts: ContinuityParts;
  /** Rollouts that this connection holds and that had not settled when it last looked. */
  readonly #held = new Set<LiveResponse>();
  /** By lane, what was shown to its end last: the next create of the lane tells that its client has seen it. */
  readonly #unconfirmed = new Map<string | null, TurnResponse>();

  readonly #settings = new SettingsKeys();

  constructor(parts: ContinuityParts) {
    this.#parts = parts;
  }

  async begin(create: CreateFields, lane: string | null): Promise<Showing> {
    this.#unconfirmed.delete(lane);
    this.#parts.host.requireOpen();
    const id = previousId(create['previous_response_id']);
    const parent = id === null ? null : parentTurn(this.#parts, id);
    const asked = {
      create,
      lane,
      settings: this.#settings.of(create),
      id,
      parent,
      items: itemsOf(create['input']),
    };
    return (await this.#resume(asked)) ?? (await this.#adopt(asked)) ?? this.#start(asked);
  }

  ended(create: CreateFields, { turn, view }: Showing): void {
    const { host, connection } = this.#parts;
    turn.end(view);
    host.turns.over(turn);
    host.adoption.shown(view.response, view.window.callIds);
    this.#unconfirmed.set(turn.lane, turn);
    this.#letGo();
    if (turn.snapshot.status === 'failed') this.refused(create, turn.lane);
    else connection?.add(turn);
  }

  refused(create: CreateFields, lane: string | null): void {
    const { connection } = this.#parts;
    const id = previousId(create['previous_response_id']);
    const parent = id === null ? null : (connection?.evict(id, lane) ?? null);
    const rollout = parent === null ? null : this.#suspendedAt(parent);
    // One that was stored can be named again all the same.
    if (parent?.stored === false) rollout?.cancel(); // V4
  }

  /** The rollout goes on: its client may come back with its history. */
  left({ turn, view: { response, window } }: Showing): void {
    const { host } = this.#parts;
    host.turns.over(turn);
    host.adoption.shown(response, window.callIds);
    const known = host.adoption.of(response);
    // Else its client has come back already.
    if (known?.newest === turn) this.#awaited(known).left = true;
    host.holders.leave(response, this);
    this.#held.delete(response);
  }

  closed(broken: boolean): void {
    if (broken) this.#doubt();
    for (const rollout of this.#held) this.#parts.host.holders.leave(rollout, this);
    this.#held.clear();
    this.#parts.connection?.clear();
  }

  /** What was shown last may have been lost with the connection. */
  #doubt(): void {
    const { host, credential } = this.#parts;
    for (const turn of this.#unconfirmed.values()) {
      const rollout = host.engine.get(turn.rolloutId, credential);
      const known = rollout === null ? null : host.adoption.of(rollout);
      if (known?.newest === turn) this.#awaited(known).uncertain = true;
    }
    this.#unconfirmed.clear();
  }

  /** An answer that ends while its client is away is kept for it as long as a rollout would live on. */
  #awaited(known: Adoptable): Adoptable {
    const { clock, limits } = this.#parts.host.engine;
    known.until = clock.now() + limits.graceMsMax;
    return known;
  }

  /** Another connection has adopted it. What this one still shows of it ends by itself. */
  superseded(response: LiveResponse): void {
    this.#held.delete(response);
  }

  /** Nothing is under way for a client that is between two creates, so there is nothing to tell it. */
  lost(): void {}

  /** The rollout whose newest hand-off ended that response, or null. */
  #rolloutAt(parent: TurnResponse): LiveResponse | null {
    const { host, credential } = this.#parts;
    const rollout = parent.turn === null ? null : host.engine.get(parent.rolloutId, credential);
    return rollout?.handOffs.at(-1)?.turn === parent.turn ? rollout : null;
  }

  #suspendedAt(parent: TurnResponse): LiveResponse | null {
    const rollout = this.#rolloutAt(parent);
    return rollout?.suspended === true ? rollout : null;
  }

  /** V1 */
  async #resume({ create, lane, settings, parent, items }: Asked): Promise<Showing | null> {
    const rollout = parent === null ? null : this.#suspendedAt(parent);
    const known = rollout === null ? null : this.#parts.host.adoption.of(rollout);
    if (parent === null || rollout === null || known?.settings !== settings || known.resuming) return null;
    if (
      create['generate'] === false ||
      items === null ||
      !items.every((item) => resumes(item, parent.kept?.owed ?? []))
    )
      return null;
    const inputFrom = parent.kept?.transcript.length ?? 0;
    const window = { first: rollout.lastNumber + 1, outputItems: parent.outputItemsAfter, inputFrom };
    const showing = this.#show(rollout, this.#createdFor(known, create), window, lane);
    return (await this.#append(known, items, true)) ? this.#begun(showing, known) : null;
  }

  /** V2 */
  async #adopt({ create, lane, settings, id, parent, items }: Asked): Promise<Showing | null> {
    const { host, credential } = this.#parts;
    if (items === null || create['generate'] === false || (id !== null && parent === null)) return null;
    for (const known of host.adoption.find(credential, items, create['prompt_cache_key'])) {
      const from =
        known.settings === settings && !known.resuming ? beginningFor(known, { id, parent }) : null;
      const overlap = from === null ? null : known.rollout.overlap(items, from);
      if (from === null || overlap === null) continue;
      const beyond = overlap.beyond.map((index): unknown => items[index]);
      const window = windowFor(known, overlap, { beyond, items, now: host.engine.clock.now() });
      if (window === null) continue;
      const answered = new Set(beyond.flatMap((item) => callIdIn(item) ?? []));
      const created = this.#createdFor(known, create);
      const showing = this.#show(known.rollout, created, { ...window, inputFrom: from, answered }, lane);
      if (beyond.length === 0 || (await this.#append(known, beyond, false)))
        return this.#begun(showing, known);
    }
    return null;
  }

  /** V3 */
  async #start({ create, lane, settings, id, parent, items }: Asked): Promise<Showing> {
    const { host, credential, design } = this.#parts;
    const kept = (parent === null ? null : this.#endAt(parent, items)) ?? (await keptOf(this.#parts, id));
    host.requireOpen(); // It may have taken its time to get here.
    const rollout = await host.engine.create(create, {
      credential,
      kept,
      boundsPer: 'turn',
      ...host.termsFor(design, transportOf(this.#parts)),
    });
    host.perTurn.add(rollout);
    host.served(rollout, design);
    const from = kept?.transcript.length ?? 0;
    const { created } = rollout;
    const known = {
      rollout,
      created,
      settings,
      parentId: id,
      from,
      newest: null,
      left: false,
      uncertain: false,
      until: 0,
      resuming: false,
    };
    host.adoption.begun(known, create['prompt_cache_key']);
    const first = { ...created, id: host.engine.mintId('resp') };
    return this.#begun(this.#show(rollout, first, fromStart(kept), lane), known);
  }

  /**
   * Where the rollout that waited at that response has ended since, its end, for a client that has no answers: the calls
   * are answered there, as aborted.
   */
  #endAt(parent: TurnResponse, items: readonly unknown[] | null): Kept | null {
    const owed = parent.kept?.owed ?? [];
    if (owed.length === 0 || items?.some((item) => owed.includes(callIdIn(item) ?? '')) === true) return null;
    const rollout = this.#rolloutAt(parent);
    return rollout?.settlement?.turns === parent.turn ? rollout.kept : null;
  }

  /**
   * Marked while it is on its way, so that a second create from the same place is a fork. False where the rollout has
   * ended meanwhile.
   */
  async #append(known: Adoptable, input: unknown, whole: boolean): Promise<boolean> {
    known.resuming = true;
    try {
      await known.rollout.append(input, { whole });
      return true;
    } catch (fault) {
      if (fault instanceof ProtocolError && fault.code === 'response_already_completed') return false;
      throw fault;
    } finally {
      known.resuming = false;
    }
  }

  #show(rollout: LiveResponse, created: ResponseObject, window: Window, lane: string | null): Showing {
    const { host } = this.#parts;
    const turn = new TurnResponse(rollout, created, window, lane);
    return { turn, view: turn.view(rollout, { unixSeconds: host.unixSeconds }) };
  }

  #begun(showing: Showing, known: Adoptable): Showing {
    const { host } = this.#parts;
    const { response } = showing.view;
    known.newest = showing.turn;
    known.left = false;
    known.uncertain = false;
    host.turns.begun(showing.turn);
    host.holders.take(response, this);
    this.#letGo();
    if (response.settlement === null) this.#held.add(response);
    return showing;
  }

  /** What has settled need not be held. */
  #letGo(): void {
    for (const held of this.#held) if (held.settlement !== null) this.#held.delete(held);
  }

  /** A response of a rollout that is under way: the same settings, and what its create says for itself. */
  #createdFor({ created }: Adoptable, create: CreateFields): ResponseObject {
    const { host } = this.#parts;
    const said = create['metadata'] === undefined ? null : parse(metadataSchema, create).metadata;
    return {
      ...created,
      id: host.engine.mintId('resp'),
      created_at: host.unixSeconds(),
      metadata: said ?? {},
      previous_response_id: previousId(create['previous_response_id']),
    };
  }
}
