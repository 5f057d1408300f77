/**
 * A whole agent rollout: pre once → (sample → suspend)* → post once.
 *
 * `yield` tells the client something; `await` waits for someone. The loop waits in exactly three places: a stage, the
 * sampler, the suspension. S1–S3 are the suspension's, S6 the log's; here:
 *
 *   S4  Only this loop advances a rollout. Everybody else records and signals.
 *   S5  Post-inference runs once on every outcome of an admitted rollout, with the outcome in its input and a bounded
 *       signal of its own. A refused create runs none: `admit` throws before there is a log.
 *   S8  Every wait takes the rollout's signal and goes through a port.
 */
import { entriesOf, RolloutContext } from './context.js';
import { takeIn } from './intake.js';
import type { Step, TurnUsage } from './log-entry.js';
import { failedBy, orFailed, RolloutEnd, type Outcome } from './outcome.js';
import { ProtocolError } from './protocol/errors.js';
import type { CreateRequest } from './protocol/requests.js';
import type { OutputItem } from './protocol/server-events.js';
import type { Sampler, SamplerSession } from './samplers/sampler.js';
import type { RolloutParts } from './rollout-parts.js';
import type { Kept, Passage, Phase } from './stages.js';
import { Suspension } from './suspension.js';
import { demandsCall } from './tool-choice.js';
import type { Transcript, Entry } from './transcript.js';
import { planTurn } from './turn-plan.js';
import { Turn } from './turn.js';
import { Watch } from './watch.js';

export class Rollout {
  readonly #parts: RolloutParts;
  readonly #context: RolloutContext;
  #request: CreateRequest = { model: '', input: [] };
  #model: { readonly sampler: Sampler; readonly session: SamplerSession } | null = null;
  /** The open ledger: whatever it has received is not in the transcript yet. */
  #suspension = new Suspension();
  #turn: Turn | null = null;
  #turnNumber = 0;
  #outputItems = 0;
  #calls = 0;
  #owed: readonly string[] = [];
  #ended = false;

  constructor(parts: RolloutParts) {
    this.#parts = parts;
    this.#context = new RolloutContext(parts);
  }

  get request(): CreateRequest {
    return this.#request;
  }
  get transcript(): Transcript {
    return this.#context.transcript;
  }
  get suspension(): Suspension {
    return this.#suspension;
  }
  /** The turn that was sampled last or is being sampled; 0 before the first. */
  get turnNumber(): number {
    return this.#turnNumber;
  }
  get usage(): TurnUsage {
    return this.#context.usage;
  }
  /** No turn follows: what an append brought now would be lost. */
  get ended(): boolean {
    return this.#ended || this.#parts.handOff === 'complete';
  }

  /** What a later Response continues from. */
  get kept(): Kept {
    const { transcript, preamble, counted } = this.#context;
    const conversation = this.#conversation;
    return {
      responseId: this.#parts.id,
      conversation,
      transcript,
      preamble,
      countedTokens: counted,
      owed: this.#owed,
    };
  }

  get #conversation(): string {
    return this.#parts.kept?.conversation ?? this.#request.prompt_cache_key ?? this.#parts.id;
  }

  /**
   * The pre passage, once.
   * @throws ProtocolError where the create is refused.
   */
  async admit(raw: unknown): Promise<void> {
    const { kept, stages, receipts, signal } = this.#parts;
    const passage = this.#passage('pre', raw, signal, (items) =>
      takeIn(items, this.transcript, kept?.owed ?? []),
    );
    await stages.admit(passage, receipts);
    const { sampler, request } = passage;
    if (sampler === null) throw new Error('no pre stage resolved the model');
    this.#request = request;
    this.#context.admit(passage);
    this.#model = { sampler, session: sampler.open({ conversation: this.#conversation, request }) };
  }

  /**
   * Everything from the first entry to the last. `admit` comes before it, apart, so that a refused create leaves no log
   * and an admitted one does not hold on to the client's own words.
   */
  async *run(): AsyncGenerator<Step, void> {
    yield [{ type: 'response.created' }];
    yield [{ type: 'response.in_progress' }];
    let outcome: Outcome;
    try {
      outcome = yield* this.#turns();
    } catch (fault) {
      outcome = this.#outcomeOf(fault);
    }
    this.#ended = true;
    yield this.#turn?.close() ?? [];
    yield* this.#post(outcome);
  }

  /** Takes new items through the append stages; gives what is left to apply. Changes nothing itself. */
  async append(raw: unknown, accept: Passage['accept']): Promise<Entry[]> {
    const passage = this.#passage('append', raw, this.#parts.signal, accept);
    await this.#parts.stages.admit(passage, this.#parts.receipts);
    return entriesOf(passage);
  }

  /** Turns until something ends them, a suspension between any two. A warm-up is a turn 0 that samples nothing. */
  async *#turns(): AsyncGenerator<Step, Outcome> {
    const { handOff, limits, signal, clock } = this.#parts;
    const warmUp = this.#request.generate === false;
    if (warmUp && handOff === 'complete') return { status: 'completed' };
    if (warmUp) this.#suspension.expectMessage();
    for (let number = warmUp ? 0 : 1; number <= limits.turnsMax; number++) {
      let output: readonly OutputItem[] = [];
      if (number > 0) {
        const turn = yield* this.#sample(number);
        const outcome = this.#outcomeAfter(turn);
        if (outcome !== null) return outcome;
        output = turn.sampled.map((sampled) => sampled.output);
      }
      const suspension = this.#suspension;
      const required_input = suspension.requiredInput;
      const usage = this.#context.takeTurnUsage();
      yield [{ type: 'response.done', turn: number, output, required_input, usage }];
      this.#model?.session.suspend();
      await suspension.resumed(signal, clock, limits.suspensionMsMax);
      // Both in one step: an append that comes now finds either the old ledger, unread, or the new one.
      this.#context.enter(suspension.received);
      this.#suspension = new Suspension();
    }
    throw new ProtocolError('server_error', `The rollout made ${limits.turnsMax} turns without an end.`);
  }

  /** The outcome, if this turn is the last: it was cut, hands off by completing, or leaves nothing to wait for. */
  #outcomeAfter(turn: Turn): Outcome | null {
    if (turn.cut !== null) return this.#endWith({ status: 'incomplete', reason: turn.cut });
    const owed = this.#suspension.requiredInput;
    const goesOn = owed.length > 0 || this.#suspension.received.length > 0;
    if (this.#parts.handOff === 'suspend' && goesOn) return null;
    this.#owed = owed.map((stub) => stub.call_id);
    return this.#endWith({ status: 'completed' });
  }

  /** In one step with the decision, so that no append is taken in between and lost. */
  #endWith(outcome: Outcome): Outcome {
    this.#ended = true;
    return outcome;
  }

  /** Samples one turn into the log and the transcript. */
  async *#sample(number: number): AsyncGenerator<Step, Turn> {
    if (this.#model === null) throw new Error('a turn began before the model was resolved');
    const { signal, clock, limits, mintId } = this.#parts;
    const { sampler, session } = this.#model;
    this.#turnNumber = number;
    const progress = { turn: number, usage: this.usage, calls: this.#calls };
    const { request, rules } = planTurn(
      this.#request,
      progress,
      this.#context.forSampler(),
      sampler.contextTokensMax,
    );
    const suspension = this.#suspension;
    const turn = new Turn(this.#outputItems, { ...rules, mintId, owe: (call) => suspension.owe(call) }); // S1
    this.#turn = turn;
    using watch = new Watch(session.sample(request, signal), signal, clock, limits.samplerStepMsMax);
    while (turn.cut === null) {
      const step = await watch.next();
      if (step.done === true) break;
      const entries = turn.accept(step.value);
      if (entries.length > 0) yield entries;
    }
    if (turn.open && turn.cut === null) throw new Error('the sampler ended its turn inside an item');
    if (turn.open) yield turn.close();
    if (demandsCall(rules.choice) && turn.calls === 0 && turn.cut === null)
      throw new ProtocolError('server_error', 'The model made no call although tool_choice demands one.');
    await this.#closeTurn(turn, signal);
    this.#suspension.sampled();
    return turn;
  }

  /** Once per turn, however it ended. */
  async #closeTurn(turn: Turn, signal: AbortSignal): Promise<void> {
    await this.#context.closeTurn(turn, signal);
    this.#turn = null;
    this.#outputItems += turn.sampled.length;
    this.#calls += turn.calls;
  }

  #outcomeOf(fault: unknown): Outcome {
    const { signal } = this.#parts;
    const reason: unknown = signal.aborted ? signal.reason : fault;
    return reason instanceof RolloutEnd ? reason.outcome : failedBy(reason);
  }

  async *#post(outcome: Outcome): AsyncGenerator<Step, void> {
    const { stages, receipts, clock, limits } = this.#parts;
    const bound = new AbortController();
    using _deadline = clock.after(limits.postMsMax, () =>
      bound.abort(
        new ProtocolError('server_error', `Post-inference took longer than ${limits.postMsMax} ms.`),
      ),
    );
    const ended = await this.#windUp(outcome, bound.signal);
    const passage = this.#postPassage(ended, bound.signal);
    await stages.finish(passage, receipts, true);
    if (ended.status === 'completed') passage.outcome = await this.#abandon(passage.outcome, bound.signal);
    yield [{ type: 'response.settled', outcome: passage.outcome, usage: this.#context.takeTurnUsage() }];
    await stages.finish(passage, receipts, false);
  }

  /** Takes in what the end cut short. A fault in this fails the Response, and post-inference still runs (S5). */
  async #windUp(outcome: Outcome, signal: AbortSignal): Promise<Outcome> {
    const closed = await orFailed(outcome, async () => {
      if (this.#turn !== null) await this.#closeTurn(this.#turn, signal);
    });
    const ended = await this.#abandon(closed, signal);
    return orFailed(ended, () => this.#model?.session.release());
  }

  /** After any end but completion nobody answers what is owed. */
  #abandon(outcome: Outcome, signal: AbortSignal): Promise<Outcome> {
    return orFailed(outcome, async () => {
      if (outcome.status === 'completed') return;
      await this.#context.abandon(this.#suspension, signal);
      this.#owed = [];
    });
  }

  #passage(phase: Phase, raw: unknown, signal: AbortSignal, accept: Passage['accept']): Passage {
    const { id, credential, kept } = this.#parts;
    return {
      phase,
      responseId: id,
      credential,
      turn: this.#turnNumber + (phase === 'post' ? 0 : 1),
      transcript: phase === 'post' ? this.#context.base : this.transcript,
      pendingTokens: phase === 'append' ? this.#suspension.tokens : 0,
      kept: phase === 'pre' ? kept : null,
      accept,
      signal,
      outcome: null,
      usage: null,
      raw,
      request: this.#request,
      newItems: [],
      sampler: this.#model?.sampler ?? null,
      preamble: this.#context.preamble,
      rendered: [],
    };
  }

  #postPassage(outcome: Outcome, signal: AbortSignal): Passage & { outcome: Outcome } {
    const passage = this.#passage('post', null, signal, (items) => items);
    return { ...passage, outcome, usage: this.usage, newItems: this.#context.added };
  }
}
