/**
 * The projection: log entries → numbered wire events of one protocol response (S6).
 *
 *   J1  Pure: the same entries give the same events, whoever reads and however often.
 *   J2  `native` shows a rollout as one Response, one event per entry, so a number on the wire is a number of the log.
 *   J3  `VirtualResponses` shows the same log as one response per turn: a hand-off is `response.completed`, the append
 *       that pays it is the next `response.created`, numbers and output indexes start again at 0. Where everything was
 *       paid before the hand-off, the next response begins at once.
 */
import type { LogEntry } from './log-entry.js';
import { callIdOf, settledFields, unfinish, wireUsage } from './response-object.js';
import type { OutputItem, ResponseObject, ServerEvent } from './protocol/server-events.js';

/** What the projection needs of the Response it shows. */
export interface ShownResponse {
  readonly id: string;
  /** As it was when created. */
  created(): ResponseObject;
  /** As it is now: read only for the terminal event, when it no longer changes. */
  snapshot(): ResponseObject;
}

function terminalType(
  status: ResponseObject['status'],
): 'response.completed' | 'response.failed' | 'response.incomplete' {
  if (status === 'completed') return 'response.completed';
  return status === 'failed' ? 'response.failed' : 'response.incomplete';
}

/** One entry as the event of a Response that lives as long as its log. */
export function nativeEvent(entry: LogEntry, sequenceNumber: number, response: ShownResponse): ServerEvent {
  switch (entry.type) {
    case 'response.created':
    case 'response.in_progress':
      return { type: entry.type, sequence_number: sequenceNumber, response: response.created() };
    case 'response.settled': {
      const snapshot = response.snapshot();
      return { type: terminalType(snapshot.status), sequence_number: sequenceNumber, response: snapshot };
    }
    case 'response.done':
      return {
        ...entry,
        sequence_number: sequenceNumber,
        response_id: response.id,
        output: [...entry.output],
        required_input: [...entry.required_input],
        usage: wireUsage(entry.usage),
      };
    case 'response.append.accepted':
      return {
        ...entry,
        sequence_number: sequenceNumber,
        response_id: response.id,
        call_ids: [...entry.call_ids],
        required_input: [...entry.required_input],
      };
    case 'response.output_text.delta':
    case 'response.output_text.done':
      return { ...entry, sequence_number: sequenceNumber, logprobs: [] };
    default:
      return { ...entry, sequence_number: sequenceNumber };
  }
}

type HandOffEntry = Extract<LogEntry, { type: 'response.done' }>;

/** The same log as one response per turn. A fold: feed it every entry, in order, from the first. */
export class VirtualResponses {
  readonly #created: ResponseObject;
  readonly #mintId: () => string;
  #current: ResponseObject;
  #output: OutputItem[] = [];
  /** Calls announced and not answered. */
  readonly #owed = new Set<string>();
  /** Messages for the next turn: after a warm-up, which owes nothing, one of them is what ends the wait. */
  #messages = 0;
  #sequence = 0;
  #indexBase = 0;
  #indexNext = 0;
  #open = true;

  /** The first virtual response has the id of `created`; the later ones get minted ids. */
  constructor(created: ResponseObject, mintId: () => string) {
    this.#created = created;
    this.#current = created;
    this.#mintId = mintId;
  }

  get id(): string {
    return this.#current.id;
  }

  project(entry: LogEntry): ServerEvent[] {
    switch (entry.type) {
      case 'response.done':
        return [
          this.#close({ status: 'completed', error: null, incomplete_details: null }, wireUsage(entry.usage)),
          ...this.#goOn(entry),
        ];
      case 'response.append.accepted':
        for (const callId of entry.call_ids) this.#owed.delete(callId);
        this.#messages += entry.messages;
        return this.#open ? [] : this.#goOn(entry);
      case 'response.settled':
        return this.#settle(entry);
      case 'response.created':
      case 'response.in_progress':
        return this.#open ? [this.#number(nativeEvent(entry, 0, this.#shown()))] : [];
      default:
        return [this.#inItem(entry)];
    }
  }

  #inItem(
    entry: Exclude<
      LogEntry,
      {
        readonly type:
          | 'response.created'
          | 'response.in_progress'
          | 'response.done'
          | 'response.append.accepted'
          | 'response.settled';
      }
    >,
  ): ServerEvent {
    const callId = entry.type === 'response.output_item.added' ? callIdOf(entry.item) : null;
    if (callId !== null) this.#owed.add(callId);
    this.#indexNext = Math.max(this.#indexNext, entry.output_index + 1);
    const rebased = { ...entry, output_index: entry.output_index - this.#indexBase };
    if (rebased.type === 'response.output_item.done') this.#output[rebased.output_index] = rebased.item;
    return this.#number(nativeEvent(rebased, 0, this.#shown()));
  }

  /** A rollout that ends while suspended ends no response: its last hand-off has already completed one. */
  #settle(entry: Extract<LogEntry, { type: 'response.settled' }>): ServerEvent[] {
    if (!this.#open) return [];
    return [this.#close(settledFields(entry.outcome), wireUsage(entry.usage))];
  }

  #close(
    fields: Pick<ResponseObject, 'status' | 'error' | 'incomplete_details'>,
    usage: ResponseObject['usage'],
  ): ServerEvent {
    this.#open = false;
    const output = fields.status === 'completed' ? this.#output : unfinish(this.#output, this.#owed);
    const response = { ...this.#current, ...fields, completed_at: this.#created.created_at, output, usage };
    return this.#number({ type: terminalType(fields.status), sequence_number: 0, response });
  }

  /** Begins the next response where nothing is waited for any more. */
  #goOn({ turn, required_input }: Pick<HandOffEntry, 'turn' | 'required_input'>): ServerEvent[] {
    if (required_input.length > 0 || (turn === 0 && this.#messages === 0)) return [];
    this.#messages = 0;
    this.#current = { ...this.#created, id: this.#mintId(), previous_response_id: this.#current.id };
    this.#output = [];
    this.#sequence = 0;
    this.#indexBase = this.#indexNext;
    this.#open = true;
    return (['response.created', 'response.in_progress'] as const).map((type) =>
      this.#number(nativeEvent({ type }, 0, this.#shown())),
    );
  }

  #shown(): ShownResponse {
    return { id: this.#current.id, created: () => this.#current, snapshot: () => this.#current };
  }

  #number(event: ServerEvent): ServerEvent {
    return { ...event, sequence_number: this.#sequence++ };
  }
}
