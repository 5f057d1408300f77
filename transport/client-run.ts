/** One rollout as its client sees it: what to send next, and when everything happened. */
import {
  deferred,
  toProtocolError,
  type OutputItem,
  type RequiredInput,
  type ServerEvent,
  type Usage,
} from '../engine/index.js';

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

type Draft = { -readonly [Field in keyof TurnReport]: TurnReport[Field] };
type CallItem = Extract<OutputItem, { call_id: string }>;

function emptyTurn(turn: number, readyAt: number): Draft {
  const times = { readyAt, sentAt: 0, firstEventAt: 0, firstTokenAt: 0, lastTokenAt: 0, endedAt: 0 };
  return { turn, calls: 0, ...times, framesUp: 0, bytesUp: 0, framesDown: 0, bytesDown: 0, usage: null };
}

function isCall(item: OutputItem): item is CallItem {
  return 'call_id' in item && typeof item.call_id === 'string';
}

export class ClientRun {
  readonly report: Promise<RolloutReport>;
  readonly #design: string;
  readonly #options: RunOptions;
  readonly #send: (event: object) => number;
  readonly #settle = deferred<RolloutReport>();
  readonly #turns: TurnReport[] = [];
  readonly #items: object[] = [];
  readonly #responseIds: string[] = [];
  /** Calls of this turn in call order, and the outputs that are under way. */
  #calls: CallItem[] = [];
  #tools = new Map<string, Promise<object>>();
  #turn = emptyTurn(1, 0);
  #startedAt = 0;
  #over = false;

  constructor(design: string, options: RunOptions, send: (event: object) => number) {
    this.#design = design;
    this.#options = options;
    this.#send = send;
    this.report = this.#settle.promise;
  }

  start(): void {
    this.#startedAt = performance.now();
    this.#turn = emptyTurn(1, this.#startedAt);
    this.#put({ type: 'response.create', ...this.#options.request });
  }

  fail(error: RolloutError): void {
    this.#over = true;
    this.#settle.reject(error);
  }

  /** Takes an event of this rollout. True when it was the last. */
  onEvent(event: ServerEvent, at: number, bytes: number): boolean {
    if (this.#over) return true;
    this.#count(event, at, bytes);
    switch (event.type) {
      case 'response.created':
        this.#responseIds.push(event.response.id);
        break;
      case 'response.output_item.done':
        this.#itemDone(event.item);
        break;
      case 'response.done':
        void this.#handOff(event.required_input, event.usage, at);
        break;
      case 'error':
      case 'response.append.failed':
        this.fail(new RolloutError(event.error.code, event.error.message, event));
        break;
      case 'response.completed':
      case 'response.failed':
      case 'response.incomplete':
        this.#ended(event.response, at);
        break;
      default:
    }
    return this.#over;
  }

  #count(event: ServerEvent, at: number, bytes: number): void {
    const turn = this.#turn;
    turn.framesDown++;
    turn.bytesDown += bytes;
    if (turn.firstEventAt === 0) turn.firstEventAt = at;
    if ('delta' in event && event.delta !== '') {
      if (turn.firstTokenAt === 0) turn.firstTokenAt = at;
      turn.lastTokenAt = at;
    }
  }

  #itemDone(item: OutputItem): void {
    this.#items.push(item);
    if (!isCall(item)) return;
    this.#calls.push(item);
    if (this.#options.toolStart !== 'hand_off') this.#startTool(item);
  }

  #startTool(item: CallItem): void {
    const call = {
      call_id: item.call_id,
      type: item.type,
      name: 'name' in item && typeof item.name === 'string' ? item.name : item.type,
      arguments: String('arguments' in item ? item.arguments : 'input' in item ? item.input : ''),
      turn: this.#turn.turn,
      index: this.#calls.indexOf(item),
    };
    const tool = this.#runTool(call);
    this.#tools.set(item.call_id, tool);
    if (this.#options.outputs === 'early' && this.#design === 'append') void this.#sendEarly(tool);
  }

  async #runTool(call: ClientToolCall): Promise<object> {
    let output: string | readonly object[];
    try {
      output = await this.#options.tool(call);
    } catch (fault) {
      output = `The tool failed: ${toProtocolError(fault).message}`;
    }
    return { type: `${call.type}_output`, call_id: call.call_id, output };
  }

  async #sendEarly(tool: Promise<object>): Promise<void> {
    const output = await tool;
    if (!this.#over)
      this.#put({ type: 'response.append', response_id: this.#responseIds.at(-1), input: [output] });
  }

  /** The turn is over and the rollout goes on: when the tools are done, the next turn is asked for. */
  async #handOff(required: readonly RequiredInput[], usage: Usage | null, at: number): Promise<void> {
    const calls = this.#calls;
    const { turn } = this.#close(usage, at);
    const early = this.#options.outputs === 'early' && this.#design === 'append';
    this.#turn = emptyTurn(turn + 1, at);
    for (const call of calls) if (!this.#tools.has(call.call_id)) this.#startTool(call);
    const outputs = await Promise.all(calls.flatMap((call) => this.#tools.get(call.call_id) ?? []));
    this.#calls = [];
    this.#tools = new Map();
    this.#items.push(...outputs);
    if (this.#over || required.length === 0) return;
    this.#turn.readyAt = Math.max(at, performance.now());
    if (early) this.#turn.sentAt = this.#turn.readyAt;
    else this.#put(this.#nextRequest(outputs));
  }

  /** Where the designs differ: what the next turn's frame says. */
  #nextRequest(outputs: readonly object[]): object {
    const { request } = this.#options;
    if (this.#design === 'append')
      return { type: 'response.append', response_id: this.#responseIds.at(-1), input: outputs };
    if (this.#design === 'chain') {
      const previous_response_id = this.#responseIds.at(-1);
      return { type: 'response.create', ...request, previous_response_id, input: outputs };
    }
    return { type: 'response.create', ...request, input: [...firstInput(request.input), ...this.#items] };
  }

  #ended(response: { status: string; usage: Usage | null; output: readonly OutputItem[] }, at: number): void {
    const owes = this.#design !== 'append' && response.status === 'completed' && this.#calls.length > 0;
    if (owes) {
      void this.#handOff(this.#calls, response.usage, at);
      return;
    }
    this.#close(this.#lastTurnUsage(response.usage), at);
    this.#over = true;
    const sum = (field: 'framesUp' | 'bytesUp' | 'framesDown' | 'bytesDown'): number =>
      this.#turns.reduce((total, turn) => total + turn[field], 0);
    this.#settle.resolve({
      design: this.#design,
      status: response.status,
      responseIds: this.#responseIds,
      turns: this.#turns,
      items: this.#items,
      ms: at - this.#startedAt,
      framesUp: sum('framesUp'),
      bytesUp: sum('bytesUp'),
      framesDown: sum('framesDown'),
      bytesDown: sum('bytesDown'),
    });
  }

  /** The terminal event of one long Response has totals; what the turns before have not told is the last turn's. */
  #lastTurnUsage(total: Usage | null): Usage | null {
    if (this.#design !== 'append' || total === null) return total;
    const told = this.#turns.flatMap((turn) => turn.usage ?? []);
    const left = (field: 'input_tokens' | 'output_tokens' | 'total_tokens'): number =>
      told.reduce((rest, usage) => rest - usage[field], total[field]);
    const cached = told.reduce(
      (rest, usage) => rest - usage.input_tokens_details.cached_tokens,
      total.input_tokens_details.cached_tokens,
    );
    return {
      ...total,
      input_tokens: left('input_tokens'),
      input_tokens_details: { cached_tokens: cached },
      output_tokens: left('output_tokens'),
      total_tokens: left('total_tokens'),
    };
  }

  #close(usage: Usage | null, at: number): TurnReport {
    const turn = { ...this.#turn, calls: this.#calls.length, endedAt: at, usage };
    this.#turns.push(turn);
    return turn;
  }

  #put(event: object): void {
    this.#turn.sentAt = performance.now();
    this.#turn.framesUp++;
    this.#turn.bytesUp += this.#send(event);
  }
}

function firstInput(input: unknown): readonly unknown[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return Array.isArray(input) ? input : [];
}
