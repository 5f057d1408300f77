/**
 * The projection: log entries → numbered wire events of one protocol response (S6).
 *
 *   J1  Pure: the same entries give the same events, whoever reads and however often.
 *   J2  `native` shows a rollout as one Response, one event per entry, so a number on the wire is a number of the log.
 *   J3  `VirtualResponse` shows a window of the same log as a response of its own: a hand-off is `response.completed`,
 *       numbers and output indexes start at 0, and what the native dialect has for itself is not shown. Where every call
 *       was paid before the hand-off nothing is handed off, and the window goes on.
 */
import { owedCallId } from './calls.js';
import { owesAnswer, requiredInputFor } from './calls.js';
import type { LogEntry, StreamEntry, TurnUsage } from './log-entry.js';
import { addUsage, callIdOf, settledFields, unfinish, wireUsage } from './response-object.js';
import type { OutputItem, RequiredInput, ResponseObject, ServerEvent } from './protocol/server-events.js';

/** What the projection needs of the Response it shows. */
export interface ShownResponse {
  readonly id: string;
  /** As it was when created. */
  created(): ResponseObject;
  /** As it is now: read only for the terminal event, when it no longer changes. */
  snapshot(): ResponseObject;
}

type TerminalType = 'response.completed' | 'response.failed' | 'response.incomplete';

function terminalType(status: ResponseObject['status']): TerminalType {
  if (status === 'completed') return 'response.completed';
  return status === 'failed' ? 'response.failed' : 'response.incomplete';
}

type HandOffEntry = Extract<LogEntry, { type: 'response.done' }>;

function handedOff(entry: HandOffEntry, sequence_number: number, response_id: string): ServerEvent {
  const { type, turn, interrupted } = entry;
  const output = [...entry.output];
  const required_input = [...entry.required_input];
  const usage = wireUsage(entry.usage);
  const done = { type, turn, output, required_input, usage, sequence_number, response_id };
  return interrupted === undefined ? done : { ...done, interrupted };
}

/**
 * One entry as the event of a Response that lives as long as its log. What somebody waits for is written out: to copy it
 * by spread costs more than to serialise it.
 */
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
      return handedOff(entry, sequenceNumber, response.id);
    case 'response.append.accepted':
      return {
        type: entry.type,
        turn: entry.turn,
        call_ids: [...entry.call_ids],
        messages: entry.messages,
        required_input: [...entry.required_input],
        sequence_number: sequenceNumber,
        response_id: response.id,
      };
    case 'response.output_text.delta':
    case 'response.output_text.done':
      return { ...entry, sequence_number: sequenceNumber, logprobs: [] };
    default:
      return { ...entry, sequence_number: sequenceNumber };
  }
}

type WholeType = 'response.created' | 'response.in_progress' | TerminalType;
type Ending = Pick<ResponseObject, 'status' | 'error' | 'incomplete_details'>;

/** Where an item's event stands in a window. */
export interface Place {
  readonly sequence_number: number;
  readonly output_index: number;
}

export interface WindowOptions {
  /** Output items of the log before the window: the first one shown has index 0. */
  readonly outputItems: number;
  /** Whole seconds since 1970, for `completed_at`. */
  readonly unixSeconds: () => number;
  /** A hand-off does not end it: the window goes on to the end of the rollout. Default false. */
  readonly throughout?: boolean;
  /** Calls that whoever is shown the window has answered already. */
  readonly answered?: ReadonlySet<string>;
}

/** A window of a log as one protocol response. A fold: `begin` it, then feed it every entry of the window, in order. */
export class VirtualResponse {
  /** Shown its terminal event: nothing after it belongs to this response. */
  over = false;
  /** The turn whose hand-off ended it; null while it runs, or where the rollout ended with it. */
  handedOff: number | null = null;
  readonly #created: ResponseObject;
  readonly #options: WindowOptions;
  readonly #output: OutputItem[] = [];
  readonly #calls: string[] = [];
  /** Those among them that are not answered. */
  readonly #owed = new Set<string>();
  #usage: TurnUsage | null = null;
  #sequence = 0;
  #snapshot: ResponseObject;

  /** @param created the response as it is when it begins; its id is the caller's choice. */
  constructor(created: ResponseObject, options: WindowOptions) {
    this.#created = created;
    this.#snapshot = created;
    this.#options = options;
  }

  get id(): string {
    return this.#created.id;
  }

  /** Calls that it has announced, in call order. */
  get callIds(): readonly string[] {
    return this.#calls;
  }

  /** The response as its newest event of the whole shows it. */
  get snapshot(): ResponseObject {
    return this.#snapshot;
  }

  /** Number of the newest event shown; -1 before the first. */
  get lastNumber(): number {
    return this.#sequence - 1;
  }

  /** Whether its client owes an answer to a call that it has announced. */
  owes(callId: string): boolean {
    return this.#owed.has(callId);
  }

  /** What its client owes: the calls of its finished items that nobody has answered, in call order. */
  get requiredInput(): RequiredInput[] {
    return Object.values(this.#output).flatMap((item) => {
      const call_id = callIdOf(item);
      if (call_id === null || !this.#owed.has(call_id)) return [];
      const name = 'name' in item && typeof item.name === 'string' ? item.name : undefined;
      return [requiredInputFor({ call_id, type: item.type, name })];
    });
  }

  /** The events before the first entry. */
  begin(): ServerEvent[] {
    return (['response.created', 'response.in_progress'] as const).map((type) => this.#whole(type));
  }

  /** The place of an item's event, null for an item before the window. Counts the event as shown. */
  place(entry: StreamEntry): Place | null {
    const output_index = entry.output_index - this.#options.outputItems;
    if (output_index < 0) return null;
    if (entry.type === 'response.output_item.done') this.#output[output_index] = entry.item;
    else if (entry.type === 'response.output_item.added') {
      const callId = owedCallId(entry.item);
      if (callId !== null) {
        this.#calls.push(callId);
        if (owesAnswer(entry.item) && this.#options.answered?.has(callId) !== true) this.#owed.add(callId);
      }
    }
    return { sequence_number: this.#sequence++, output_index };
  }

  /** The event an entry gives, or null for one that is not shown here. */
  project(entry: LogEntry): ServerEvent | null {
    switch (entry.type) {
      case 'response.created':
        return null;
      case 'response.append.accepted':
        for (const callId of entry.call_ids) this.#owed.delete(callId);
        return null;
      case 'response.in_progress':
        return this.#whole(entry.type);
      case 'response.done':
        return this.#handOff(entry);
      case 'response.settled':
        this.#count(entry.usage);
        return this.#close(settledFields(entry.outcome));
      default: {
        const place = this.place(entry);
        if (place === null) return null;
        const moved = { ...entry, output_index: place.output_index };
        return nativeEvent(moved, place.sequence_number, this.#shown());
      }
    }
  }

  #handOff({ turn, output, required_input, usage, interrupted }: HandOffEntry): ServerEvent | null {
    this.#count(usage);
    const due = required_input.filter(({ call_id }) => this.#options.answered?.has(call_id) !== true);
    const paid = turn > 0 && due.length === 0 && output.some((item) => callIdOf(item) !== null);
    if (paid || this.#options.throughout === true) return null;
    this.handedOff = turn;
    if (interrupted === true)
      return this.#close({ status: 'incomplete', error: null, incomplete_details: { reason: 'steered' } });
    return this.#close({ status: 'completed', error: null, incomplete_details: null });
  }

  #close(ending: Ending): ServerEvent {
    this.over = true;
    const shown = Object.values(this.#output);
    const output = ending.status === 'completed' ? shown : unfinish(shown, this.#owed);
    const usage = this.#usage === null ? null : wireUsage(this.#usage);
    const completed_at = this.#options.unixSeconds();
    this.#snapshot = { ...this.#created, ...ending, completed_at, output, usage };
    return this.#whole(terminalType(ending.status));
  }

  #count(turn: TurnUsage): void {
    this.#usage = this.#usage === null ? turn : addUsage(this.#usage, turn);
  }

  #shown(): ShownResponse {
    return { id: this.id, created: () => this.#created, snapshot: () => this.#snapshot };
  }

  #whole(type: WholeType): ServerEvent {
    return { type, sequence_number: this.#sequence++, response: this.#snapshot };
  }
}
