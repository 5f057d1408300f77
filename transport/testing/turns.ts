/** What tests of the per-turn designs share: a client's side of a conversation, and what it made the engine do. */
import assert from 'node:assert/strict';

import type { ServerEvent } from '../../engine/index.js';
import { output } from '../../engine/testing/lab.js';
import { callIds, checkStream, ofType, responseIn } from './events.js';
import { isTerminal, type TPeer } from './peer.js';
import type { Serving } from './wire.js';

/** Id of the response that a stream begins. */
export function idOf(events: readonly ServerEvent[]): string {
  const id = ofType(events, 'response.created')[0]?.response.id;
  assert.ok(id, `no response was created: ${JSON.stringify(events.at(-1))}`);
  return id;
}

/** Answers to every call that a stream announced. */
export function answers(events: readonly ServerEvent[], text = 'ok'): object[] {
  return callIds(events).map((callId) => output(callId, `${text} ${callId}`));
}

/** Finished items, as a client keeps them for its history. */
export function itemsIn(events: readonly ServerEvent[]): object[] {
  return ofType(events, 'response.output_item.done').map(({ item }) => item);
}

/** A create with `store: false`, to its end, which is held against the grammar. */
export async function ask(peer: TPeer, fields: object = {}): Promise<ServerEvent[]> {
  const events = await peer.turn({ store: false, ...fields });
  if (events[0]?.type !== 'error') checkStream(events);
  return events;
}

/** Answers all calls of a response and takes the next one. */
export function goOn(
  peer: TPeer,
  before: readonly ServerEvent[],
  fields: object = {},
): Promise<ServerEvent[]> {
  return ask(peer, { previous_response_id: idOf(before), input: answers(before), ...fields });
}

/** The error that is all a create gets. */
export async function refused(peer: TPeer, fields: object) {
  const events = await ask(peer, fields);
  assert.deepEqual(
    events.map(({ type }) => type),
    ['error'],
  );
  const [error] = ofType(events, 'error');
  assert.ok(error);
  return error;
}

export function ending(events: readonly ServerEvent[]): string | undefined {
  const last = events.at(-1);
  return last === undefined ? undefined : (responseIn(last)?.status ?? last.type);
}

/** Takes events to the terminal one, all of one response, and holds them against the grammar. */
export async function rest(peer: TPeer, before: readonly ServerEvent[] = []): Promise<ServerEvent[]> {
  const events = [...before, ...(await peer.through((event) => isTerminal(event) || event.type === 'error'))];
  checkStream(events);
  return events;
}

/** How often work was done so far, and how many bills there are. */
export function work({ lab }: Serving): { pre: number; append: number; post: number; bills: number } {
  const runs = (stage: string): number => lab.engine.stageRuns[stage]?.runs ?? 0;
  // `render` and not `validate`, which sees refused ones too.
  return {
    pre: runs('pre.render'),
    append: runs('append.render'),
    post: runs('post.classify'),
    bills: lab.store.billed.count,
  };
}

/** Breaks a connection, and waits until the server knows. */
export async function drop(serving: Serving, peer: TPeer): Promise<void> {
  peer.drop();
  await serving.closings.next();
}

/** With every socket closed and every deadline past, nothing is left of anything. */
export async function checkNothingLeft(serving: Serving): Promise<void> {
  const { lab, server } = serving;
  await lab.clock.advance(2 * 60 * 60_000);
  const { holders, turns, sessions } = server.host;
  assert.deepEqual(
    {
      live: lab.engine.liveCount,
      timers: lab.clock.pending,
      held: holders.size,
      running: turns.running,
      sessions: sessions.size,
    },
    { live: 0, timers: 0, held: 0, running: 0, sessions: 0 },
  );
  const { pre, post, bills } = work(serving);
  assert.deepEqual([post, bills], [pre, pre], 'one post and one bill for each pre');
  const { opened, released } = lab.model.stats;
  assert.equal(released, opened, 'every session of the model was released');
}
