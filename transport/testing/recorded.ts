/** A server on virtual time, over the in-memory wire, that records; and clients that play a rollout on it in any design. */
import assert from 'node:assert/strict';

import type { ServerEvent } from '../../engine/index.js';
import type { Script } from '../../engine/samplers/script.js';
import { Recorder } from '../record.js';
import type { RecordedTurn } from '../record-lines.js';
import { adapters } from './adapters.js';
import { callIds } from './events.js';
import { isPause, type TPeer } from './peer.js';
import { idOf, itemsIn } from './turns.js';
import { Serving, type ServeOptions } from './wire.js';

export interface Recorded extends AsyncDisposable {
  readonly serving: Serving;
  /** Every line so far, as a file would have it. */
  readonly turns: () => RecordedTurn[];
}

export async function recorded(
  script: Script,
  { text = false, ...options }: ServeOptions & { readonly text?: boolean } = {},
): Promise<Recorded> {
  const loopback = adapters.find(({ name }) => name === 'loopback');
  assert.ok(loopback);
  const lines: (() => RecordedTurn)[] = [];
  const made: RecordedTurn[] = [];
  const started: { serving: Serving | null } = { serving: null };
  const recorder = new Recorder({
    lines: { add: (line) => void lines.push(line) },
    text,
    now: () => started.serving?.lab.clock.now() ?? 0,
    designOf: (id, credential) => started.serving?.server.host.designOf(id, credential)?.name ?? null,
  });
  const { engine } = options;
  const serving = new Serving(script, {
    ...options,
    engine: {
      ...engine,
      stages: (standard) => recorder.stages(engine?.stages?.(standard) ?? standard),
      onSettled: (response) => recorder.settled(response),
    },
  });
  started.serving = serving;
  await serving.start(loopback);
  return {
    serving,
    turns: () => {
      for (const line of lines.splice(0)) made.push(JSON.parse(JSON.stringify(line())) as RecordedTurn);
      return made;
    },
    [Symbol.asyncDispose]: () => serving[Symbol.asyncDispose](),
  };
}

/** Takes the events of a turn while time goes on. */
export function paused(serving: Serving, peer: TPeer): Promise<ServerEvent[]> {
  return serving.lab.clock.runUntil(peer.through(isPause));
}

/** What a client answers to the calls of a turn (from 1), when it has run them. */
export type Answers = (turn: number, callIds: readonly string[]) => Promise<readonly object[]>;

type Rollout = (
  serving: Serving,
  peer: TPeer,
  request: Readonly<Record<string, unknown>>,
  answers: Answers,
) => Promise<void>;

const appended: Rollout = async (serving, peer, request, answers) => {
  peer.send({ type: 'response.create', ...request });
  let events = await paused(serving, peer);
  const id = idOf(events);
  for (let turn = 1; events.at(-1)?.type === 'response.done'; turn++) {
    peer.append(id, ...(await answers(turn, callIds(events))));
    events = await paused(serving, peer);
  }
};

const chained: Rollout = async (serving, peer, request, answers) => {
  peer.send({ type: 'response.create', ...request });
  let events = await paused(serving, peer);
  for (let turn = 1; callIds(events).length > 0; turn++) {
    const input = await answers(turn, callIds(events));
    peer.send({ type: 'response.create', ...request, previous_response_id: idOf(events), input });
    events = await paused(serving, peer);
  }
};

const replayed: Rollout = async (serving, peer, request, answers) => {
  const history: object[] = [{ type: 'message', role: 'user', content: request['input'] }];
  peer.send({ type: 'response.create', ...request, input: history });
  let events = await paused(serving, peer);
  for (let turn = 1; callIds(events).length > 0; turn++) {
    history.push(...itemsIn(events), ...(await answers(turn, callIds(events))));
    peer.send({ type: 'response.create', ...request, input: history });
    events = await paused(serving, peer);
  }
};

/** By the name of the design. */
export const rollouts: Readonly<Record<string, Rollout>> = {
  append: appended,
  chain: chained,
  shim: chained,
  replay: replayed,
  'replay-cached': replayed,
};

/** Plays a rollout to its end on a socket of its own, which is closed then. */
export async function playRollout(
  serving: Serving,
  design: string,
  request: Readonly<Record<string, unknown>>,
  answers: Answers,
  key?: string,
): Promise<void> {
  const play = rollouts[design];
  assert.ok(play);
  await using peer = await serving.connect({ design, ...(key === undefined ? {} : { key }) });
  await play(serving, peer, request, answers);
  await serving.lab.settle();
}
