/**
 * One rollout in virtual time: the engine's own code on the virtual clock, a client that counts in place of reading, and a
 * network by formula between them.
 *
 *   V1  The engine, its stages, its samplers and its loop are the ones that serve real clients. Simulated are the
 *       network, the tools, the text, and what the profile costs.
 *   V2  `playVirtual` gives every rollout a clock and an engine of its own, so that its times depend on nothing that ran
 *       before it. Rollouts that are to get in each other's way share a server (capacity.ts).
 *   V3  A time at the client is the time at the server plus half a round trip; nothing else of it is estimated.
 */
import { onAbort } from '../../engine/abort.js';
import { deferred, type Kept, type LiveResponse, type LogEntry, type StageRuns } from '../../engine/index.js';
import {
  otherModelName,
  requestsOf,
  rolloutOf,
  scenarioModelName,
  turnsOf,
  type Rollout,
} from '../../scenarios/index.js';
import { setupMs } from '../network/model.js';
import type { Work } from '../service/stage.js';
import { obligationsFor, type VirtualArm } from './arm.js';
import { itemBytes, requestBytes } from './bytes.js';
import type { VirtualCell } from './cell.js';
import { VirtualClient, type Output, type VirtualTurn } from './client.js';
import { countedRequest, countedScript, countedText } from './counted.js';
import { Line } from './line.js';
import { VirtualServer } from './server.js';
import type { Spans } from './spans.js';

export type { MachineCosts, VirtualCell } from './cell.js';

/** What one rollout came to, in virtual milliseconds. */
export interface RolloutTimes {
  readonly status: string;
  readonly e2e_ms: number;
  readonly tool_ms: number;
  readonly true_tool_ms: number;
  readonly turns: readonly VirtualTurn[];
}

export interface PlayedRollout extends RolloutTimes {
  readonly stage_runs: StageRuns;
  readonly work: readonly Work[];
}

/** A turn is over: the Response goes on when it is answered, or has ended. */
type TurnEnd = Extract<LogEntry, { type: 'response.done' | 'response.settled' }>;

/** Plays one rollout against a server, from when `play` is called. */
export class Player {
  readonly #server: VirtualServer;
  readonly #cell: VirtualCell;
  readonly #arm: VirtualArm;
  readonly #client: VirtualClient;
  readonly #line: Line;
  readonly #rollout: Rollout;
  /** In its requests, and the conversation at the server. */
  readonly name: string;
  /** What every create of the rollout says. */
  readonly #fixed;
  readonly #signal: AbortSignal;
  readonly #spans: Spans | null;
  /** The Response under way, and its next entry. */
  #response: LiveResponse | null = null;
  #next = 0;
  #model = scenarioModelName;

  /**
   * Where the signal aborts, the client goes away; what it has running at the server is for others to cancel. Spans are
   * taken down where somebody wants them.
   */
  constructor(
    server: VirtualServer,
    cell: VirtualCell,
    arm: VirtualArm,
    index: number,
    signal: AbortSignal,
    spans: Spans | null = null,
  ) {
    this.#spans = spans;
    this.#server = server;
    this.#cell = cell;
    this.#arm = arm;
    this.#rollout = rolloutOf(cell.scenario, cell.seed, index);
    this.name = String(index);
    const metadata = { scenario: cell.scenario.name, seed: String(cell.seed), rollout: this.name };
    this.#fixed = { ...countedRequest(cell.scenario), metadata };
    this.#signal = signal;
    this.#line = new Line(cell, arm);
    this.#client = new VirtualClient({
      turns: turnsOf(this.#rollout),
      toolScale: cell.toolScale,
      turnEndMs: cell.machine?.[arm.name]?.turn_end_ms ?? 0,
      prefillTokensPerSecond: cell.prefillTokensPerSecond,
    });
  }

  /** What the client sees, also while it plays. */
  get client(): Pick<VirtualClient, 'turns' | 'turn'> {
    return this.#client;
  }

  async play(): Promise<RolloutTimes> {
    const { network, cold } = this.#cell;
    const { scripts } = this.#server;
    const startedAt = this.#clock.now();
    // Held all along, so that its many waits find a listener on the signal that is there already.
    using _held = onAbort(this.#signal, () => undefined);
    scripts.set(this.name, countedScript(turnsOf(this.#rollout)));
    try {
      if (cold) await this.#sleep(setupMs(network, this.#arm.transport));
      this.#spans?.add('connect', 'network', 1, startedAt, this.#clock.now());
      const status = await this.#requests();
      const { toolMs, trueToolMs, turns } = this.#client;
      return {
        status,
        e2e_ms: Math.max(this.#clock.now() + this.#line.downloadMs, this.#line.arrivedAt) - startedAt,
        tool_ms: toolMs,
        true_tool_ms: trueToolMs,
        turns,
      };
    } finally {
      scripts.delete(this.name);
    }
  }

  get #clock() {
    return this.#server.clock;
  }

  /** Every request of the user, each on what the one before has left. What the user thinks between them takes no time. */
  async #requests(): Promise<string> {
    let status = '';
    for (const { context_tokens, model_change } of requestsOf(this.#rollout)) {
      if (model_change) this.#model = this.#model === scenarioModelName ? otherModelName : scenarioModelName;
      status = await this.#request(context_tokens, this.#response?.kept ?? null);
      if (status !== 'completed') break;
    }
    return status;
  }

  /** One request of the user, from its first turn to the final answer. Gives how it ended. */
  async #request(tokens: number, kept: Kept | null): Promise<string> {
    const item = { type: 'message', role: 'user', content: countedText(tokens) } as const;
    const bytes = itemBytes.user(tokens);
    this.#client.sent(item, tokens, bytes);
    const all = this.#arm.wire === 'history' && kept !== null;
    const up = requestBytes(this.#cell.scenario, this.#wireOfCreate, all ? this.#client.historyBytes : bytes);
    // The client has seen the end of the request before it half a round trip after the server has told it.
    const from = this.#clock.now() + (kept === null ? 0 : this.#line.downloadMs);
    this.#client.begin(from, up);
    await this.#arrive(from, up, all ? this.#client.historyTokens : tokens);
    await this.#create(all ? this.#client.history : [item], all ? null : kept, false);
    for (;;) {
      const end = await this.#watch();
      const readyAt = this.#client.end(end.usage, this.#line.arrivedAt);
      const { turn, turns } = this.#client;
      this.#spans?.turn(turns.length, turn, end.usage, this.#cell);
      if (this.#client.turn.outputs.length === 0)
        return end.type === 'response.settled' ? end.outcome.status : 'suspended';
      await this.#goOn(readyAt);
    }
  }

  get #wireOfCreate(): 'create' | 'history' {
    return this.#arm.wire === 'history' ? 'history' : 'create';
  }

  /** Reads the log until the turn is over. */
  async #watch(): Promise<TurnEnd> {
    const response = this.#response;
    if (response === null) throw new Error('there is no response to watch');
    for (;;) {
      for (const entry of response.entries(this.#next)) {
        this.#next++;
        const output = this.#client.saw(entry, this.#line.down(entry, this.#clock.now()));
        if (output !== null) this.#toolSpan(output);
        if (output !== null && this.#arm.earlyReturn) this.#sendEarly(response, output);
        if (entry.type === 'response.done' || entry.type === 'response.settled') return entry;
      }
      const grown = deferred<void>();
      response.whenBeyond(this.#next, grown.resolve);
      await grown.promise;
    }
  }

  async #goOn(readyAt: number): Promise<void> {
    const { outputs } = this.#client.turn;
    const items = outputs.map(({ item }) => item);
    const tokens = outputs.reduce((sum, output) => sum + output.tokens, 0);
    const bytes = outputs.reduce((sum, output) => sum + output.bytes, 0);
    const { wire, state, earlyReturn } = this.#arm;
    for (const output of outputs) this.#client.sent(output.item, output.tokens, output.bytes);
    const whole = wire === 'history';
    const up = requestBytes(this.#cell.scenario, wire, whole ? this.#client.historyBytes : bytes);
    this.#client.begin(readyAt, up);
    if (earlyReturn && state === 'suspended') return; // Each output goes up by itself.
    if (earlyReturn) await this.#allArrived(outputs);
    else await this.#arrive(readyAt, up, whole ? this.#client.historyTokens : tokens);
    if (state === 'suspended') await this.#response?.append(items);
    else
      await this.#create(
        whole ? this.#client.history : items,
        whole ? null : (this.#response?.kept ?? null),
        true,
      );
  }

  /** A request that its client sends at `from` arrives, and the machine takes its time with it. */
  async #arrive(from: number, bytes: number, tokens: number): Promise<void> {
    const first = this.#client.turns.length === 0;
    const setup = first ? 0 : this.#line.setupPerTurnMs;
    const { at, readyAt } = this.#line.up(from + setup, { bytes, tokens, first });
    this.#spans?.add('upload', 'network', this.#client.turns.length + 1, from, at);
    this.#spans?.add('machine', 'service', this.#client.turns.length + 1, at, readyAt);
    await this.#sleep(readyAt - this.#clock.now());
  }

  #toolSpan({ doneAt }: Output): void {
    const from = this.#clock.now() + this.#line.downloadMs;
    this.#spans?.join('tools', 'client', this.#client.turns.length + 1, from, doneAt);
  }

  /** One that goes up by itself has what its wire puts around it, as one that goes up with others has. */
  #earlyArrival({ doneAt, bytes, tokens }: Output, turn: number): number {
    const up = requestBytes(this.#cell.scenario, this.#arm.wire, bytes);
    const first = this.#client.turns.length === 0;
    const { readyAt } = this.#line.up(doneAt, { bytes: up, tokens, first });
    this.#spans?.join('upload', 'network', turn, doneAt, readyAt);
    return readyAt;
  }

  async #allArrived(outputs: readonly Output[]): Promise<void> {
    const turn = this.#client.turns.length + 1;
    const arrivals = outputs.map((output) => this.#earlyArrival(output, turn));
    await this.#sleep(Math.max(...arrivals) - this.#clock.now());
  }

  #sendEarly(response: LiveResponse, output: Output): void {
    if (this.#arm.state !== 'suspended') return;
    const arrivesAt = this.#earlyArrival(output, this.#client.turns.length + 2);
    this.#clock.after(arrivesAt - this.#clock.now(), () => {
      if (this.#signal.aborted) return;
      response.append([output.item]).catch((fault: unknown) => {
        // A client that went away reads no refusal; any other is a fault of ours.
        if (!this.#signal.aborted) throw fault;
      });
    });
  }

  async #create(input: readonly object[], kept: Kept | null, goesOn: boolean): Promise<void> {
    const { state } = this.#arm;
    const { instructions, tools, context_management, metadata } = this.#fixed;
    this.#response = await this.#server.engine.create(
      {
        model: this.#model,
        input,
        instructions,
        tools,
        context_management,
        metadata,
        prompt_cache_key: this.name,
      },
      {
        kept,
        handOff: state === 'suspended' ? 'suspend' : 'complete',
        obligations: obligationsFor(this.#arm, goesOn),
      },
    );
    this.#next = 0;
  }

  async #sleep(ms: number): Promise<void> {
    if (ms > 0) await this.#clock.sleep(ms, this.#signal);
  }
}

/**
 * Plays rollout number `index` of the cell's scenario. The same cell, arm and index give the same, to the last bit.
 * @param spans Takes down what was done when, for a trace. Default: nobody does.
 */
export async function playVirtual(
  cell: VirtualCell,
  arm: VirtualArm,
  index: number,
  spans: Spans | null = null,
): Promise<PlayedRollout> {
  const work: Work[] = [];
  const server = new VirtualServer({
    cell,
    arm,
    onWork: (one) => {
      work.push(one);
      spans?.work(one, player.client, server.clock.now());
      cell.onWork?.({ ...one, at: server.clock.now() });
    },
  });
  const player = new Player(server, cell, arm, index, new AbortController().signal, spans);
  const times = await server.clock.runUntil(player.play());
  // What comes after the last event is work of this rollout too, and nothing is left waiting.
  await server.clock.runToIdle();
  return { ...times, stage_runs: server.engine.stageRuns, work };
}
