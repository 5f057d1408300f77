/** One rollout as its client sees it: what to send next, and when everything happened. */
import { deferred, type Clock, type OutputItem, type ServerEvent, type Usage } from '../engine/index.js';
import { ClientHistory } from './client-history.js';
import { Patience } from './client-patience.js';
import {
  countsOf,
  emptyTurn,
  lastTurnUsage,
  RolloutError,
  type RolloutReport,
  type RunOptions,
  type TurnDraft,
  type TurnReport,
} from './client-report.js';
import { isCall, TurnTools, type ToolRun } from './client-tools.js';
import type { ClientDialect, Transport } from './designs.js';

type Ended = Extract<ServerEvent, { type: 'response.completed' }>['response'];

/** How a run's requests leave. */
export interface Requests {
  /** Bytes sent, and when nothing more can come of what answers it; null where its terminal event is the last. */
  create(fields: object): { readonly bytes: number; readonly over: Promise<void> | null };
  /** Returns the bytes that it sends. */
  append(responseId: string, input: readonly object[]): number;
  /** Nothing more is expected of the server: the run is to fail, and what would still come has to go nowhere. */
  cut(error: RolloutError): void;
}

export interface RunParts {
  readonly design: string;
  readonly transport: Transport;
  readonly dialect: ClientDialect;
  readonly clock: Clock;
  /** Silence of a server that owes something, in ms, after which the run is cut. */
  readonly silenceMsMax: number;
}

export class ClientRun {
  readonly report: Promise<RolloutReport>;
  readonly #parts: RunParts;
  readonly #options: RunOptions;
  readonly #patience: Patience;
  readonly #settle = deferred<RolloutReport>();
  readonly #turns: TurnReport[] = [];
  readonly #history: ClientHistory;
  readonly #responseIds: string[] = [];
  #requests: Requests | null = null;
  /** Of the newest create. */
  #answerOver: Promise<void> | null = null;
  #turn: TurnDraft;
  #tools: TurnTools;
  #startedAt = 0;
  #over = false;

  constructor(parts: RunParts, options: RunOptions) {
    this.#parts = parts;
    this.#options = options;
    const { after, request } = options;
    this.#history = new ClientHistory(after?.history ?? [], request.input);
    this.#turn = emptyTurn((after?.turns.at(-1)?.turn ?? 0) + 1, 0);
    this.#tools = this.#toolsOf(this.#turn.turn);
    this.#patience = new Patience(parts.clock, parts.silenceMsMax, () => this.#onSilence());
    this.report = this.#settle.promise;
  }

  /** The turn under way: whoever carries its bytes counts them there. */
  get turn(): TurnDraft {
    return this.#turn;
  }

  start(requests: Requests): void {
    this.#requests = requests;
    this.#startedAt = performance.now();
    this.#turn = emptyTurn(this.#turn.turn, this.#startedAt);
    const { request, after } = this.#options;
    if (after === undefined) this.#create(request);
    else this.#createOn(after.responseIds.at(-1), request.input);
  }

  fail(error: RolloutError): void {
    this.#over = true;
    this.#patience.end();
    this.#settle.reject(error);
  }

  /** Takes an event of this rollout. True when it was the last. */
  onEvent(event: ServerEvent, at: number): boolean {
    if (this.#over) return true;
    this.#patience.heard();
    this.#stamp(event, at);
    switch (event.type) {
      case 'response.created':
        this.#responseIds.push(event.response.id);
        break;
      case 'response.output_item.done':
        this.#itemDone(event.item);
        break;
      case 'response.done':
        void this.#handOff(event.required_input.length > 0, event.usage, at);
        break;
      case 'error':
      case 'response.append.failed':
        this.fail(new RolloutError(event.error.code, event.error.message, { event }));
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

  #stamp(event: ServerEvent, at: number): void {
    const turn = this.#turn;
    turn.framesDown++;
    if (turn.firstEventAt === 0) turn.firstEventAt = at;
    if (!('delta' in event) || event.delta === '') return;
    if (turn.firstTokenAt === 0) turn.firstTokenAt = at;
    turn.lastTokenAt = at;
    this.#options.onToken?.(turn.turn, at);
  }

  #itemDone(item: OutputItem): void {
    this.#history.add(item);
    if (!isCall(item)) return;
    this.#tools.add(item);
    if (this.#options.toolStart !== 'hand_off') this.#tools.start();
  }

  #toolsOf(turn: number): TurnTools {
    return new TurnTools(turn, this.#options.tool, (tool) => {
      if (this.#early) void this.#sendEarly(tool);
    });
  }

  get #early(): boolean {
    return this.#options.outputs === 'early' && this.#parts.dialect === 'append';
  }

  async #sendEarly(tool: ToolRun): Promise<void> {
    const output = await tool.done;
    if (!this.#over) this.#append([output]);
  }

  /** The turn is over and the rollout goes on: when the tools are done, the next turn is asked for. */
  async #handOff(owes: boolean, usage: Usage | null, at: number): Promise<void> {
    const tools = this.#tools.start();
    const { turn } = this.#close(usage, at);
    this.#turn = { ...emptyTurn(turn + 1, at), sentAt: at };
    // All of it before anything is awaited: where every output went early, the next turn's items may come with this event.
    this.#history.handOff(tools);
    this.#tools = this.#toolsOf(turn + 1);
    if (owes) this.#patience.end();
    const next = this.#turn;
    const outputs = await Promise.all(tools.map((tool) => tool.done));
    if (this.#over || !owes) return;
    next.readyAt = Math.max(at, performance.now());
    if (this.#early) next.sentAt = next.readyAt;
    else await this.#goOn(outputs);
  }

  /** Where the designs differ: what the next turn's request says. */
  async #goOn(outputs: readonly object[]): Promise<void> {
    if (this.#parts.dialect === 'append') this.#append(outputs);
    else {
      await this.#answerEnd();
      if (!this.#over) this.#createOn(this.#responseIds.at(-1), outputs);
    }
  }

  /** Goes on from a response with what is new, or with all of it. */
  #createOn(previous_response_id: string | undefined, input: unknown): void {
    const { request } = this.#options;
    if (this.#parts.dialect === 'replay') this.#create({ ...request, input: this.#history.sent });
    else this.#create({ ...request, previous_response_id, input });
  }

  /** A stream's end comes after its terminal event; until then its connection can take nothing else. */
  async #answerEnd(): Promise<void> {
    if (this.#answerOver === null) return;
    this.#patience.begin();
    await this.#answerOver;
  }

  #ended(response: Ended, at: number): void {
    const isAppend = this.#parts.dialect === 'append';
    if (!isAppend && response.status === 'completed' && this.#tools.count > 0) {
      void this.#handOff(true, response.usage, at);
      return;
    }
    this.#close(isAppend ? lastTurnUsage(this.#turns, response.usage) : response.usage, at);
    this.#over = true;
    void this.#report(response.status, at);
  }

  async #report(status: string, at: number): Promise<void> {
    await this.#answerEnd();
    this.#patience.end();
    const { design, transport } = this.#parts;
    this.#settle.resolve({
      design,
      transport,
      status,
      responseIds: this.#responseIds,
      turns: this.#turns,
      items: this.#history.items,
      history: this.#history.sent,
      ms: at - this.#startedAt,
      ...countsOf(this.#turns),
    });
  }

  /** The same object from draft to report, because the last bytes of an answer may come after its terminal event. */
  #close(usage: Usage | null, at: number): TurnReport {
    const turn = Object.assign(this.#turn, { calls: this.#tools.count, endedAt: at, usage });
    this.#turns.push(turn);
    return turn;
  }

  #create(fields: object): void {
    this.#send((requests) => {
      const { bytes, over } = requests.create(fields);
      this.#answerOver = over;
      return bytes;
    });
  }

  #append(outputs: readonly object[]): void {
    this.#send((requests) => requests.append(this.#responseIds.at(-1) ?? '', outputs));
  }

  /** What is no JSON (a tool's output, for one) fails the run alone. */
  #send(send: (requests: Requests) => number): void {
    const turn = this.#turn;
    turn.sentAt = performance.now();
    turn.framesUp++;
    this.#patience.begin();
    try {
      if (this.#requests !== null) turn.bytesUp += send(this.#requests);
    } catch (fault) {
      this.fail(new RolloutError('unsendable', `The request cannot be sent: ${String(fault)}`));
    }
  }

  #onSilence(): void {
    const silence = `The server said nothing for ${this.#parts.silenceMsMax} ms.`;
    this.#requests?.cut(new RolloutError('timeout', silence));
  }
}
