/** One rollout as its client sees it: what to send next, and when everything happened. */
import {
  deferred,
  type OutputItem,
  type RequiredInput,
  type ServerEvent,
  type Usage,
} from '../engine/index.js';
import {
  RolloutError,
  ToolRun,
  type ClientToolCall,
  type RolloutReport,
  type RunOptions,
  type TurnReport,
} from './client-report.js';

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
  /** What was written and answered, in order; a tool's place is taken at the hand-off, before it is done. */
  readonly #transcript: (object | ToolRun)[] = [];
  readonly #responseIds: string[] = [];
  /** Calls of this turn in call order, and the outputs that are under way. */
  #calls: CallItem[] = [];
  #tools = new Map<string, ToolRun>();
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
    this.#transcript.push(item);
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
    const tool = new ToolRun(this.#runTool(call));
    this.#tools.set(item.call_id, tool);
    if (this.#options.outputs === 'early' && this.#design === 'append') void this.#sendEarly(tool);
  }

  async #runTool(call: ClientToolCall): Promise<object> {
    let output: string | readonly object[];
    try {
      output = await this.#options.tool(call);
    } catch (fault) {
      output = `The tool failed: ${fault instanceof Error ? fault.message : String(fault)}`;
    }
    return { type: `${call.type}_output`, call_id: call.call_id, output };
  }

  async #sendEarly(tool: ToolRun): Promise<void> {
    const output = await tool.done;
    if (!this.#over)
      this.#put({ type: 'response.append', response_id: this.#responseIds.at(-1), input: [output] });
  }

  /** The turn is over and the rollout goes on: when the tools are done, the next turn is asked for. */
  async #handOff(required: readonly RequiredInput[], usage: Usage | null, at: number): Promise<void> {
    const calls = this.#calls;
    for (const call of calls) if (!this.#tools.has(call.call_id)) this.#startTool(call);
    const tools = calls.flatMap((call) => this.#tools.get(call.call_id) ?? []);
    const { turn } = this.#close(usage, at);
    this.#turn = { ...emptyTurn(turn + 1, at), sentAt: at };
    // All of it before anything is awaited: where every output went early, the next turn's items may come with this event.
    this.#transcript.push(...tools);
    this.#calls = [];
    this.#tools = new Map();
    const outputs = await Promise.all(tools.map((tool) => tool.done));
    if (this.#over || required.length === 0) return;
    this.#turn.readyAt = Math.max(at, performance.now());
    const early = this.#options.outputs === 'early' && this.#design === 'append';
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
    return { type: 'response.create', ...request, input: [...firstInput(request.input), ...this.#items()] };
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
      items: this.#items(),
      ms: at - this.#startedAt,
      framesUp: sum('framesUp'),
      bytesUp: sum('bytesUp'),
      framesDown: sum('framesDown'),
      bytesDown: sum('bytesDown'),
    });
  }

  /** The terminal event of one long Response has totals; what the turns before have not told is the last turn's. */
  #lastTurnUsage(total: Usage | null): Usage | null {
    const told = this.#turns.flatMap((turn) => turn.usage ?? []);
    if (this.#design !== 'append' || total === null || told.length === 0) return total;
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

  #items(): object[] {
    return this.#transcript.flatMap((entry) => (entry instanceof ToolRun ? (entry.output ?? []) : entry));
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
