/**
 * The one place a rollout waits for its client: a ledger of owed calls, one per turn.
 *
 *   S1  A call is owed from the moment it is sampled, so no append can arrive too early.
 *   S2  An append applies whole or not at all; every call is answered at most once. A byte-identical resend is no
 *       answer and no error: it is acknowledged again. Outputs leave in call order, whatever order they came in.
 *   S3  Once `resumed` settles, nothing of this turn hangs off the rollout's signal or the clock.
 */
import { onAbort } from './abort.js';
import {
  answeredCallId,
  callField,
  openedCallId,
  outputTypeFor,
  requiredInputFor,
  type OwedCall,
} from './calls.js';
import { deferred } from './clock.js';
import type { Clock } from './ports.js';
import { ProtocolError } from './protocol/errors.js';
import { isToolOutput, type Item } from './protocol/items.js';
import type { RequiredInput } from './protocol/server-events.js';
import { RolloutEnd } from './outcome.js';
import { isSameJson } from './same-json.js';
import type { Entry, Transcript } from './transcript.js';

/** What an answer says, whatever its client has put beside that. */
function saidIn(item: Item): unknown {
  return isToolOutput(item) ? item.output : item;
}

/** What an append would do, found before any of it is done (S2). */
export interface PlannedAppend {
  /** Items that enter the context: new outputs and messages. */
  readonly items: readonly Item[];
  /** Calls it answers, new or again, in the order given. */
  readonly call_ids: readonly string[];
  /** Nothing but outputs that were already given. */
  readonly resend: boolean;
}

/** One line of the ledger: a call, and its answer once it has one. */
interface Line {
  readonly call: OwedCall;
  readonly stub: RequiredInput;
  answer: Entry | null;
}

export class Suspension {
  /** In call order. */
  readonly #lines = new Map<string, Line>();
  #unanswered = 0;
  readonly #messages: Entry[] = [];
  #sampled = false;
  #expectsMessage = false;
  #resume: (() => void) | null = null;

  get messagesPending(): number {
    return this.#messages.length;
  }

  /** Tokens of all it has received. */
  get tokens(): number {
    return this.received.reduce((sum, entry) => sum + entry.tokens.length, 0);
  }

  /** The rollout waits for its client here and now. */
  get waiting(): boolean {
    return this.#resume !== null;
  }

  /** Stubs of the unanswered calls, in call order. */
  get requiredInput(): RequiredInput[] {
    const stubs: RequiredInput[] = [];
    for (const { answer, stub } of this.#lines.values()) if (answer === null) stubs.push(stub);
    return stubs;
  }

  /** Every call of the turn, answered or not, in call order. */
  get callIds(): string[] {
    return [...this.#lines.keys()];
  }

  owe(call: OwedCall): void {
    this.#lines.set(call.call_id, { call, stub: requiredInputFor(call), answer: null });
    this.#unanswered++;
  }

  /**
   * Checks an append against this turn and the transcript before it. Changes nothing.
   * @param whole every owed call has to be answered, and a copy of one beside its output is dropped.
   * @throws ProtocolError that names the item at fault.
   */
  plan(items: readonly Item[], transcript: Transcript, whole = false): PlannedAppend {
    const planned: Item[] = [];
    const callIds: string[] = [];
    const own = new Map<string, Item>();
    items.forEach((item, index) => {
      const callId = answeredCallId(item);
      if (callId === null) {
        const copied = whole ? openedCallId(item) : null;
        if (copied !== null && this.#lines.has(copied)) return;
        requireMessage(item, index);
        planned.push(item);
        return;
      }
      const answered = this.#lines.get(callId)?.answer?.item ?? transcript.output(callId);
      const earlier = own.get(callId) ?? answered;
      this.#requireCall(item, callId, index, transcript);
      if (!own.has(callId)) callIds.push(callId);
      own.set(callId, item);
      if (earlier === null) planned.push(item);
      else if (!isSameJson(saidIn(earlier), saidIn(item))) throw answeredTwice(callId, item, index);
    });
    if (whole) this.#requireWhole(callIds);
    return { items: planned, call_ids: callIds, resend: planned.length === 0 };
  }

  /**
   * Applies a planned append with its rendered tokens. The wait ends if nothing is owed any more.
   * @param whole the client asks for the next turn, so none of its messages is waited for.
   */
  pay(entries: readonly Entry[], whole = false): void {
    if (whole) this.#expectsMessage = false;
    for (const entry of entries) {
      const callId = answeredCallId(entry.item);
      const line = callId === null ? undefined : this.#lines.get(callId);
      if (line === undefined) this.#messages.push(entry);
      else {
        if (line.answer === null) this.#unanswered--;
        line.answer = entry;
      }
    }
    const resume = this.#resume;
    if (!this.#paid || resume === null) return;
    this.#resume = null; // From now on it waits for nobody, although the loop has not gone on yet.
    resume();
  }

  /** The turn is fully sampled: nothing more will be owed. */
  sampled(): void {
    this.#sampled = true;
  }

  /** Of its client it wants a message. */
  get expectsMessage(): boolean {
    return this.#expectsMessage;
  }

  /** A warm-up, or a turn that was interrupted: nothing is owed, but only a message ends the wait. */
  expectMessage(): void {
    this.#sampled = true;
    this.#expectsMessage = true;
  }

  /**
   * Waits until every owed call is answered. Rejects with the signal's reason, or with `suspension_expired` after
   * `msMax`.
   */
  async resumed(signal: AbortSignal, clock: Clock, msMax: number): Promise<void> {
    signal.throwIfAborted();
    if (this.#paid) return;
    const wait = deferred<void>();
    this.#resume = wait.resolve;
    // Disposed of by hand: as `using`, compiled for today's Node, each would weigh on every suspended rollout.
    const abort = onAbort(signal, () => wait.reject(signal.reason));
    const deadline = clock.after(msMax, () =>
      wait.reject(new RolloutEnd({ status: 'incomplete', reason: 'suspension_expired' })),
    );
    try {
      await wait.promise;
    } finally {
      this.#resume = null;
      abort[Symbol.dispose]();
      deadline[Symbol.dispose]();
    }
  }

  /** What the client has sent so far: outputs in call order, then messages as they came. */
  get received(): Entry[] {
    const entries: Entry[] = [];
    for (const { answer } of this.#lines.values()) if (answer !== null) entries.push(answer);
    entries.push(...this.#messages);
    return entries;
  }

  get #paid(): boolean {
    if (!this.#sampled || this.#unanswered > 0) return false;
    return !this.#expectsMessage || this.#messages.length > 0;
  }

  #requireWhole(callIds: readonly string[]): void {
    const missing = this.requiredInput.find((stub) => !callIds.includes(stub.call_id));
    if (missing !== undefined) throw missingOutput(missing.call_id);
  }

  #requireCall(item: Item, callId: string, index: number, transcript: Transcript): void {
    const type = this.#lines.get(callId)?.call.type ?? transcript.call(callId)?.type;
    const param = `input[${index}]`;
    if (type !== undefined) requireOutputType(item, callId, type, param);
    if (this.#lines.has(callId) || transcript.output(callId) !== null) return;
    const why = type === undefined ? 'was made by this response' : 'waits for an output';
    throw new ProtocolError('unknown_call_id', `No tool call with call_id "${callId}" ${why}.`, {
      param: `${param}.${callField(item)}`,
    });
  }
}

/**
 * @param param where the item stands in the client's event.
 * @throws ProtocolError `wrong_output_type` where the item is not the kind of output that answers such a call.
 */
export function requireOutputType(item: Item, callId: string, callType: string, param: string): void {
  if (item.type === outputTypeFor(callType)) return;
  throw new ProtocolError(
    'wrong_output_type',
    `Call "${callId}" is a ${callType}; it is answered by ${outputTypeFor(callType)}, not ${item.type}.`,
    { param: `${param}.type` },
  );
}

function requireMessage(item: Item, index: number): void {
  if (item.type === 'message' && 'role' in item && item.role !== 'assistant') return;
  throw new ProtocolError(
    'invalid_value',
    `An append takes tool outputs and messages of the user, system or developer; got ${item.type}.`,
    { param: `input[${index}]` },
  );
}

export function missingOutput(callId: string): ProtocolError {
  return new ProtocolError('missing_tool_output', `No tool output found for call_id "${callId}".`, {
    param: 'input',
  });
}

function answeredTwice(callId: string, item: Item, index: number): ProtocolError {
  return new ProtocolError(
    'call_already_answered',
    `Call "${callId}" has already been answered with a different output; the first answer stands.`,
    { param: `input[${index}].${callField(item)}` },
  );
}
