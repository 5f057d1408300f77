/**
 * Messages (steers) and tool outputs (injects) into responses that run, on a socket of a per-turn design.
 *
 *   T1  A steer is accepted once and gets an id. Then it enters one response, whose `response.created` says so, or it
 *       fails under that id. What is neither goes with the socket.
 *   T2  Steers enter in the order in which they came, before the words of the create that takes them along.
 *   T3  Only what this socket shows can be steered or injected into; nothing is told of any other response.
 *   T4  An inject is an append that comes early: once the response has handed off, it is too late.
 */
import {
  ProtocolError,
  toProtocolError,
  type ErrorBody,
  type ErrorCode,
  type RequiredInput,
  type ResponseObject,
  type ServerEvent,
} from '../engine/index.js';
import { readInject, readSteer, type InjectEvent, type SteerEvent } from './client-events.js';
import { previousId } from './continuation.js';
import type { CreateFields, Showing } from './continuity.js';
import { shuttingDown } from './host.js';
import type { DialectParts } from './session.js';

/** An accepted steer that has not entered a response. */
export interface Steer {
  readonly id: string;
  readonly previous_response_id: string;
  /** As it came. */
  readonly input: string | readonly unknown[];
}

/** One that was never accepted has no id. */
type FailedSteer = Pick<Steer, 'previous_response_id'> & { readonly id?: string; readonly input: unknown };

type Inject = ReturnType<typeof readInject>;

/** A create and the steers in its input. */
export interface SteeredCreate {
  readonly create: CreateFields;
  readonly steers: readonly Steer[];
}

interface Running {
  readonly create: CreateFields;
  readonly showing: Showing;
  readonly steers: Steer[];
}

interface Ended {
  readonly lane: string | null;
  readonly lastNumber: number;
  readonly status: ResponseObject['status'];
  /** They wait for the create that answers what it owes. */
  readonly steers: readonly Steer[];
}

export class Steering {
  readonly #parts: DialectParts;
  readonly #running = new Map<string, Running>();
  /** The newest ones, as many as a connection keeps. */
  readonly #ended = new Map<string, Ended>();

  constructor(parts: DialectParts) {
    this.#parts = parts;
  }

  begun(create: CreateFields, showing: Showing): void {
    this.#running.set(showing.turn.id, { create, showing, steers: [] });
  }

  /**
   * It has been shown to its end. Gives the create with which its steers go on, or null where there are none or they
   * wait for the client.
   * @param expected a create that names it waits on its lane.
   */
  ended({ turn, view: { window } }: Showing, expected: boolean): SteeredCreate | null {
    const running = this.#running.get(turn.id);
    this.#running.delete(turn.id);
    const steers = running?.steers ?? [];
    const { status } = window.snapshot;
    const owed = status === 'completed' && steers.length > 0 ? window.requiredInput : [];
    const waiting = owed.length > 0 ? steers : [];
    this.#remember(turn.id, { lane: turn.lane, lastNumber: window.lastNumber, status, steers: waiting });
    if (running === undefined || steers.length === 0) return null;
    if (status === 'failed' || status === 'cancelled') {
      const fault = new ProtocolError('response_not_active', `Response ${turn.id} has ended as ${status}.`);
      for (const steer of steers) this.#fail(steer, fault);
      return null;
    }
    if (owed.length > 0) {
      if (!expected) for (const steer of steers) this.#pend(steer, owed);
      return null;
    }
    const input = steers.flatMap(messagesOf);
    const fields = { ...running.create, generate: undefined, previous_response_id: turn.id, input };
    return { create: fields, steers };
  }

  /** A create that starts now takes along the steers that wait for it: those of its parent, on its lane (T2). */
  join(create: CreateFields, lane: string | null): SteeredCreate {
    const id = previousId(create['previous_response_id']);
    const parent = id === null ? undefined : this.#ended.get(id);
    if (id === null || parent === undefined || parent.lane !== lane || parent.steers.length === 0)
      return { create, steers: [] };
    const { steers } = parent;
    this.#ended.set(id, { ...parent, steers: [] });
    const messages = steers.flatMap(messagesOf);
    const { input = [] } = create;
    // What is neither is left for the engine to refuse.
    if (typeof input !== 'string' && !Array.isArray(input)) return { create, steers };
    const own: unknown[] = typeof input === 'string' ? [userMessage(input)] : input;
    return { create: { ...create, input: [...messages, ...own] }, steers };
  }

  /** The create that was to take them was refused. */
  refused(steers: readonly Steer[], fault: unknown): void {
    const { message } = toProtocolError(fault);
    const failed = new ProtocolError('successor_creation_failed', message, { cause: fault });
    for (const steer of steers) this.#fail(steer, failed);
  }

  steer(event: SteerEvent): void {
    const { previous_response_id: named, input: given = null } = event;
    try {
      const { previous_response_id, input } = readSteer(event);
      const { showing, steers } = this.#steerable(previous_response_id);
      const id = this.#parts.host.engine.mintId('steer');
      steers.push({ id, previous_response_id, input });
      const steer = { id, previous_response_id };
      this.#answer(previous_response_id, { type: 'response.steer.accepted', sequence_number: 0, steer });
      showing.view.response.interrupt();
    } catch (fault) {
      const previous_response_id = typeof named === 'string' ? named : '';
      this.#fail({ previous_response_id, input: given }, fault, event.event_id);
    }
  }

  /** One that cannot be read ends the socket: so it is documented of the public service. */
  inject(event: InjectEvent): void {
    const { session } = this.#parts;
    try {
      void this.#inject(readInject(event));
    } catch (fault) {
      session.refuse(fault, { eventId: event.event_id });
      session.close(1008, 'The inject could not be read.');
    }
  }

  /** Nothing of it is waited for any more. */
  closed(): void {
    this.#running.clear();
    this.#ended.clear();
  }

  async #inject({ response_id, input, event_id }: Inject): Promise<void> {
    try {
      const { response } = this.#injectable(response_id).showing.view;
      await response.append(input, { early: true }); // T4
      this.#answer(response_id, { type: 'response.inject.created', sequence_number: 0, response_id });
    } catch (fault) {
      const { code, message } = this.#told(fault);
      const echoed = { ...(event_id === undefined ? {} : { event_id }), response_id, input };
      const error = { code, message };
      this.#answer(response_id, { type: 'response.inject.failed', sequence_number: 0, ...echoed, error });
    }
  }

  #steerable(id: string): Running {
    const running = this.#running.get(id);
    if (running === undefined) throw this.#notRunning(id, 'previous_response_id', 'response_not_active');
    const { host, design } = this.#parts;
    const { context_management: compaction } = running.create;
    if (design.dialect === 'replay')
      throw unsupported(`The design ${design.name} keeps nothing to go on from.`);
    if (Array.isArray(compaction) && compaction.length > 0)
      throw unsupported('A response that compacts its context cannot be steered.');
    if (host.draining) throw new ProtocolError('successor_creation_failed', shuttingDown().message);
    const { steersMax } = host.engine.limits;
    const full = `At most ${steersMax} steers may wait for one response.`;
    if (running.steers.length >= steersMax) throw new ProtocolError('too_many_pending_steers', full);
    return running;
  }

  #injectable(id: string): Running {
    const running = this.#running.get(id);
    if (running === undefined) throw this.#notRunning(id, 'response_id', 'response_already_completed');
    return running;
  }

  /** @param otherwise the code where it has ended in another way than by completing. */
  #notRunning(id: string, param: string, otherwise: ErrorCode): ProtocolError {
    const ended = this.#ended.get(id);
    const unknown = `No response "${id.slice(0, 128)}" is known here.`;
    if (ended === undefined) return new ProtocolError('response_not_found', unknown, { param });
    const code = ended.status === 'completed' ? 'response_already_completed' : otherwise;
    const over = `Response ${id} has already ended; send a create that continues it.`;
    return new ProtocolError(code, over, { param });
  }

  #pend({ id, previous_response_id }: Steer, required_input: RequiredInput[]): void {
    const steer = { id, previous_response_id };
    const why = { reason: 'waiting_for_required_input', required_input } as const;
    this.#answer(previous_response_id, { type: 'response.steer.pending', sequence_number: 0, steer, ...why });
  }

  #fail(steer: FailedSteer, fault: unknown, eventId?: string): void {
    const { type, code, message } = this.#told(fault);
    const echoed = { ...(eventId === undefined ? {} : { event_id: eventId }), steer };
    const error = { type, code, message };
    const failed = { type: 'response.steer.failed', sequence_number: 0, ...echoed, error } as const;
    this.#answer(steer.previous_response_id, failed);
  }

  /** Sends what is said of a response on its lane, with the number of its event that was shown last. */
  #answer(id: string, event: ServerEvent): void {
    const running = this.#running.get(id)?.showing;
    const ended = this.#ended.get(id);
    const lane = running?.turn.lane ?? ended?.lane ?? null;
    const sequence_number = running?.view.window.lastNumber ?? ended?.lastNumber ?? 0;
    this.#parts.session.send({ ...event, sequence_number }, lane);
  }

  #told(fault: unknown): ErrorBody {
    if (!(fault instanceof ProtocolError)) this.#parts.host.failed(fault);
    return toProtocolError(fault).toBody();
  }

  #remember(id: string, ended: Ended): void {
    this.#ended.set(id, ended);
    const [oldest] = this.#ended;
    if (oldest === undefined || this.#ended.size <= this.#parts.host.engine.limits.keptResponsesMax) return;
    const [oldId, { steers }] = oldest;
    for (const steer of steers)
      this.#fail(steer, this.#notRunning(oldId, 'previous_response_id', 'response_not_active'));
    this.#ended.delete(oldId);
  }
}

function unsupported(message: string): ProtocolError {
  return new ProtocolError('steering_not_supported', message);
}

function userMessage(content: string): object {
  return { type: 'message', role: 'user', content };
}

function messagesOf({ input }: Steer): readonly unknown[] {
  return typeof input === 'string' ? [userMessage(input)] : input;
}
