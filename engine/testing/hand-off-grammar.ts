/**
 * The grammar of hand-offs on the native stream: a hand-off lists exactly the calls without an answer, and no item
 * begins before the last of them is answered.
 */
import assert from 'node:assert/strict';

import type { ServerEvent } from '../protocol/server-events.js';

type Typed<Type extends ServerEvent['type']> = Extract<ServerEvent, { type: Type }>;

/** What a client owes, as its stream tells it. */
export class HandOffs {
  readonly #owed = new Set<string>();
  #turn = -1;
  #waits = false;

  announce(callId: string | null): void {
    assert.ok(!this.#waits, 'S2: an item begins before the calls of the turn before it are answered');
    if (callId !== null) this.#owed.add(callId);
  }

  handOff({ turn, required_input }: Typed<'response.done'>): void {
    if (this.#turn < 0) assert.ok(turn <= 1, `the first hand-off is of turn ${turn}`);
    else assert.equal(turn, this.#turn + 1, 'turns are counted');
    this.#turn = turn;
    this.#requires(required_input);
    this.#waits = this.#owed.size > 0;
  }

  accept({ call_ids, required_input }: Typed<'response.append.accepted'>): void {
    for (const callId of call_ids) this.#owed.delete(callId);
    this.#requires(required_input);
    if (this.#owed.size === 0) this.#waits = false;
  }

  #requires(stubs: Typed<'response.done'>['required_input']): void {
    const listed = stubs.map((stub) => stub.call_id);
    assert.deepEqual(
      listed,
      [...this.#owed],
      'required_input lists the calls without an answer, in call order',
    );
  }
}
