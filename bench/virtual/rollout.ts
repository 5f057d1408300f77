/**
 * One rollout in virtual time: the engine's own code on the virtual clock, a client that counts in place of reading, and a
 * network by formula between them.
 *
 *   V1  The engine, its stages, its samplers and its loop are the ones that serve real clients. Simulated are the
 *       network, the tools, the text, and what the profile costs.
 *   V2  Every rollout has a clock and an engine of its own, so that its times depend on nothing that ran before it.
 *   V3  A time at the client is the time at the server plus half a round trip; nothing else of it is estimated.
 */
import {
  deferred,
  Engine,
  scriptedSampler,
  VirtualClock,
  type Item,
  type Kept,
  type LiveResponse,
  type LogEntry,
  type SessionPolicy,
  type StageRuns,
} from '../../engine/index.js';
import { rolloutOf, type Rollout, type Scenario } from '../../scenarios/index.js';
import { downloadMs, setupMs, setupPerTurnMs, uploadMs, type NetworkModel } from '../network/model.js';
import { Workers } from '../service/backend.js';
import type { Profile } from '../service/profile.js';
import { Service, type Work } from '../service/stage.js';
import { obligationsFor, type VirtualArm } from './arm.js';
import { itemBytes, requestBytes } from './bytes.js';
import { VirtualClient, type Output, type VirtualTurn } from './client.js';
import { countedRequest, countedScript, countedText, countedTokenizer } from './counted.js';

/** What the machine itself takes, measured once and fitted: it is real time that virtual time knows nothing of. */
export interface MachineCosts {
  /** Milliseconds of each request after the first, and microseconds of each token in it. */
  readonly request_ms: number;
  readonly us_per_token: number;
}

export interface VirtualCell {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly network: NetworkModel;
  readonly profile: Profile;
  /** Tokens the model writes and reads in a second. */
  readonly decodeTokensPerSecond: number;
  readonly prefillTokensPerSecond: number;
  /** True tool time is multiplied by this. */
  readonly toolScale: number;
  /** Who keeps the model's state between turns; the same in every design unless this says otherwise. */
  readonly session: SessionPolicy;
  /** Opens the connection inside the measured time. */
  readonly cold: boolean;
  /** By arm; what the machine takes for nothing where an arm is not named. */
  readonly machine?: Readonly<Record<string, MachineCosts>>;
  /**
   * Turns of the event loop after each timer. Default 1: nothing in here takes turns but `breathe`, so one lets as much
   * settle as three.
   */
  readonly settleRounds?: number;
  readonly onWork?: (work: Work & { readonly at: number }) => void;
}

/** What one rollout came to, in virtual milliseconds. */
export interface PlayedRollout {
  readonly status: string;
  readonly e2e_ms: number;
  readonly tool_ms: number;
  readonly true_tool_ms: number;
  readonly turns: readonly VirtualTurn[];
  readonly stage_runs: StageRuns;
  readonly work: readonly Work[];
}

/** A turn is over: the Response goes on when it is answered, or has ended. */
type TurnEnd = Extract<LogEntry, { type: 'response.done' | 'response.settled' }>;

class Played {
  readonly clock: VirtualClock;
  readonly #cell: VirtualCell;
  readonly #arm: VirtualArm;
  readonly #engine: Engine;
  readonly #client: VirtualClient;
  readonly #rollout: Rollout;
  readonly #work: Work[] = [];
  readonly #name: string;
  readonly #never = new AbortController().signal;
  /** The Response under way, and its next entry. */
  #response: LiveResponse | null = null;
  #next = 0;
  #minted = 0;

  constructor(cell: VirtualCell, arm: VirtualArm, rollout: Rollout, index: number) {
    this.#cell = cell;
    this.#arm = arm;
    this.#rollout = rollout;
    this.#name = String(index);
    const clock = new VirtualClock({ settleRounds: cell.settleRounds ?? 1 });
    this.clock = clock;
    const { profile, decodeTokensPerSecond, prefillTokensPerSecond, session, toolScale } = cell;
    const { admit_ms, resume_ms } = profile.admission;
    const service = new Service({
      profile,
      clock,
      backend: new Workers(clock, Infinity),
      seed: cell.seed,
      onWork: (work) => {
        this.#work.push(work);
        cell.onWork?.({ ...work, at: clock.now() });
      },
    });
    this.#engine = new Engine({
      clock,
      tokenizer: countedTokenizer,
      rules: [],
      stages: service.stages,
      limits: { keepaliveMs: Infinity, samplerStepMsMax: Infinity, suspensionMsMax: Infinity },
      mintId: (prefix) => `${prefix}_${++this.#minted}`,
      sampler: scriptedSampler({
        clock,
        script: countedScript(rollout),
        decodeTokensPerSecond,
        prefillTokensPerSecond,
        tickMs: Infinity,
        session,
        contextTokensMax: Infinity,
        admission: { admitMs: admit_ms, resumeMs: resume_ms, held: arm.place },
      }),
    });
    this.#client = new VirtualClient({
      turns: rollout.turns,
      downMs: downloadMs(cell.network),
      toolScale,
      prefillTokensPerSecond,
    });
  }

  async play(): Promise<PlayedRollout> {
    const { network, cold } = this.#cell;
    if (cold) await this.#sleep(setupMs(network, this.#arm.transport));
    const status = await this.#request(this.#rollout.context_tokens, null);
    const { toolMs, trueToolMs, turns } = this.#client;
    return {
      status,
      e2e_ms: this.clock.now() + downloadMs(network),
      tool_ms: toolMs,
      true_tool_ms: trueToolMs,
      turns,
      stage_runs: this.#engine.stageRuns,
      work: this.#work,
    };
  }

  /** One request of the user, from its first turn to the final answer. Gives how it ended. */
  async #request(tokens: number, kept: Kept | null): Promise<string> {
    const item = { type: 'message', role: 'user', content: countedText(tokens) } as const;
    const bytes = itemBytes.user(tokens);
    this.#client.sent(item, tokens, bytes);
    const all = this.#arm.wire === 'history' && kept !== null;
    const up = requestBytes(this.#cell.scenario, this.#wireOfCreate, all ? this.#client.historyBytes : bytes);
    this.#client.begin(this.clock.now(), up);
    await this.#arrive(this.clock.now(), up, all ? this.#client.historyTokens : tokens);
    await this.#create(all ? this.#client.history : [item], all ? null : kept, false);
    for (;;) {
      const end = await this.#watch();
      const readyAt = this.#client.end(end.usage, this.clock.now());
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
        const output = this.#client.saw(entry, this.clock.now());
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
    const { network } = this.#cell;
    const perTurn = this.#client.turns.length > 0 ? setupPerTurnMs(network, this.#arm.transport) : 0;
    await this.#sleep(from + perTurn + uploadMs(network, bytes) + this.#machineMs(tokens) - this.clock.now());
  }

  /** Of turns after the first, which is the same in every design and is fitted on none. */
  #machineMs(tokens: number): number {
    if (this.#client.turns.length === 0) return 0;
    const { request_ms = 0, us_per_token = 0 } = this.#cell.machine?.[this.#arm.name] ?? {};
    return request_ms + (us_per_token * tokens) / 1000;
  }

  /** One that goes up by itself has what its wire puts around it, as one that goes up with others has. */
  #earlyArrival({ doneAt, bytes, tokens }: Output): number {
    const up = requestBytes(this.#cell.scenario, this.#arm.wire, bytes);
    return doneAt + uploadMs(this.#cell.network, up) + this.#machineMs(tokens);
  }

  async #allArrived(outputs: readonly Output[]): Promise<void> {
    await this.#sleep(Math.max(...outputs.map((output) => this.#earlyArrival(output))) - this.clock.now());
  }

  #sendEarly(response: LiveResponse, output: Output): void {
    if (this.#arm.state !== 'suspended') return;
    this.clock.after(this.#earlyArrival(output) - this.clock.now(), () => {
      void response.append([output.item]);
    });
  }

  async #create(input: readonly Item[], kept: Kept | null, goesOn: boolean): Promise<void> {
    const { state } = this.#arm;
    this.#response = await this.#engine.create(
      { ...countedRequest(this.#cell.scenario), input, ...this.#named },
      {
        kept,
        handOff: state === 'suspended' ? 'suspend' : 'complete',
        obligations: obligationsFor(this.#arm, goesOn),
      },
    );
    this.#next = 0;
  }

  get #named() {
    const { scenario, seed } = this.#cell;
    return {
      prompt_cache_key: this.#name,
      metadata: { scenario: scenario.name, seed: String(seed), rollout: this.#name },
    };
  }

  async #sleep(ms: number): Promise<void> {
    if (ms > 0) await this.clock.sleep(ms, this.#never);
  }
}

/** Plays rollout number `index` of the cell's scenario. The same cell, arm and index give the same, to the last bit. */
export async function playVirtual(cell: VirtualCell, arm: VirtualArm, index: number): Promise<PlayedRollout> {
  const played = new Played(cell, arm, rolloutOf(cell.scenario, cell.seed, index), index);
  return played.clock.runUntil(played.play());
}
