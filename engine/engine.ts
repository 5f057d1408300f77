/**
 * The engine: what an embedder holds. It admits rollouts, finds them again for those they belong to, and bounds how
 * many live and how many ended ones are kept.
 *
 *   E1  A live Response, suspended or not, occupies a slot and is never evicted; a new one is refused instead.
 *   E2  One caller never learns whether another's Response exists.
 */
import { digest, type Compactor } from './compaction.js';
import { countInput } from './count.js';
import { hydrate } from './hydrate.js';
import { defaultRules, type Rule } from './classify.js';
import { systemClock } from './clock.js';
import { limitsWith, type Limits } from './limits.js';
import { LiveResponse, type Settlement } from './live-response.js';
import { MemoryStore } from './memory-store.js';
import type { Clock, Store, Timer, Tokenizer } from './ports.js';
import { ProtocolError } from './protocol/errors.js';
import type { CreateRequestInput } from './protocol/requests.js';
import type { BoundsPer, HandOff } from './rollout-parts.js';
import type { Sampler } from './samplers/sampler.js';
import { randomId } from './random-id.js';
import { standardStages } from './standard-stages.js';
import { Receipts, Tallies, type StageRuns } from './receipts.js';
import { noObligations, Stages, type Kept, type Obligations, type Stage } from './stages.js';
import { o200kTokenizer } from './tokenizer.js';

export interface EngineOptions {
  /** One sampler for every model name, or a choice by name; null means that nobody serves that name. */
  readonly sampler: Sampler | ((model: string) => Sampler | null);
  /** Given the standard stages, the stages to run. Default: those. `(standard) => [...standard, mine]` adds one. */
  readonly stages?: (standard: Stage[]) => readonly Stage[];
  readonly limits?: Partial<Limits>;
  /** Default: real time. */
  readonly clock?: Clock;
  /** Default: o200k_base. */
  readonly tokenizer?: Tokenizer;
  /** Default: in memory. */
  readonly store?: Store;
  /** Makes the summary of a compaction. Default: a digest by rule. */
  readonly compactor?: Compactor;
  /** What the built-in classifier flags. */
  readonly rules?: readonly Rule[];
  /** Makes ids, given a prefix such as `resp`. Default: random. */
  readonly mintId?: (prefix: string) => string;
  /** Called once per settled Response. It must not throw. */
  readonly onSettled?: (response: LiveResponse, settlement: Settlement) => void;
}

export interface CreateOptions {
  /** Who owns the Response. Default: the empty credential of an embedder that has only one caller. */
  readonly credential?: string;
  /** What it continues from. Default: nothing. */
  readonly kept?: Kept | null;
  /** Default `suspend`. */
  readonly handOff?: HandOff;
  /** Default `rollout`. */
  readonly boundsPer?: BoundsPer;
  /** Replaces the engine's tokenizer for this Response, for instance by one with a cache. */
  readonly tokenizer?: Tokenizer;
  /** Limits of this rollout alone: deadlines and turns. */
  readonly limits?: Partial<Limits>;
  /** What the rollout is bound to, where that is not what its stages say of themselves. */
  readonly obligations?: Obligations;
}

/** A client's own words: fields that nobody has looked at. */
export type UncheckedRequest = Readonly<Record<string, unknown>>;

export class Engine implements AsyncDisposable {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly store: Store;
  readonly #tallies = new Tallies();
  readonly #options: EngineOptions;
  readonly #tokenizer: Tokenizer;
  /** Makes ids, given a prefix such as `resp`. */
  readonly mintId: (prefix: string) => string;
  readonly #stagesByTokenizer = new WeakMap<Tokenizer, Stages>();
  readonly #live = new Map<string, LiveResponse>();
  readonly #ended = new Map<string, LiveResponse>();
  #endedBytes = 0;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.clock = options.clock ?? systemClock;
    this.limits = limitsWith(options.limits);
    this.store = options.store ?? new MemoryStore();
    this.#tokenizer = options.tokenizer ?? o200kTokenizer(this.clock);
    this.mintId = options.mintId ?? randomId;
  }

  /** Live Responses, suspended ones included. */
  get liveCount(): number {
    return this.#live.size;
  }
  get suspendedCount(): number {
    return [...this.#live.values()].filter((response) => response.suspended).length;
  }
  get endedCount(): number {
    return this.#ended.size;
  }
  /** Sums over the receipts of every Response so far, as they stand now. */
  get stageRuns(): StageRuns {
    return this.#tallies.runs;
  }

  /**
   * Admits a rollout.
   * @throws ProtocolError where it is refused: nothing then exists, and no post stage runs. RangeError where a limit of
   * `options` is no limit, or an obligation can't be met.
   */
  async create(
    request: CreateRequestInput | UncheckedRequest,
    options: CreateOptions = {},
  ): Promise<LiveResponse> {
    const controller = new AbortController();
    const tokenizer = options.tokenizer ?? this.#tokenizer;
    const stages = this.#stagesFor(tokenizer);
    const obligations = options.obligations ?? noObligations;
    stages.check(obligations);
    const response = new LiveResponse(
      {
        id: this.mintId('resp'),
        credential: options.credential ?? '',
        kept: options.kept ?? null,
        handOff: options.handOff ?? 'suspend',
        boundsPer: options.boundsPer ?? 'rollout',
        stages,
        obligations,
        receipts: new Receipts(this.#tallies),
        clock: this.clock,
        tokenizer,
        limits:
          options.limits === undefined ? this.limits : limitsWith({ ...this.limits, ...options.limits }),
        compactor: this.#options.compactor ?? digest,
        mintId: this.mintId,
        signal: controller.signal,
        controller,
      },
      (settlement) => this.#retire(response, settlement),
    );
    this.#live.set(response.id, response); // E1: the slot is taken before anything is awaited.
    try {
      await response.start(request);
    } catch (fault) {
      this.#live.delete(response.id);
      throw fault;
    }
    return response;
  }

  /** A live or kept Response of that credential, or null (E2). */
  get(id: string, credential = ''): LiveResponse | null {
    const response = this.#live.get(id) ?? this.#ended.get(id);
    return response?.credential === credential ? response : null;
  }

  /**
   * What an ended Response left in the store, for a later one to continue; null where it is not there (E2). Rejects where
   * the store takes longer than `postMsMax`.
   */
  async hydrate(id: string, credential = ''): Promise<Kept | null> {
    const bound = new AbortController();
    using _deadline = this.#storeDeadline(bound);
    return await hydrate(this.store, this.#tokenizer, id, credential, bound.signal);
  }

  /**
   * Tokens that a create of this request would put into the context. Nothing is admitted.
   * @throws ProtocolError where its fields or items are refused.
   */
  countInput(request: UncheckedRequest, kept: Kept | null, signal: AbortSignal): Promise<number> {
    return countInput(request, kept, this.#tokenizer, signal);
  }

  /** Forgets an ended Response of that credential, here and in the store. True where there was one. */
  async forget(id: string, credential = ''): Promise<boolean> {
    const response = this.#ended.get(id);
    const own = response?.credential === credential;
    if (own) {
      this.#ended.delete(id);
      this.#endedBytes -= response.logBytes;
    }
    const bound = new AbortController();
    using _deadline = this.#storeDeadline(bound);
    return (await this.store.remove(id, credential, bound.signal)) || own;
  }

  /** Live Responses, oldest first. */
  live(): LiveResponse[] {
    return [...this.#live.values()];
  }

  /** Cancels every live Response and waits until all have settled. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.live().map((response) => response[Symbol.asyncDispose]()));
  }

  #storeDeadline(bound: AbortController): Timer {
    const { postMsMax } = this.limits;
    const late = new ProtocolError('server_error', `The store took longer than ${postMsMax} ms.`);
    return this.clock.after(postMsMax, () => bound.abort(late));
  }

  #stagesFor(tokenizer: Tokenizer): Stages {
    const known = this.#stagesByTokenizer.get(tokenizer);
    if (known !== undefined) return known;
    const { sampler, stages, rules } = this.#options;
    const standard = standardStages({
      clock: this.clock,
      limits: this.limits,
      rules: rules ?? defaultRules,
      store: this.store,
      tokenizer,
      model: typeof sampler === 'function' ? sampler : () => sampler,
      live: () => this.#live.size,
    });
    const made = new Stages(stages?.(standard) ?? standard, this.clock);
    this.#stagesByTokenizer.set(tokenizer, made);
    return made;
  }

  #retire(response: LiveResponse, settlement: Settlement): void {
    this.#live.delete(response.id);
    this.#ended.set(response.id, response);
    this.#endedBytes += response.logBytes;
    this.#forgetOldest();
    this.#options.onSettled?.(response, settlement);
  }

  #forgetOldest(): void {
    const { endedResponsesMax, endedResponsesBytesMax } = this.limits;
    for (const [id, response] of this.#ended) {
      if (this.#ended.size <= endedResponsesMax && this.#endedBytes <= endedResponsesBytesMax) return;
      this.#ended.delete(id);
      this.#endedBytes -= response.logBytes;
    }
  }
}
