/**
 * One Response kept alive: it pumps its rollout into its log, so that no reader slows the model down, and it is where
 * appends and the cancel arrive.
 *
 *   R1  Exactly one terminal entry; the log is sealed with it. `settled` never rejects.
 *   R2  Whatever it holds on to (timers, listeners, the sampler's session) is gone when `settled` resolves.
 */
import { isWaitedFor, onAbort } from './abort.js';
import { Appends, type AppendOptions } from './appends.js';
import { EventLog } from './event-log.js';
import { noHandOffs, withHandOff, type HandOffPoint } from './hand-offs.js';
import { deferred } from './clock.js';
import { Keepalive } from './keepalive.js';
import { entryBytes, noUsage, type LogEntry, type Step, type TurnUsage } from './log-entry.js';
import { RolloutEnd, type Outcome } from './outcome.js';
import type { Timer } from './ports.js';
import { nativeEvent } from './projection.js';
import { ProtocolError, toProtocolError } from './protocol/errors.js';
import { overlapOf, type Overlap } from './overlap.js';
import type { Item } from './protocol/items.js';
import { parse } from './protocol/parse.js';
import { appendInputSchema, type CreateRequest } from './protocol/requests.js';
import type { ResponseObject, ServerEvent } from './protocol/server-events.js';
import { broughtItems, Snapshot } from './response-object.js';
import { Rollout } from './rollout.js';
import type { RolloutParts } from './rollout-parts.js';
import type { Receipt, Receipts, StageRuns } from './receipts.js';
import type { Kept } from './stages.js';
import type { Entry } from './transcript.js';

/** How a Response ended, and what it took. */
export interface Settlement {
  readonly outcome: Outcome;
  readonly usage: TurnUsage;
  readonly turns: number;
  readonly stage_runs: Readonly<StageRuns>;
}

class Settled implements Settlement {
  readonly outcome: Outcome;
  readonly usage: TurnUsage;
  readonly turns: number;
  readonly #receipts: Receipts;

  constructor(outcome: Outcome, usage: TurnUsage, turns: number, receipts: Receipts) {
    this.outcome = outcome;
    this.usage = usage;
    this.turns = turns;
    this.#receipts = receipts;
  }

  /** Summed when somebody asks: what runs after the terminal event leaves receipts too. */
  get stage_runs(): StageRuns {
    return this.#receipts.runs;
  }
}

const nothing = (): void => undefined;

export type { AppendOptions } from './appends.js';
export type AppendAccepted = Extract<ServerEvent, { type: 'response.append.accepted' }>;

export class LiveResponse implements AsyncDisposable, AsyncIterable<ServerEvent> {
  readonly id: string;
  readonly credential: string;
  /** Resolves when all work is over, what runs after the terminal event (billing) included. */
  readonly settled: Promise<Settlement>;
  readonly #parts: RolloutParts;
  readonly #rollout: Rollout;
  readonly #log: EventLog<LogEntry>;
  readonly #settle: (settlement: Settlement) => void;
  readonly #onSettled: (settlement: Settlement) => void;
  #snapshot: Snapshot | null = null;
  #settlement: Settlement | null = null;
  #listener: Disposable | null = null;
  #deadline: Timer | null = null;
  readonly #keepalive: Keepalive;
  readonly #appends: Appends;
  #handOffs = noHandOffs;

  /** @param onSettled called once, just before `settled` resolves. It must not throw. */
  constructor(parts: RolloutParts, onSettled: (settlement: Settlement) => void) {
    this.id = parts.id;
    this.credential = parts.credential;
    this.#parts = parts;
    this.#rollout = new Rollout(parts);
    this.#log = new EventLog({ bytesMax: parts.limits.logBytesMax, bytesOf: entryBytes });
    this.#appends = new Appends(this.#rollout, this.#log, parts, (entry) => this.#push(entry));
    this.#keepalive = new Keepalive(this.#log, parts.clock, parts.limits.keepaliveMs, () =>
      this.#push({ type: 'response.in_progress' }),
    );
    const settled = deferred<Settlement>();
    this.settled = settled.promise;
    this.#settle = settled.resolve;
    this.#onSettled = onSettled;
  }

  get request(): CreateRequest {
    return this.#rollout.request;
  }
  get kept(): Kept {
    return this.#rollout.kept;
  }
  /** The newest hand-offs, oldest first, at most `keptResponsesMax` and at least two: each can be continued, whatever came after it. */
  get handOffs(): readonly HandOffPoint[] {
    return this.#handOffs;
  }
  /** How it ended, from the terminal event on. */
  get settlement(): Settlement | null {
    return this.#settlement;
  }
  get stageRuns(): Readonly<StageRuns> {
    return this.#parts.receipts.runs;
  }
  /** The newest receipts, at most 64. */
  get receipts(): readonly Receipt[] {
    return this.#parts.receipts.newest;
  }
  /** The Response waits for its client: for answers or, after a warm-up, for a message. */
  get suspended(): boolean {
    return this.#rollout.suspension.waiting;
  }
  get requiredInput() {
    return this.#snapshot?.requiredInput ?? [];
  }
  /** Number of the newest log entry; -1 before the first. */
  get lastNumber(): number {
    return this.#log.next - 1;
  }
  /** Whether the newest log entry is a delta. */
  get newestIsToken(): boolean {
    const { newest } = this.#log;
    return newest !== undefined && 'delta' in newest;
  }
  /** Estimated resident bytes of the log. */
  get logBytes(): number {
    return this.#log.bytes;
  }

  /**
   * Runs the pre stages and starts the pump.
   * @throws ProtocolError where the create is refused; the Response then has no log and has never existed.
   */
  async start(request: unknown): Promise<void> {
    // Held all along, so that the waits of every passage and turn find a listener that is there already.
    this.#listener = onAbort(this.#parts.signal, nothing);
    await this.#rollout.admit(request).catch((fault: unknown) => this.#refuse(fault));
    const { clock, limits } = this.#parts;
    this.#snapshot = new Snapshot(this.id, this.#rollout.request, clock.unixSeconds());
    if (limits.rolloutMsMax < Infinity)
      this.#deadline = clock.after(limits.rolloutMsMax, () =>
        this.#end({ status: 'incomplete', reason: 'rollout_expired' }),
      );
    const steps = this.#rollout.run();
    const created = await steps.next();
    if (created.done !== true) for (const entry of created.value) this.#push(entry);
    void this.#pump(steps);
  }

  /**
   * Pays owed calls, and takes user messages along for the next turn. Resolves with the acknowledging event.
   * @throws ProtocolError; nothing of a refused append is applied.
   */
  async append(input: unknown, options: AppendOptions = {}): Promise<AppendAccepted> {
    const { entry, number } = await this.#appends.append(input, options);
    const event = this.event(entry, number);
    if (event.type !== 'response.append.accepted') throw new Error('an append was shown as something else');
    return event;
  }

  /**
   * How far a history, sent in full from entry `from` of the transcript on, is this Response's; null where it is another
   * one. What the client lacks begins at output item `outputItems`.
   * @throws ProtocolError where the input cannot be read.
   */
  overlap(input: unknown, from: number): (Overlap & { readonly outputItems: number }) | null {
    const done = this.#rollout.outputItemsDone;
    const known = this.#rollout.known(from);
    const overlap = done === null ? null : overlapOf(parse(appendInputSchema, input, ['input']), known);
    return overlap === null || done === null ? null : { ...overlap, outputItems: done - overlap.unseen };
  }

  /** Ends the running turn at the end of its current item, so that a message can come in; see `Rollout.interrupt`. */
  interrupt(): void {
    this.#rollout.interrupt();
  }

  /** Ends the rollout. Settling it again, or after its end, does nothing. */
  cancel(reason: 'cancelled' | 'disconnected' = 'cancelled'): void {
    this.#end({ status: 'cancelled', reason });
  }

  /** What its client has brought so far, oldest first: input and appends. */
  get inputItems(): readonly Item[] {
    return broughtItems(this.#rollout.added, this.snapshot().output);
  }

  /** The Response as it was created. */
  get created(): ResponseObject {
    return this.#shown.created();
  }

  /** The Response as it stands now: a fold of its log. */
  snapshot(): ResponseObject {
    return this.#shown.snapshot();
  }

  /**
   * Kept log entries from `number` on, at most `countMax`: for a session, which numbers and sends them in one write.
   * @throws ProtocolError `replay_expired`.
   */
  entries(number: number, countMax?: number): LogEntry[] {
    return this.#log.from(number, countMax);
  }

  /** An entry as its wire event. */
  event(entry: LogEntry, number: number): ServerEvent {
    return nativeEvent(entry, number, this.#shown);
  }

  /** What it has received for its next turn: outputs in call order, then messages. */
  get received(): readonly Entry[] {
    return this.#rollout.suspension.received;
  }

  /** Calls back once when entry `number` exists or none will; returns the way out of the wait. */
  whenBeyond(number: number, callback: () => void): () => void {
    const leave = this.#log.whenBeyond(number, callback);
    this.#keepalive.arm();
    return leave;
  }

  /** True when nothing comes after entry `number`. */
  endsAt(number: number): boolean {
    return this.#log.sealed && number >= this.lastNumber;
  }

  /**
   * Wire events after `startingAfter`, to the terminal one. Any number of readers at once.
   * @throws ProtocolError `replay_expired` where those events are no longer kept.
   */
  async *events(startingAfter = -1): AsyncGenerator<ServerEvent, void> {
    let leave = (): void => undefined;
    try {
      for (let next = startingAfter + 1; ;) {
        for (const entry of this.#log.from(next)) yield this.event(entry, next++);
        if (this.endsAt(next - 1)) return;
        const grown = deferred<void>();
        leave = this.whenBeyond(next, grown.resolve);
        await grown.promise;
      }
    } finally {
      leave();
      this.#keepalive.disarm();
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<ServerEvent, void> {
    return this.events();
  }

  /** Cancels what still runs and waits until it has settled. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.cancel();
    await this.settled;
  }

  get #shown(): Snapshot {
    if (this.#snapshot === null) throw new Error('the response has not been admitted');
    return this.#snapshot;
  }

  /** Whoever disposes of it while it is being admitted waits for `settled`, although it never came to exist. */
  #refuse(fault: unknown): never {
    const refusal =
      fault instanceof RolloutEnd
        ? new ProtocolError('server_shutting_down', 'The response was ended before it was admitted.')
        : fault;
    const { code, message } = toProtocolError(refusal);
    const settlement = this.#seal({ status: 'failed', code, message });
    this.#leave(settlement);
    this.#settle(settlement);
    throw refusal;
  }

  async #pump(steps: AsyncGenerator<Step, void>): Promise<void> {
    try {
      for await (const step of steps) for (const entry of step) this.#push(entry);
    } catch (fault) {
      // Only a defect of the engine itself gets here; the client still gets its one terminal event.
      this.#parts.controller.abort(fault);
      process.emitWarning(fault instanceof Error ? fault : String(fault), { code: 'LONG_RESPONSE_ROLLOUT' });
    }
    const outcome: Outcome = { status: 'failed', code: 'server_error', message: 'The server failed.' };
    if (this.#settlement === null) this.#push({ type: 'response.settled', outcome, usage: noUsage });
    const settlement = this.#settlement ?? this.#seal(outcome);
    this.#leave(settlement);
    this.#onSettled(settlement);
    this.#settle(settlement);
  }

  /**
   * What an entry says is owed, held against the log it enters: an append may have been taken after the loop said it and
   * before the log learns of it, and a call that the loop has begun may not have been announced yet.
   */
  #upToDate(entry: LogEntry): LogEntry {
    if (entry.type !== 'response.done' && entry.type !== 'response.append.accepted') return entry;
    const owed = this.#rollout.suspension.requiredInput;
    const required_input = owed.filter((stub) => this.#snapshot?.announced(stub.call_id));
    // What was owed can only have grown less, so as many are the same.
    return required_input.length === entry.required_input.length ? entry : { ...entry, required_input };
  }

  #seal(outcome: Outcome): Settlement {
    this.#deadline?.[Symbol.dispose]();
    this.#keepalive.end();
    this.#log.seal();
    const { usage, turnNumber: turns } = this.#rollout;
    const { receipts } = this.#parts;
    this.#settlement = new Settled(outcome, usage, turns, receipts);
    return this.#settlement;
  }

  /** Whoever still waits for the signal is told that it is over (R2). Most often nobody does, and an abort has its cost. */
  #leave({ outcome }: Settlement): void {
    const { signal, controller } = this.#parts;
    this.#listener?.[Symbol.dispose]();
    if (isWaitedFor(signal)) controller.abort(new RolloutEnd(outcome));
  }

  #push(said: LogEntry): number {
    const entry = this.#upToDate(said);
    this.#snapshot?.apply(entry, this.#parts.clock);
    this.#keepalive.heard();
    // Before the log wakes its readers, who go on from it.
    if (entry.type === 'response.done') this.#keepHandOff(entry.turn);
    const number = this.#log.push(entry);
    if (entry.type === 'response.settled') this.#seal(entry.outcome);
    return number;
  }

  #keepHandOff(turn: number): void {
    const { outputItems, kept } = this.#rollout;
    const point = { turn, number: this.#log.next, outputItems, kept };
    this.#handOffs = withHandOff(this.#handOffs, point, this.#parts.limits.keptResponsesMax);
  }

  #end(outcome: Outcome): void {
    if (!this.#rollout.ended) this.#parts.controller.abort(new RolloutEnd(outcome));
  }
}
