/**
 * Rollouts that arrive at one server when the schedule says so, however many are there already.
 *
 *   L1  Every latency is counted from when the schedule had the rollout arrive, so that a server that stalls shows in the
 *       latency of all that came meanwhile.
 *   L2  The run ends when all have ended, or `drainMsMax` after the last arrival. What has not ended by then counts with
 *       the time that it has taken so far, and is cancelled.
 *   L3  When the run is over nothing is left: no live Response, no timer, no slot that is held.
 */
import { deferred } from '../../engine/index.js';
import { setupMs } from '../network/model.js';
import type { VirtualArm } from './arm.js';
import type { VirtualCell } from './cell.js';
import { Player } from './rollout.js';
import type { VirtualServer } from './server.js';

/** What came of one arrival, in ms. */
export interface Arrived {
  readonly scheduledAt: number;
  /** `unfinished` where the run was over before the rollout. */
  readonly status: string;
  readonly e2eMs: number;
  /** Until the first token of each turn: of the first from the schedule, of the others from when their outputs were there. */
  readonly ttftMs: readonly number[];
}

export interface OpenLoop {
  readonly cell: VirtualCell;
  readonly arm: VirtualArm;
  readonly server: VirtualServer;
  readonly arrivalsMs: readonly number[];
  /** Virtual milliseconds after the last arrival. */
  readonly drainMsMax: number;
}

interface Playing {
  readonly player: Player;
  readonly scheduledAt: number;
}

function cutOff({ player, scheduledAt }: Playing, now: number, firstMs: number): Arrived {
  const { turns, turn } = player.client;
  const readyAt = Math.max(turn.readyAt, scheduledAt);
  const soFar = (turn.firstTokenAt < 0 ? now : turn.firstTokenAt) - readyAt;
  const ttftMs = turns.map(({ first_token_ms }, index) => first_token_ms + (index === 0 ? firstMs : 0));
  return {
    scheduledAt,
    status: 'unfinished',
    e2eMs: now - scheduledAt,
    ttftMs: soFar > 0 ? [...ttftMs, soFar] : ttftMs,
  };
}

/** What came of every arrival, in order of the schedule. Rollout number `index` is the one of arrival `index`. */
export async function playOpenLoop(loop: OpenLoop): Promise<Arrived[]> {
  const { cell, arm, server, arrivalsMs, drainMsMax } = loop;
  const { clock, engine } = server;
  const stop = new AbortController();
  const over = deferred<void>();
  const arrived: Arrived[] = [];
  const playing = new Map<number, Playing>();
  const ended: Promise<void>[] = [];
  const firstMs = cell.cold ? setupMs(cell.network, arm.transport) : 0;

  const play = async (index: number, scheduledAt: number): Promise<void> => {
    const player = new Player(server, cell, arm, index, stop.signal);
    playing.set(index, { player, scheduledAt });
    const { status, e2e_ms, turns } = await player.play();
    if (stop.signal.aborted) return;
    const ttftMs = turns.map(({ first_token_ms }, turn) => first_token_ms + (turn === 0 ? firstMs : 0));
    arrived[index] = { scheduledAt, status, e2eMs: e2e_ms, ttftMs };
    playing.delete(index);
    server.slots?.letGo(player.name);
    if (arrived.length === arrivalsMs.length && playing.size === 0) over.resolve();
  };
  for (const [index, at] of arrivalsMs.entries())
    clock.after(at, () => {
      if (stop.signal.aborted) return;
      const played = play(index, at).catch((fault: unknown) => {
        if (!stop.signal.aborted) over.reject(fault);
      });
      ended.push(played);
    });
  const drain = clock.after((arrivalsMs.at(-1) ?? 0) + drainMsMax, over.resolve);
  if (arrivalsMs.length === 0) over.resolve();
  try {
    await clock.runUntil(over.promise);
  } finally {
    drain[Symbol.dispose]();
    for (const [index, one] of playing) arrived[index] = cutOff(one, clock.now(), firstMs);
    stop.abort();
    await clock.runUntil(engine[Symbol.asyncDispose]());
    for (const { player } of playing.values()) server.slots?.letGo(player.name);
    await clock.runToIdle();
    await Promise.all(ended);
  }
  return arrived;
}
