/** Clients that break their connection, for tests of what becomes of their rollouts. */
import assert from 'node:assert/strict';

import type { ServerEvent } from '../../engine/index.js';
import { call, say, turn } from '../../engine/testing/lab.js';
import { checkStream, ofType } from './events.js';
import type { TPeer } from './peer.js';
import { checkNothingLeft, drop, itemsIn, work } from './turns.js';
import type { Serving } from './wire.js';

/** Ten tokens a second, four characters each. */
export const slow = { decodeTokensPerSecond: 10, deltaTokensMax: 1 };
export const long = '{"path":"a rather long path for a call"}';
/** Every item takes at least a second. */
export const slowLoop = [
  turn(say('x'.repeat(40)), call('first', long), call('second', long), call('third', long)),
  turn(say('y'.repeat(40)), call('fourth', long)),
  turn(say('z'.repeat(40)), say('and that is the end of it, of all of it')),
];

/** Sends a create with `store: false` and waits for nothing. */
export function begin(peer: TPeer, fields: object): void {
  peer.send({ type: 'response.create', model: 'm', store: false, ...fields });
}

/** Lets time pass until that many items of the response that a create begins are finished, then breaks the connection. */
export async function cutAfter(
  serving: Serving,
  peer: TPeer,
  items: number,
  fields: object,
): Promise<ServerEvent[]> {
  begin(peer, fields);
  let left = items;
  const seen: ServerEvent[] = [await peer.until('response.in_progress')];
  while (left > 0) {
    await serving.lab.clock.advance(100);
    seen.push(...(await peer.rest()));
    left = items - itemsIn(seen).length;
  }
  await drop(serving, peer);
  return seen;
}

/** Lets the response that a peer has asked for run to its end, and gives its stream, held against the grammar. */
export async function finish(serving: Serving, peer: TPeer): Promise<ServerEvent[]> {
  await peer.rest();
  await serving.lab.clock.advance(60_000);
  await peer.rest();
  const shown = peer.received.filter(({ type }) => type !== 'error');
  const events = shown.slice(shown.findLastIndex(({ type }) => type === 'response.created'));
  checkStream(events);
  return events;
}

/** Those of items that were finished. */
export function itemEvents(events: readonly ServerEvent[]): ServerEvent[] {
  const done = new Set(ofType(events, 'response.output_item.done').map((event) => event.output_index));
  return events.filter((event) => 'output_index' in event && done.has(Number(event.output_index)));
}

/** One rollout, and nothing left of it. */
export async function checkOne(serving: Serving): Promise<void> {
  await serving.lab.settle();
  assert.equal(work(serving).pre, 1, 'one rollout');
  const { prompt } = serving.lab;
  assert.equal(new Set(prompt).size, prompt.length, 'the model reads every item once');
  await checkNothingLeft(serving);
}
