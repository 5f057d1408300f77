/**
 * How appends reach a rollout.
 *
 *   A1  Appends to one Response are taken one after another, in the order they came.
 *   A2  What passed the stages is applied in one step: the ledger is paid, the acknowledgement logged (S2).
 *   A3  A resend gets the acknowledgement its first sending got, even after the rollout has ended; whatever else
 *       comes after the end is refused.
 */
import type { EventLog } from './event-log.js';
import type { LogEntry } from './log-entry.js';
import { ProtocolError } from './protocol/errors.js';
import type { Item } from './protocol/items.js';
import { appendInputSchema } from './protocol/requests.js';
import type { Rollout } from './rollout.js';
import type { RolloutParts } from './rollout-parts.js';
import { isSameJson } from './same-json.js';
import type { PlannedAppend } from './suspension.js';
import type { Entry } from './transcript.js';

type AcceptedEntry = Extract<LogEntry, { type: 'response.append.accepted' }>;

export interface AppendOptions {
  /**
   * As a create that continues this Response: it answers every call that is owed, and a call echoed beside its output
   * is dropped. Default false: it may answer some.
   */
  readonly whole?: boolean;
  /**
   * Only while a turn is being sampled: once it has handed off, it is refused like one that comes after the end, unless
   * it is a resend. Default false.
   */
  readonly early?: boolean;
  /** In the same step as it is applied, `interrupt`. Default false. */
  readonly interrupt?: boolean;
}

/** An acknowledgement and its number in the log. */
export interface Acknowledgement {
  readonly entry: AcceptedEntry;
  readonly number: number;
}

/** What a resend has to find again: the number of its acknowledgement, and the messages that came beside the answers. */
interface Acknowledged {
  readonly number: number;
  readonly beside: readonly Item[];
}

export class Appends {
  readonly #rollout: Rollout;
  readonly #log: EventLog<LogEntry>;
  readonly #parts: RolloutParts;
  readonly #push: (entry: LogEntry) => number;
  /** How each answered call was first acknowledged; one per call of the rollout. */
  #acknowledged: Map<string, Acknowledged> | null = null;
  #last: Promise<void> | null = null;
  #waiting = 0;

  constructor(
    rollout: Rollout,
    log: EventLog<LogEntry>,
    parts: RolloutParts,
    push: (entry: LogEntry) => number,
  ) {
    this.#rollout = rollout;
    this.#log = log;
    this.#parts = parts;
    this.#push = push;
  }

  /** @throws ProtocolError; nothing of a refused append is applied. */
  append(input: unknown, options: AppendOptions): Promise<Acknowledgement> {
    if (this.#waiting >= this.#parts.limits.pendingAppendsMax)
      return Promise.reject(
        new ProtocolError('rate_limit_exceeded', 'Too many appends to this response are waiting.', {
          retryAfterSeconds: 1,
        }),
      );
    this.#waiting++;
    const append =
      this.#last === null ? this.#take(input, options) : this.#last.then(() => this.#take(input, options));
    const over = (): void => {
      this.#waiting--;
      if (this.#last === last) this.#last = null;
    };
    const last: Promise<void> = append.then(over, over);
    this.#last = last;
    return append;
  }

  async #take(input: unknown, options: AppendOptions): Promise<Acknowledgement> {
    if (!this.#live) return this.#resent(input);
    let plan: PlannedAppend | null = null;
    try {
      const entries = await this.#rollout.append(input, (items) => {
        plan = this.#plan(items, options.whole);
        this.#requireRoom(plan);
        return plan.items;
      });
      if (plan === null) throw new Error('the append was not validated');
      return this.#apply(plan, entries, options);
    } catch (fault) {
      throw this.#live ? fault : this.#tooLate(fault);
    }
  }

  #plan(items: readonly Item[], whole = false): PlannedAppend {
    const plan = this.#rollout.suspension.plan(items, this.#rollout.transcript, whole);
    const beside = this.#newestFor(plan.call_ids)?.beside ?? [];
    const same = beside.length > 0 && isSameJson(beside, plan.items);
    return same ? { ...plan, items: [], resend: true } : plan;
  }

  #apply(
    plan: PlannedAppend,
    entries: readonly Entry[],
    { whole, early, interrupt }: AppendOptions,
  ): Acknowledgement {
    const { suspension } = this.#rollout;
    const goesOn = whole === true && suspension.expectsMessage; // A create goes on even where it brings nothing new.
    if (plan.resend && plan.call_ids.length > 0 && !goesOn) return this.#acknowledgedBefore(plan.call_ids);
    if (!this.#live || (early === true && !this.#rollout.sampling)) throw this.#tooLate();
    suspension.pay(entries, whole);
    if (interrupt === true) this.#rollout.interrupt();
    const messages = plan.items.filter((item) => item.type === 'message');
    const entry: AcceptedEntry = {
      type: 'response.append.accepted',
      turn: this.#rollout.turnNumber,
      call_ids: plan.call_ids,
      messages: messages.length,
      required_input: suspension.requiredInput,
    };
    const number = this.#push(entry);
    const acknowledged = { number, beside: messages };
    const known = (this.#acknowledged ??= new Map());
    for (const callId of plan.call_ids) if (!known.has(callId)) known.set(callId, acknowledged);
    return this.#keptAt(number) ?? { entry, number };
  }

  #keptAt(number: number): Acknowledgement | null {
    const kept = number >= this.#log.first ? this.#log.from(number, 1)[0] : undefined;
    return kept?.type === 'response.append.accepted' ? { entry: kept, number } : null;
  }

  /** The newest acknowledgement of those calls; null where a create answered them. */
  #newestFor(callIds: readonly string[]): Acknowledged | null {
    let newest: Acknowledged | null = null;
    for (const callId of callIds) {
      const found = this.#acknowledged?.get(callId);
      if (found !== undefined && found.number > (newest?.number ?? -1)) newest = found;
    }
    return newest;
  }

  /** The first acknowledgement, or one that says how it stands now if that is no longer kept. */
  #acknowledgedBefore(callIds: readonly string[]): Acknowledgement {
    const number = this.#newestFor(callIds)?.number ?? 0;
    const kept = this.#keptAt(number);
    if (kept !== null) return kept;
    const turn = this.#rollout.turnNumber;
    const type = 'response.append.accepted';
    const required_input = this.#live ? this.#rollout.suspension.requiredInput : [];
    return { entry: { type, turn, call_ids: callIds, messages: 0, required_input }, number };
  }

  /** A turn may still follow, so that an append has somewhere to go. */
  get #live(): boolean {
    return !this.#parts.signal.aborted && !this.#rollout.ended;
  }

  #resent(input: unknown): Acknowledgement {
    const items = appendInputSchema.safeParse(input).data ?? [];
    try {
      const plan = this.#plan(items);
      // The output that says a call was aborted is the engine's own: nobody ever sent it.
      const acknowledged = plan.call_ids.every((callId) => this.#acknowledged?.has(callId) === true);
      if (plan.resend && plan.call_ids.length > 0 && acknowledged)
        return this.#acknowledgedBefore(plan.call_ids);
    } catch (refusal) {
      throw this.#tooLate(refusal);
    }
    throw this.#tooLate();
  }

  #tooLate(cause?: unknown): ProtocolError {
    return new ProtocolError(
      'response_already_completed',
      `Response ${this.#parts.id} has ended, or ends with this turn; it takes no more input.`,
      { param: 'response_id', cause },
    );
  }

  #requireRoom(plan: PlannedAppend): void {
    const { pendingMessagesMax } = this.#parts.limits;
    const messages = plan.items.filter((item) => item.type === 'message').length;
    if (this.#rollout.suspension.messagesPending + messages > pendingMessagesMax)
      throw new ProtocolError(
        'limit_exceeded',
        `At most ${pendingMessagesMax} messages may wait for a turn.`,
        {
          param: 'input',
        },
      );
  }
}
