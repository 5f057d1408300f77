/**
 * The dialect of the per-turn designs on a socket. Creates of one lane run one at a time, in the order they came; lanes
 * run beside each other, up to a limit, and what is over it waits. No event of a create comes before the terminal event
 * of the one before it on its lane. The successor of a response that was steered keeps its place, ahead of what waits.
 */
import { ProtocolError } from '../engine/index.js';
import type { ClientEvent, CreateEvent } from './client-events.js';
import type { Continuity, CreateFields, MakeContinuity, Showing } from './continuity.js';
import { previousId } from './continuation.js';
import { shuttingDown } from './host.js';
import { ConnectionCache } from './parents.js';
import type { Dialect, DialectParts } from './session.js';
import { Steering, type SteeredCreate } from './steering.js';

interface Waiting {
  readonly create: CreateFields;
  readonly eventId: string | undefined;
}

/** Creates of one name, in order. */
interface Lane {
  /** Null for the default lane. */
  readonly streamId: string | null;
  readonly waiting: Waiting[];
  /** A create of it is being admitted or shown. */
  busy: boolean;
  showing: Showing | null;
}

const streamIdPattern = /^[A-Za-z0-9_.-]{1,256}$/;

export class Lanes implements Dialect {
  readonly #parts: DialectParts;
  readonly #continuity: Continuity;
  readonly #steering: Steering;
  /** By stream_id; the default lane under the empty name. */
  readonly #lanes = new Map<string, Lane>();
  /** Lanes whose next create waits for another lane's response to end, in order. */
  readonly #held = new Set<Lane>();
  #inFlight = 0;
  #queued = 0;

  constructor(parts: DialectParts, makeContinuity: MakeContinuity) {
    this.#parts = parts;
    const { host, design, credential } = parts;
    const connection = new ConnectionCache(host.engine.limits.keptResponsesMax);
    this.#continuity = makeContinuity({ host, design, credential, connection });
    this.#steering = new Steering(parts);
  }

  onEvent(event: ClientEvent): void {
    switch (event.type) {
      case 'response.create':
        this.#enqueue(event);
        break;
      case 'response.steer':
        this.#steering.steer(event);
        break;
      case 'response.inject':
        this.#steering.inject(event);
        break;
      case 'response.processed':
        break;
      default:
        this.#parts.session.refuse(
          new ProtocolError(
            'unknown_event_type',
            `${event.type} belongs to the append design; this socket chose another.`,
            { param: 'type' },
          ),
          { eventId: event.event_id },
        );
    }
  }

  onDraining(): void {
    for (const lane of this.#lanes.values())
      for (const { eventId } of lane.waiting.splice(0))
        this.#parts.session.refuse(shuttingDown(), { eventId }, lane.streamId);
    this.#queued = 0;
  }

  onClosed(broken: boolean): void {
    for (const lane of this.#lanes.values()) {
      lane.waiting.length = 0;
      if (lane.showing !== null) this.#continuity.left(lane.showing);
      lane.showing = null;
    }
    this.#held.clear();
    this.#steering.closed();
    this.#continuity.closed(broken);
  }

  #enqueue(event: CreateEvent): void {
    const { type: _, event_id: eventId, stream_id: streamId, ...create } = event;
    const { host, session } = this.#parts;
    const { socketQueueMax } = host.engine.limits;
    let lane: Lane;
    try {
      lane = this.#laneOf(streamId);
    } catch (fault) {
      const isNamed = fault instanceof ProtocolError && fault.code !== 'invalid_stream_id';
      session.refuse(fault, { eventId }, isNamed ? String(streamId) : null);
      return;
    }
    if (host.draining) session.refuse(shuttingDown(), { eventId }, lane.streamId);
    else if (this.#queued >= socketQueueMax) {
      const message = `At most ${socketQueueMax} creates may wait on one socket.`;
      const full = new ProtocolError('rate_limit_exceeded', message, { retryAfterSeconds: 1 });
      session.refuse(full, { eventId }, lane.streamId);
    } else {
      lane.waiting.push({ create, eventId });
      this.#queued++;
      this.#next(lane);
    }
  }

  /** @throws ProtocolError where the name is none, or one too many (P26, P30). */
  #laneOf(streamId: unknown): Lane {
    if (streamId !== undefined && (typeof streamId !== 'string' || !streamIdPattern.test(streamId)))
      throw new ProtocolError(
        'invalid_stream_id',
        'A stream_id has 1 to 256 characters of A-Z, a-z, 0-9, "_", "." and "-".',
        { param: 'stream_id' },
      );
    const known = this.#lanes.get(streamId ?? '');
    if (known !== undefined) return known;
    const { lanesNamedMax } = this.#parts.host.engine.limits;
    const named = this.#lanes.size - (this.#lanes.has('') ? 1 : 0);
    if (streamId !== undefined && named >= lanesNamedMax)
      throw new ProtocolError(
        'websocket_stream_limit_reached',
        `At most ${lanesNamedMax} different stream_ids on one socket; use one of them or open another socket.`,
        { param: 'stream_id' },
      );
    const lane: Lane = { streamId: streamId ?? null, waiting: [], busy: false, showing: null };
    this.#lanes.set(streamId ?? '', lane);
    return lane;
  }

  /** Starts the lane's next create, if it may start now. */
  #next(lane: Lane): void {
    if (lane.busy || !this.#parts.session.open) return;
    if (lane.waiting.length > 0 && this.#inFlight >= this.#parts.host.engine.limits.lanesInFlightMax) {
      this.#held.add(lane);
      return;
    }
    const next = lane.waiting.shift();
    if (next === undefined) return;
    this.#queued--;
    this.#inFlight++;
    lane.busy = true;
    void this.#run(lane, next);
  }

  async #run(lane: Lane, { create: asked, eventId }: Waiting): Promise<void> {
    const { create, steers } = this.#steering.join(asked, lane.streamId);
    try {
      await this.#show(lane, create);
    } catch (fault) {
      this.#continuity.refused(create, lane.streamId);
      this.#parts.session.refuse(fault, { eventId }, lane.streamId);
      this.#steering.refused(steers, fault);
      this.#over(lane);
    }
  }

  /** Goes on from a response that was steered. Its client has asked for no create, so that it loses no parent by it. */
  async #succeed(lane: Lane, { create, steers }: SteeredCreate): Promise<void> {
    try {
      await this.#show(lane, create);
    } catch (fault) {
      this.#steering.refused(steers, fault);
      this.#over(lane);
    }
  }

  /** @throws ProtocolError where the create is refused. */
  async #show(lane: Lane, create: CreateFields): Promise<void> {
    const { host, session, credential } = this.#parts;
    const resolved = host.turns.items.resolve(credential, create);
    const showing = await this.#continuity.begin(resolved, lane.streamId);
    if (!session.open) {
      this.#continuity.left(showing);
      return;
    }
    lane.showing = showing;
    this.#steering.begun(create, showing);
    session.follow(showing.view, () => this.#shown(lane, create, showing));
  }

  #shown(lane: Lane, create: CreateFields, showing: Showing): void {
    const { session } = this.#parts;
    this.#continuity.ended(create, showing);
    lane.showing = null;
    const { id } = showing.turn;
    const expected = lane.waiting.some((next) => previousId(next.create['previous_response_id']) === id);
    const successor = this.#steering.ended(showing, expected);
    if (successor !== null && session.open) void this.#succeed(lane, successor);
    else this.#over(lane);
  }

  /** The lane is free: its own next create comes after those that other lanes have waiting. */
  #over(lane: Lane): void {
    lane.busy = false;
    this.#inFlight--;
    const held = [...this.#held];
    this.#held.clear();
    for (const other of held) this.#next(other);
    this.#next(lane);
  }
}
