/**
 * What a create brings, held against the transcript it continues. Pure.
 *
 *   K1  Every output answers a call that is in the transcript or earlier in the same input, once, with its own type.
 *   K2  Every call is answered before anything is sampled.
 *   K3  Outputs that pay the kept transcript's calls enter first and in call order, as an append's would (S2).
 *   K4  A call echoed from the kept transcript beside its output is dropped: one copy is kept.
 *   K5  No item id stands twice in one input.
 */
import { answeredCallId, callField, openedCallId } from './calls.js';
import { ProtocolError } from './protocol/errors.js';
import type { Item } from './protocol/items.js';
import { missingOutput, requireOutputType } from './suspension.js';
import type { Transcript } from './transcript.js';

function refuseTwinIds(items: readonly Item[]): void {
  const seen = new Set<string>();
  items.forEach((item, index) => {
    const id = 'id' in item && typeof item.id === 'string' ? item.id : null;
    if (id === null || item.type === 'item_reference') return;
    if (seen.has(id))
      throw new ProtocolError(
        'duplicate_item_id',
        `Item id "${id}" stands twice in the input; send each item once.`,
        {
          param: `input[${index}].id`,
        },
      );
    seen.add(id);
  });
}

class Pairing {
  readonly #kept: Transcript;
  readonly #calls = new Map<string, string>();
  readonly #answered = new Set<string>();

  constructor(kept: Transcript) {
    this.#kept = kept;
  }

  open(callId: string, item: Item, index: number): void {
    if (this.#calls.has(callId) || this.#kept.call(callId) !== null)
      throw new ProtocolError('invalid_value', `Call "${callId}" stands twice in the conversation.`, {
        param: `input[${index}].call_id`,
      });
    this.#calls.set(callId, item.type);
  }

  answer(callId: string, item: Item, index: number): void {
    const type = this.#calls.get(callId) ?? this.#kept.call(callId)?.type;
    const param = `input[${index}]`;
    if (type === undefined)
      throw new ProtocolError(
        'unknown_call_id',
        `No tool call found for the output with call_id "${callId}".`,
        { param: `${param}.${callField(item)}` },
      );
    requireOutputType(item, callId, type, param);
    if (this.#answered.has(callId) || this.#kept.output(callId) !== null)
      throw new ProtocolError('call_already_answered', `Call "${callId}" is answered twice.`, {
        param: `${param}.${callField(item)}`,
      });
    this.#answered.add(callId);
  }

  requireAnswers(owed: readonly string[]): void {
    const missing = [...owed, ...this.#calls.keys()].find((callId) => !this.#answered.has(callId));
    if (missing !== undefined) throw missingOutput(missing);
  }
}

/**
 * The items as they enter the context.
 * @param owed calls of the kept transcript that this input has to answer, in call order.
 * @throws ProtocolError naming the item at fault.
 */
export function takeIn(items: readonly Item[], kept: Transcript, owed: readonly string[]): Item[] {
  refuseTwinIds(items);
  const pairing = new Pairing(kept);
  const entering: Item[] = [];
  const payments = new Map<string, Item>();
  items.forEach((item, index) => {
    const opens = openedCallId(item);
    if (item.type === 'compaction_trigger') return; // It asks for something, and says nothing.
    if (opens !== null && owed.includes(opens)) return; // K4
    if (opens !== null) pairing.open(opens, item, index);
    const answers = answeredCallId(item);
    if (answers !== null) pairing.answer(answers, item, index);
    if (answers !== null && owed.includes(answers)) payments.set(answers, item);
    else entering.push(item);
  });
  pairing.requireAnswers(owed);
  if (payments.size === 0) return entering;
  const paid = owed.map((callId) => payments.get(callId)).filter((item) => item !== undefined);
  return paid.concat(entering);
}
