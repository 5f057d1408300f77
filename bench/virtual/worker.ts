/** The other side of a thread: plays what it is ordered to, one rollout after the other. */
import { parentPort } from 'node:worker_threads';

import { builtinScenarios } from '../../scenarios/index.js';
import { playVirtual, type PlayedRollout, type VirtualCell } from './rollout.js';
import type { Order, SentCell, SimulatedRollout, Task } from './thread.js';

function cellOf({ scenario: sent, ...rest }: SentCell): VirtualCell {
  const scenario = typeof sent === 'string' ? builtinScenarios.get(sent) : sent;
  if (scenario === undefined)
    throw new RangeError(`no built-in scenario "${typeof sent === 'string' ? sent : sent.name}"`);
  return { ...rest, scenario };
}

function withoutWork(played: PlayedRollout): SimulatedRollout {
  const { work: _, ...rest } = played;
  return rest;
}

let cell: VirtualCell | null = null;
let arms: Task['arms'] = [];

async function play({ task, jobs }: Order): Promise<SimulatedRollout[]> {
  if (task !== null) {
    cell = cellOf(task.cell);
    ({ arms } = task);
  }
  if (cell === null) throw new Error('there is no task yet');
  const played: SimulatedRollout[] = [];
  for (const [at, rollout] of jobs) {
    const arm = arms[at];
    if (arm === undefined) throw new RangeError(`there is no arm ${at}`);
    played.push(withoutWork(await playVirtual(cell, arm, rollout)));
  }
  return played;
}

async function answer(order: Order): Promise<void> {
  const played = await play(order);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(played);
}

// A fault ends the thread, and whoever waits for it is told of it.
parentPort?.on('message', (order: Order) => void answer(order));
