/** What a client's rollout takes and gives: tools, options, the report. */
import type { ServerEvent, Usage } from '../engine/index.js';
import type { Transport } from './designs.js';

/** A call to run. */
export interface ClientToolCall {
  readonly call_id: string;
  readonly type: string;
  readonly name: string;
  /** JSON of a function call, or the input of a custom one. */
  readonly arguments: string;
  /** From 1. */
  readonly turn: number;
  /** From 0, within the turn. */
  readonly index: number;
}

export interface RunOptions {
  /** Fields of `response.create`: model, input, instructions, tools, metadata, … */
  readonly request: { readonly input: unknown; readonly [field: string]: unknown };
  /**
   * The rollout before, on whose conversation this one goes on: `request.input` is what the user says next, and turns are
   * numbered on. Over a socket in the chain design it has to have run on this client.
   */
  readonly after?: RolloutReport;
  /** Runs a tool; resolves with its output. A rejection becomes an output that says so. */
  readonly tool: (call: ClientToolCall) => Promise<string | readonly object[]>;
  /** When a tool starts: at its `output_item.done` (default), or when the turn hands off. */
  readonly toolStart?: 'item_done' | 'hand_off';
  /** When outputs go back: all of a turn at its hand-off (default), or each as soon as it is there (append only). */
  readonly outputs?: 'hand_off' | 'early';
  /** Called at every delta that is not empty, with its turn and when it came, in ms of `performance.now()`. */
  readonly onToken?: (turn: number, at: number) => void;
}

/**
 * What went over the wire. On a socket: frames, and the bytes of their payload. Over HTTP a frame up is the body of a
 * request, a frame down an event of a stream or the body of another answer; bytes are those of bodies, with the framing
 * of the events and the end mark, without HTTP's own headers and chunk lengths.
 */
export interface Counts {
  readonly framesUp: number;
  readonly bytesUp: number;
  readonly framesDown: number;
  readonly bytesDown: number;
}

/** One turn. Times are milliseconds of `performance.now()`. */
export interface TurnReport extends Counts {
  readonly turn: number;
  readonly calls: number;
  /** Everything the turn needed was there: for turn 1 the request, later the last tool output and the hand-off. */
  readonly readyAt: number;
  /** Its request was handed to the connection. */
  readonly sentAt: number;
  readonly firstEventAt: number;
  /** The first delta of any kind that is not empty. */
  readonly firstTokenAt: number;
  readonly lastTokenAt: number;
  /** The hand-off, or the terminal event. */
  readonly endedAt: number;
  /** Of the last turn of a long Response only what it added: its terminal event has totals, cached tokens among them. */
  readonly usage: Usage | null;
}

export interface RolloutReport extends Counts {
  readonly design: string;
  readonly transport: Transport;
  readonly status: string;
  readonly responseIds: readonly string[];
  readonly turns: readonly TurnReport[];
  /** Every item after the first input, in order: what the model wrote and what the tools answered. */
  readonly items: readonly object[];
  /** The whole conversation as a client would send it, without what was compacted. */
  readonly history: readonly unknown[];
  /** From handing over the first create to the terminal event. */
  readonly ms: number;
}

/** What a client that sends the whole history sends before what has been written and answered. */
export function firstItems(input: unknown): readonly unknown[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return Array.isArray(input) ? input : [];
}

/** A turn under way: what is counted in it changes. */
export type TurnDraft = { -readonly [Field in keyof TurnReport]: TurnReport[Field] };

export function emptyTurn(turn: number, readyAt: number): TurnDraft {
  const times = { readyAt, sentAt: 0, firstEventAt: 0, firstTokenAt: 0, lastTokenAt: 0, endedAt: 0 };
  return { turn, calls: 0, ...times, framesUp: 0, bytesUp: 0, framesDown: 0, bytesDown: 0, usage: null };
}

export function countsOf(turns: readonly TurnReport[]): Counts {
  const sum = (field: keyof Counts): number => turns.reduce((total, turn) => total + turn[field], 0);
  return {
    framesUp: sum('framesUp'),
    bytesUp: sum('bytesUp'),
    framesDown: sum('framesDown'),
    bytesDown: sum('bytesDown'),
  };
}

/** The terminal event of one long Response has totals; what the turns before have not told is the last turn's. */
export function lastTurnUsage(before: readonly TurnReport[], total: Usage | null): Usage | null {
  const told = before.flatMap((turn) => turn.usage ?? []);
  if (total === null || told.length === 0) return total;
  const left = (count: (usage: Usage) => number): number =>
    told.reduce((rest, usage) => rest - count(usage), count(total));
  const input = left((usage) => usage.input_tokens - usage.input_tokens_details.cached_tokens);
  const output = left((usage) => usage.output_tokens);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: {
      reasoning_tokens: left((usage) => usage.output_tokens_details.reasoning_tokens),
    },
    total_tokens: input + output,
  };
}

/** An error the server sent, or the connection's end. */
export class RolloutError extends Error {
  override readonly name = 'RolloutError';
  /**
   * The server's, or the client's own: `upgrade_refused`, `request_refused` (an answer without an error body),
   * `socket_closed`, `client_closed`, `connection_failed`, `stream_cut`, `timeout`, `invalid_event`, `unsendable`.
   */
  readonly code: string;
  /** The event it came with; null over HTTP, where a refusal is an answer. */
  readonly event: ServerEvent | null;
  /** The status of the HTTP answer it came with, or null. */
  readonly status: number | null;

  constructor(
    code: string,
    message: string,
    { event = null, status = null }: { event?: ServerEvent | null; status?: number | null } = {},
  ) {
    super(message);
    this.code = code;
    this.event = event;
    this.status = status;
  }
}
