/** One rollout on a server of its own, with all that it uses counted: what a loaded server is held against. */
import type { VirtualArm } from './arm.js';
import type { VirtualCell } from './cell.js';
import { Player } from './rollout.js';
import { VirtualServer } from './server.js';
import type { SampledTurn } from './slots.js';

export interface PlayedAlone {
  readonly e2eMs: number;
  /** CPU of simulated work, that after the terminal event included. */
  readonly cpuMs: number;
  /** A slot's time: sampled in, and held between turns. */
  readonly slotMs: number;
  readonly turns: readonly SampledTurn[];
}

/** @throws Error where the rollout does not complete. */
export async function playAlone(cell: VirtualCell, arm: VirtualArm, index: number): Promise<PlayedAlone> {
  const turns: SampledTurn[] = [];
  let cpuMs = 0;
  const server = new VirtualServer({
    cell,
    arm,
    slots: Infinity,
    onTurn: (turn) => turns.push(turn),
    onWork: (work) => {
      cpuMs += work.cpu_ms;
    },
  });
  const { clock, slots } = server;
  const player = new Player(server, cell, arm, index, new AbortController().signal);
  const { status, e2e_ms } = await clock.runUntil(player.play());
  if (status !== 'completed')
    throw new Error(`rollout ${index} of ${arm.name} ended ${status} with nothing in its way`);
  slots?.letGo(player.name);
  await clock.runToIdle();
  return { e2eMs: e2e_ms, cpuMs, slotMs: (slots?.sampledMs ?? 0) + (slots?.heldMs ?? 0), turns };
}
