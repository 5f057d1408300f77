/**
 * A client of a per-turn design that keeps what it was shown, as an agent does: what each response said, and the history
 * that led to it. It holds every stream against the grammar as it comes.
 */
import assert from 'node:assert/strict';

import type { ServerEvent } from '../../engine/index.js';
import { output } from '../../engine/testing/lab.js';
import { callIds, checkStream } from './events.js';
import { isTerminal, type TPeer } from './peer.js';
import { itemsIn } from './turns.js';

/** A create, and the history that its client takes it to continue. */
export interface Sent {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly history: readonly unknown[];
}

/** A response, as far as it was shown. */
export interface Shown {
  readonly id: string;
  readonly lane: string;
  readonly sent: Sent;
  readonly events: ServerEvent[];
}

/** The lane's part of a stream. */
interface Lane {
  readonly asked: (Sent & { readonly eventId: string })[];
  open: Shown | null;
}

export class Agent {
  readonly peer: TPeer;
  /** Shown to their end. */
  readonly ended: Shown[] = [];
  readonly #lanes = new Map<string, Lane>();
  #read = 0;
  #count = 0;

  constructor(peer: TPeer) {
    this.peer = peer;
  }

  /** Creates that got no terminal event and no refusal. */
  get waiting(): number {
    return [...this.#lanes.values()].reduce(
      (sum, { asked, open }) => sum + asked.length + (open === null ? 0 : 1),
      0,
    );
  }

  /** What runs, as far as it was shown. */
  get open(): Shown[] {
    return [...this.#lanes.values()].flatMap(({ open }) => open ?? []);
  }

  ask(lane: string, sent: Sent): void {
    const eventId = `create ${++this.#count}`;
    this.#laneOf(lane).asked.push({ ...sent, eventId });
    const stream_id = lane === '' ? undefined : lane;
    this.peer.send({ type: 'response.create', model: 'm', ...sent.fields, event_id: eventId, stream_id });
  }

  /** Reads what has come. */
  read(): void {
    const { received } = this.peer;
    for (const event of received.slice(this.#read)) this.#take(event);
    this.#read = received.length;
  }

  #laneOf(name: string): Lane {
    const lane = this.#lanes.get(name) ?? { asked: [], open: null };
    this.#lanes.set(name, lane);
    return lane;
  }

  #take(event: ServerEvent): void {
    if (event.type === 'error' && event.event_id?.startsWith('marker') === true) return;
    const name = 'stream_id' in event && typeof event['stream_id'] === 'string' ? event['stream_id'] : '';
    const lane = this.#laneOf(name);
    if (event.type === 'error') {
      const at = lane.asked.findIndex(({ eventId }) => eventId === event.event_id);
      assert.ok(at >= 0, `an error for nothing: ${event.error.message}`);
      lane.asked.splice(at, 1);
    } else if (event.type === 'response.created') {
      assert.equal(lane.open, null, 'P20: one at a time');
      const sent = lane.asked.shift();
      assert.ok(sent, 'a response that nobody asked for');
      lane.open = { id: event.response.id, lane: name, sent, events: [event] };
    } else {
      assert.ok(lane.open, `${event.type} outside a response`);
      lane.open.events.push(event);
      if (!isTerminal(event)) return;
      checkStream(lane.open.events);
      this.ended.push(lane.open);
      lane.open = null;
    }
  }
}

/** The whole history through what was shown of a response, with answers to the calls in it. */
export function historyOf({ sent, events }: Shown): unknown[] {
  const items = itemsIn(events);
  const calls = callIds(events).filter((callId) =>
    items.some((item) => 'call_id' in item && item.call_id === callId),
  );
  return [...sent.history, ...items, ...calls.map((callId) => output(callId, `answer to ${callId}`))];
}

/** What goes on from a response that was shown to its end: answers, or a message where nothing is owed. */
export function goingOn(shown: Shown, text: string): unknown[] {
  const answers = historyOf(shown).slice(shown.sent.history.length + itemsIn(shown.events).length);
  return answers.length > 0 ? answers : [{ type: 'message', role: 'user', content: text }];
}
