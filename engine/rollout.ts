/**
 * A whole agent rollout: pre once → (sample → suspend)* → post once.
 *
 * `yield` tells the client something; `await` waits for someone. The loop waits in exactly three places: a stage, the
 * sampler, the suspension. S1–S3 are the suspension's, S6 the log's; here:
 *
 *   S4  Only this loop advances a rollout. Everybody else records and signals.
 *   S5  Post-inference runs once on every outcome of an admitted rollout, with the outcome in its input and a bounded
 *       signal that no cancel reaches. A refused create runs none: `admit` throws before there is a log.
 *   S8  Every wait takes the rollout's signal and goes through a port.
 */
import { entriesOf, RolloutContext } from './context.js';
import { answeredCallId } from './calls.js';
import { takeIn } from './intake.js';
import type { Step, TurnUsage } from './log-entry.js';
import { failedBy, orFailed, RolloutEnd, type Outcome } from './outcome.js';
import { ProtocolError } from './protocol/errors.js';
import { Model } from './model.js';
import { knownHistory, type KnownHistory } from './overlap.js';
import { appendPassage, prePassage, type Standing } from './passages.js';
import type { Item } from './protocol/items.js';
import { wantsEncrypted, type CreateRequest } from './protocol/requests.js';
import type { OutputItem } from './protocol/server-events.js';
import { postInference } from './post-inference.js';
import { asksToCompact, compact, makeRoom, needsRoom, type Room } from './room.js';
import type { RolloutParts } from './rollout-parts.js';
import type { Kept, Passage } from './stages.js';
import { Suspension } from './suspension.js';
import { demandsCall } from './tool-choice.js';
import type { Transcript, Entry } from './transcript.js';
import { freshProgress, planTurn } from './turn-plan.js';
import { Turn } from './turn.js';
import { Watch } from './watch.js';

export class Rollout {
  readonly #parts: RolloutParts;
  readonly #context: RolloutContext;
  #request: CreateRequest = { model: '', input: [] };
  #model: Model | null = null;
  /** The open ledger: whatever it has received is not in the transcript yet. */
  #suspension = new Suspension();
  #turn: Turn | null = null;
  #turnNumber = 0;
  #outputItems = 0;
  #calls = 0;
  #owed: readonly string[] = [];
  #ended = false;
  #interrupted = false;

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
  /** Output items of the turns so far. */
  get outputItems(): number {
    return this.#outputItems;
  }
  get usage(): TurnUsage {
    return this.#context.usage;
  }
  /** A turn is being sampled. */
  get sampling(): boolean {
    return this.#turn !== null;
  }
  /** No turn follows: what an append brought now would be lost. */
  get ended(): boolean {
    return this.#ended;
  }

  /** What a later Response continues from. */
  get kept(): Kept {
    const { transcript, preamble, counted } = this.#context;
    const conversation = this.#model?.conversation ?? this.#parts.id;
    const open = this.#turn === null && !this.#ended;
    // The open ledger's calls are in the transcript from the end of their turn on. What was answered stays so.
    const answers = open ? this.#suspension.received.filter(({ item }) => answeredCallId(item) !== null) : [];
    return {
      responseId: this.#parts.id,
      conversation,
      model: this.#request.model,
      transcript: transcript.extend(answers),
      preamble,
      countedTokens: counted,
      owed: open ? this.#suspension.requiredInput.map((stub) => stub.call_id) : this.#owed,
    };
  }

  get #standing(): Standing {
    return {
      parts: this.#parts,
      context: this.#context,
      request: this.#request,
      model: this.#model,
      turnNumber: this.#turnNumber,
    };
  }

  /**
   * The pre passage, once.
   * @throws ProtocolError where the create is refused.
   */
  async admit(raw: unknown): Promise<void> {
    const { id, kept, stages, receipts } = this.#parts;
    const passage = prePassage(this.#standing, raw, (items) =>
      takeIn(items, this.transcript, kept?.owed ?? []),
    );
    await stages.admit(passage, receipts);
    const { sampler, request } = passage;
    if (sampler === null) throw new Error('no pre stage resolved the model');
    this.#request = request;
    this.#context.admit(passage);
    this.#model = new Model(sampler, request, kept?.conversation ?? request.prompt_cache_key ?? id);
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
    // A sampler that fell silent, and an append on its way, learn that it is over.
    if (outcome.status !== 'completed') this.#parts.controller.abort(new RolloutEnd(outcome));
    yield this.#turn?.close() ?? [];
    yield* postInference(outcome, {
      standing: this.#standing,
      windUp: (ended, signal) => this.#windUp(ended, signal),
      abandon: (ended, signal) => this.#abandon(ended, signal),
    });
  }

  /** What it has come to since entry `from` of its transcript, for a history to be held against. */
  known(from: number): KnownHistory {
    const sampled = this.#turn?.sampled.map(({ item }) => item) ?? null;
    const received = this.#suspension.received.map(({ item }) => item);
    const owed = this.#suspension.requiredInput.map((stub) => stub.call_id);
    return knownHistory(this.transcript.items(from), sampled, received, owed);
  }

  /** What it has added to what it continued from. */
  get added(): readonly Item[] {
    return this.#context.added;
  }

  /**
   * Output items so far that are done, if they stand without a gap before those that are not; else null, and after the
   * context was shortened, so that it is no longer what a client would send.
   */
  get outputItemsDone(): number | null {
    const sampled = this.#turn?.sampled ?? [];
    if (this.#context.shortened) return null;
    const gap = sampled.some(({ index }, place) => index !== this.#outputItems + place);
    return gap ? null : this.#outputItems + sampled.length;
  }

  /**
   * Ends the turn that is sampled at the end of its current item, unless it has made a call: those are owed first. Where
   * they are all paid before the turn ends, the next one ends before its first item. Nothing while the client is waited
   * for: it is let in already.
   */
  interrupt(): void {
    if (!this.#suspension.waiting) this.#interrupted = true;
  }

  /** Takes new items through the append stages; gives what is left to apply. Changes nothing itself. */
  async append(raw: unknown, accept: Passage['accept']): Promise<Entry[]> {
    const passage = appendPassage(this.#standing, raw, accept, this.#suspension.tokens);
    await this.#parts.stages.admit(passage, this.#parts.receipts);
    return entriesOf(passage);
  }

  /** Turns until something ends them, a suspension between any two. A warm-up is a turn 0 that samples nothing. */
  async *#turns(): AsyncGenerator<Step, Outcome> {
    const { handOff, limits, signal, clock } = this.#parts;
    const warmUp = this.#request.generate === false;
    if (warmUp && handOff === 'complete') return { status: 'completed' };
    if (warmUp) this.#suspension.expectMessage();
    if (asksToCompact(this.#request)) {
      yield* this.#shortened((room) => compact(room, true));
      return this.#endWith({ status: 'completed' });
    }
    for (let number = warmUp ? 0 : 1; number <= limits.turnsMax; number++) {
      let output: readonly OutputItem[] = [];
      let interrupted = false;
      if (number > 0) {
        const made = this.#needsRoom ? yield* this.#shortened(makeRoom) : [];
        const turn = yield* this.#sample(number);
        const outcome = this.#outcomeAfter(turn);
        if (outcome !== null) return outcome;
        // Joined, because a spread leaves room that a suspended rollout would hold.
        output = made.concat(turn.sampled.map((sampled) => sampled.output));
        interrupted = turn.cut === 'steered';
      }
      const suspension = this.#suspension;
      if (interrupted) suspension.expectMessage();
      const required_input = suspension.requiredInput;
      const usage = this.#context.takeTurnUsage();
      const done = { type: 'response.done', turn: number, output, required_input, usage } as const;
      yield [interrupted ? { ...done, interrupted } : done];
      this.#model?.session.suspend();
      await suspension.resumed(signal, clock, limits.suspensionMsMax);
      if (required_input.length > 0 || suspension.messagesPending > 0) this.#interrupted = false;
      // Both in one step: an append that comes now finds either the old ledger, unread, or the new one.
      this.#context.enter(suspension.received);
      this.#suspension = new Suspension();
    }
    throw new ProtocolError('server_error', `The rollout made ${limits.turnsMax} turns without an end.`);
  }

  /** The outcome, if this turn is the last: it was cut, hands off by completing, or leaves nothing to wait for. */
  #outcomeAfter(turn: Turn): Outcome | null {
    const suspends = this.#parts.handOff === 'suspend';
    if (turn.cut === 'steered' && suspends) return null;
    if (turn.cut !== null) return this.#endWith({ status: 'incomplete', reason: turn.cut });
    const owed = this.#suspension.requiredInput;
    const { received } = this.#suspension;
    if (owed.length === 0 ? received.length > 0 : suspends) return null;
    this.#context.enter(received);
    this.#owed = owed.map((stub) => stub.call_id);
    return this.#endWith({ status: 'completed' });
  }

  /** In one step with the decision, so that no append is taken in between and lost. */
  #endWith(outcome: Outcome): Outcome {
    this.#ended = true;
    return outcome;
  }

  get #needsRoom(): boolean {
    return this.#model !== null && needsRoom(this.#context, this.#model, this.#request);
  }

  /** Items that shortening the context has put out come before those of the turn. */
  async *#shortened(
    shorten: (room: Room) => AsyncGenerator<Step, OutputItem[]>,
  ): AsyncGenerator<Step, OutputItem[]> {
    if (this.#model === null) return [];
    const made = yield* shorten({
      context: this.#context,
      model: this.#model,
      request: this.#request,
      parts: this.#parts,
      outputItems: this.#outputItems,
    });
    this.#outputItems += made.length;
    return made;
  }

  /** Samples one turn into the log and the transcript. */
  async *#sample(number: number): AsyncGenerator<Step, Turn> {
    if (this.#model === null) throw new Error('a turn began before the model was resolved');
    const { signal, clock, limits, mintId, boundsPer } = this.#parts;
    const { sampler, session } = this.#model;
    this.#turnNumber = number;
    const sofar = { turn: number, turnOfResponse: number, usage: this.usage, calls: this.#calls };
    const progress = boundsPer === 'turn' ? freshProgress(number) : sofar;
    const { request, rules } = planTurn(
      this.#request,
      progress,
      this.#context.forSampler(),
      sampler.contextTokensMax,
    );
    const suspension = this.#suspension;
    const { choice, parallelToolCalls, callsLeft, outputTokensMax } = rules;
    const turn = new Turn(this.#outputItems, {
      choice,
      parallelToolCalls,
      callsLeft,
      outputTokensMax,
      encrypted: wantsEncrypted(this.#request),
      mintId,
      owe: (call) => suspension.owe(call),
    }); // S1
    this.#turn = turn;
    // Disposed of by hand: `using`, compiled for today's Node, would be paid for at every turn.
    const watch = new Watch(session.sample(request, signal), signal, clock, limits.samplerStepMsMax);
    try {
      while (!this.#isCut(turn)) {
        const step = await watch.next();
        if (step.done === true || (step.value.type === 'item' && this.#isCut(turn))) break;
        const entries = turn.accept(step.value);
        if (entries.length > 0) yield entries;
      }
    } finally {
      watch[Symbol.dispose]();
    }
    if (turn.open && turn.cut === null) throw new Error('the sampler ended its turn inside an item');
    if (turn.open) yield turn.close();
    if (demandsCall(choice) && turn.calls === 0 && turn.cut === null)
      throw new ProtocolError('server_error', 'The model made no call although tool_choice demands one.');
    await this.#closeTurn(turn, signal);
    this.#suspension.sampled();
    return turn;
  }

  /** Looked at between two items, so that none begins after an interrupt. */
  #isCut(turn: Turn): boolean {
    if (this.#interrupted && turn.cut === null && !turn.open && turn.calls === 0) turn.cut = 'steered';
    return turn.cut !== null;
  }

  /** Once per turn, however it ended. */
  async #closeTurn(turn: Turn, signal: AbortSignal): Promise<void> {
    const entries = await this.#context.sampled(turn, signal);
    // In one step, so that whoever looks finds what was sampled in the turn or in the transcript, once.
    this.#context.closeTurn(turn, entries);
    this.#turn = null;
    this.#outputItems += turn.sampled.length;
    this.#calls += turn.calls;
  }

  #outcomeOf(fault: unknown): Outcome {
    const { signal } = this.#parts;
    const reason: unknown = signal.aborted ? signal.reason : fault;
    return reason instanceof RolloutEnd ? reason.outcome : failedBy(reason);
  }

  /** Takes in what the end cut short. A fault in this fails the Response, and post-inference still runs (S5). */
  async #windUp(outcome: Outcome, signal: AbortSignal): Promise<Outcome> {
    const closed = await orFailed(outcome, async () => {
      if (this.#turn !== null) await this.#closeTurn(this.#turn, signal);
    });
    const ended = await this.#abandon(closed, signal);
    return orFailed(ended, () => this.#model?.release());
  }

  /** After any end but completion nobody answers what is owed. */
  #abandon(outcome: Outcome, signal: AbortSignal): Promise<Outcome> {
    return orFailed(outcome, async () => {
      if (outcome.status === 'completed') return;
      await this.#context.abandon(this.#suspension, signal);
      this.#owed = [];
    });
  }
}
