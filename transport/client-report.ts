/** What a client's rollout takes and gives: tools, options, the report. */
import type { ServerEvent, Usage } from '../engine/index.js';

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
  /** Runs a tool; resolves with its output. A rejection becomes an output that says so. */
  readonly tool: (call: ClientToolCall) => Promise<string | readonly object[]>;
  /** When a tool starts: at its `output_item.done` (default), or when the turn hands off. */
  readonly toolStart?: 'item_done' | 'hand_off';
  /** When outputs go back: all of a turn at its hand-off (default), or each as soon as it is there (append only). */
  readonly outputs?: 'hand_off' | 'early';
}

/** One turn. Times are milliseconds of `performance.now()`. */
export interface TurnReport {
  readonly turn: number;
  readonly calls: number;
  /** Everything the turn needed was there: for turn 1 the request, later the last tool output and the hand-off. */
  readonly readyAt: number;
  /** Its frame was handed to the socket. */
  readonly sentAt: number;
  readonly firstEventAt: number;
  /** The first delta of any kind that is not empty. */
  readonly firstTokenAt: number;
  readonly lastTokenAt: number;
  /** The hand-off, or the terminal event. */
  readonly endedAt: number;
  readonly framesUp: number;
  readonly bytesUp: number;
  readonly framesDown: number;
  readonly bytesDown: number;
  /** Of the last turn of a long Response only what it added: its terminal event has totals, cached tokens among them. */
  readonly usage: Usage | null;
}

export interface RolloutReport {
  readonly design: string;
  readonly status: string;
  readonly responseIds: readonly string[];
  readonly turns: readonly TurnReport[];
  /** Every item after the first input, in order: what the model wrote and what the tools answered. */
  readonly items: readonly object[];
  /** From handing over the first create to the terminal event. */
  readonly ms: number;
  readonly framesUp: number;
  readonly bytesUp: number;
  readonly framesDown: number;
  readonly bytesDown: number;
}

/** An error the server sent, or the socket's end. */
export class RolloutError extends Error {
  override readonly name = 'RolloutError';
  readonly code: string;
  readonly event: ServerEvent | null;

  constructor(code: string, message: string, event: ServerEvent | null = null) {
    super(message);
    this.code = code;
    this.event = event;
  }
}

/** A tool at work, and its output item once there is one. */
export class ToolRun {
  readonly done: Promise<object>;
  output: object | null = null;

  constructor(done: Promise<object>) {
    this.done = done.then((output) => (this.output = output));
  }
}
