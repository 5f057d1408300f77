/**
 * The grammar of one response's events, as clients rely on it: statements P49 to P62 as far as one stream can show
 * them. Call `checkGrammar` inside a test of your own; it throws an `AssertionError` that names the statement and the
 * event, and needs no test runner.
 *
 *   Y1  What is checked is what a client sees: nothing here knows the engine.
 *   Y2  An item that is cut closes as incomplete; no item begins after it and its response does not complete.
 */
import assert from 'node:assert/strict';

import { isCallType, openedCallId, owesAnswer } from '../calls.js';
import {
  serverEventSchema,
  type OutputItem,
  type ResponseObject,
  type ServerEvent,
} from '../protocol/server-events.js';
import { allowedNames, demands } from './choice-grammar.js';
import { HandOffs } from './hand-off-grammar.js';
import { OpenItemCheck, stepOf } from './item-grammar.js';

export interface GrammarOptions {
  /** The stream shows a whole rollout as one Response, with the events of the native dialect. Default false. */
  readonly native?: boolean;
}

type Typed<Type extends ServerEvent['type']> = Extract<ServerEvent, { type: Type }>;
type Terminal = Typed<'response.completed' | 'response.failed' | 'response.incomplete'>;
/** Acknowledgements of steers and injects: they stand anywhere, even after the terminal event (P49). */
type Acknowledgement = Typed<
  | 'response.steer.accepted'
  | 'response.steer.pending'
  | 'response.steer.failed'
  | 'response.inject.created'
  | 'response.inject.failed'
>;
type Unnumbered = Acknowledgement | Typed<'error' | 'response.append.failed' | 'response.attached'>;

function isAcknowledgement(event: ServerEvent): event is Acknowledgement {
  return event.type.startsWith('response.steer.') || event.type.startsWith('response.inject.');
}

function isUnnumbered(event: ServerEvent): event is Unnumbered {
  return (
    isAcknowledgement(event) || ['error', 'response.append.failed', 'response.attached'].includes(event.type)
  );
}

class StreamCheck {
  readonly #native: boolean;
  readonly #items: (OpenItemCheck | undefined)[] = [];
  /** Items as they were announced to be done, by `output_index`. */
  readonly #done: OutputItem[] = [];
  readonly #ids = new Set<string>();
  readonly #handOffs = new HandOffs();
  #next = 0;
  #shownAtHandOff = 0;
  #created: ResponseObject | null = null;
  #cut = false;
  #error = false;
  #terminal: Terminal | null = null;

  constructor(native: boolean) {
    this.#native = native;
  }

  accept(raw: unknown): void {
    const parsed = serverEventSchema.safeParse(raw);
    assert.ok(
      parsed.success,
      `P59: ${parsed.error?.issues[0]?.path.join('.')}: ${parsed.error?.issues[0]?.message}`,
    );
    const event = parsed.data;
    if (isUnnumbered(event)) return this.#unnumbered(event);
    assert.ok(
      !this.#error || event.type === 'response.failed',
      'P66: an error is followed by response.failed',
    );
    assert.equal(event.sequence_number, this.#next++, 'P50: numbers run from 0 without a gap');
    assert.equal(this.#terminal, null, 'P49: nothing follows the terminal event');
    this.#numbered(event);
  }

  end(): void {
    assert.ok(this.#terminal !== null, 'P49: the stream has no terminal event');
  }

  /** Errors are not logged: on the standard stream one may stand before `response.failed`, as it does on SSE. */
  #unnumbered(event: Unnumbered): void {
    if (isAcknowledgement(event)) return;
    assert.ok(this.#native || event.type === 'error', `${event.type} belongs to the native dialect`);
    if (!this.#native) this.#error = true;
  }

  #numbered(event: Exclude<ServerEvent, Unnumbered>): void {
    if (event.sequence_number === 0)
      assert.equal(event.type, 'response.created', 'P49: response.created is first');
    if (event.sequence_number === 1)
      assert.equal(event.type, 'response.in_progress', 'response.in_progress follows response.created');
    switch (event.type) {
      case 'response.created':
      case 'response.in_progress':
        return this.#begin(event);
      case 'response.output_item.added':
        return this.#open(event);
      case 'response.output_item.done':
        return this.#close(event);
      case 'response.completed':
      case 'response.failed':
      case 'response.incomplete':
        return this.#settle(event);
      case 'response.done':
      case 'response.append.accepted':
        return this.#private(event);
      default: {
        const item = this.#items[event.output_index];
        assert.ok(item !== undefined, 'P51: an item is announced before its content and closed after it');
        item.take(stepOf(event), event.item_id);
      }
    }
  }

  #begin({ type, response }: Typed<'response.created' | 'response.in_progress'>): void {
    if (type === 'response.created') assert.equal(this.#created, null, 'P49: there is one response.created');
    this.#created ??= response;
    assert.equal(response.id, this.#created.id, 'P49: the id of a response does not change');
    assert.equal(response.status, 'in_progress');
    for (const tool of response.tools)
      if (tool.type === 'function')
        for (const name of ['description', 'parameters', 'strict'])
          assert.ok(name in tool, `P59: an echoed function tool has ${name}`);
  }

  #open({ output_index, item }: Typed<'response.output_item.added'>): void {
    assert.equal(
      output_index,
      this.#items.length,
      'P51: items open in ascending output_index, without a gap',
    );
    assert.ok(!this.#cut, 'P58: no item begins after one that was cut');
    const callId = openedCallId(item);
    if (this.#native) this.#handOffs.announce(owesAnswer(item) ? callId : null);
    if (isCallType(item.type)) this.#checkChoice(item);
    for (const id of callId === null || item.type === 'mcp_approval_request'
      ? [item.id]
      : [item.id, callId]) {
      assert.ok(!this.#ids.has(id), `P56: the id ${id} is used once`);
      this.#ids.add(id);
    }
    this.#items.push(new OpenItemCheck(item));
  }

  #close({ output_index, item }: Typed<'response.output_item.done'>): void {
    const open = this.#items[output_index];
    assert.ok(open !== undefined, 'P51: only an open item is closed');
    open.close(item);
    if (item['status'] === 'incomplete') this.#cut = true;
    this.#items[output_index] = undefined;
    this.#done[output_index] = item;
  }

  #private(event: Typed<'response.done' | 'response.append.accepted'>): void {
    assert.ok(this.#native, `${event.type} belongs to the native dialect`);
    assert.equal(event.response_id, this.#created?.id, 'an event names its response');
    if (event.type === 'response.append.accepted') return this.#handOffs.accept(event);
    this.#requireClosed();
    assert.deepEqual(
      event.output,
      this.#done.slice(this.#shownAtHandOff),
      'P54: a hand-off shows the items of its turn',
    );
    this.#shownAtHandOff = this.#done.length;
    this.#handOffs.handOff(event);
  }

  #settle(event: Terminal): void {
    const { response } = event;
    this.#terminal = event;
    this.#requireClosed();
    assert.equal(response.id, this.#created?.id, 'P49: the id of a response does not change');
    const status = response.status === 'cancelled' ? 'incomplete' : response.status;
    assert.equal(event.type, `response.${status}`, 'the type of the terminal event says the status');
    assert.equal(
      response.error === null,
      status !== 'failed',
      'a failed response, and only that, has an error',
    );
    assert.equal(
      response.incomplete_details === null,
      status !== 'incomplete',
      'what is incomplete says why',
    );
    const { usage } = response;
    if (usage !== null) assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens);
    this.#checkOutput(response);
  }

  #checkOutput({ output, status }: ResponseObject): void {
    assert.equal(output.length, this.#done.length, 'P54: the terminal event shows every item');
    for (const [index, item] of output.entries()) {
      const done = this.#done[index];
      // A call that nobody will answer any more is shown as incomplete.
      const unfinished =
        status !== 'completed' && openedCallId(item) !== null && item['status'] === 'incomplete';
      const expected = unfinished ? { ...done, status: 'incomplete' } : done;
      assert.deepEqual(item, expected, 'P54: the terminal event shows the items as they were done');
      if (status === 'completed')
        assert.notEqual(item['status'], 'incomplete', 'P55: a completed response holds completed items');
    }
    // A continuation inherits a demand that an earlier turn has met.
    if (status !== 'completed' || this.#created?.previous_response_id !== null) return;
    const demanded = demands(this.#created.tool_choice);
    assert.ok(!demanded || output.some((item) => isCallType(item.type)), 'P57: tool_choice demands a call');
  }

  #checkChoice(item: OutputItem): void {
    const choice = this.#created?.tool_choice;
    assert.notEqual(choice, 'none', 'P57: tool_choice none yields no call');
    const allowed = allowedNames(choice);
    const name = item['name'];
    assert.ok(
      allowed === null || name === undefined || allowed.includes(name),
      `P57: tool_choice allows no ${String(name)}`,
    );
  }

  #requireClosed(): void {
    assert.ok(
      this.#items.every((item) => item === undefined),
      'P51: every item is closed before a turn or a response ends',
    );
  }
}

/**
 * Checks a stream of server events from its first to its terminal one.
 * @throws AssertionError where the stream breaks the grammar.
 */
export function checkGrammar(events: Iterable<unknown>, { native = false }: GrammarOptions = {}): void {
  const stream = new StreamCheck(native);
  for (const event of events) stream.accept(event);
  stream.end();
}
