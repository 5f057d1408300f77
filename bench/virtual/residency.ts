/**
 * What a rollout occupies while nothing of it is sampled, from its turns at the server. Bytes are tokens times what one
 * weighs: 70 KB (DeepSeek-V3) to 320 KB (Llama 3.1 70B in bf16) of model state.
 *
 *   Y1  What is kept of the model's state is the affair of the session policy alone: at the same policy and the same times
 *       two designs keep the same.
 */
import type { SessionPolicy } from '../../engine/index.js';
import type { ResidencySection } from '../lab/sections.js';
import { playAlone } from './alone.js';
import type { VirtualArm } from './arm.js';
import type { VirtualCell } from './cell.js';
import type { SampledTurn } from './slots.js';

/**
 * Sums over the times between two turns: from the end of one to when the next is in its slot. The time after the last turn
 * is left out, in which a state lives on for its whole time to live in every design alike.
 */
export interface Residency {
  /** Tokens of the model's state × seconds that it is kept, at most its time to live each time. */
  readonly kv_token_seconds: number;
  /** Tokens of the transcript × seconds that the server keeps it for the next turn. */
  readonly transcript_token_seconds: number;
  /** Seconds that a Response is alive and suspended. */
  readonly response_seconds: number;
  /** Seconds that a place on the machine is held and not used. */
  readonly slot_seconds: number;
}

function slotMs(
  { place, state }: Pick<VirtualArm, 'place' | 'state'>,
  pauseMs: number,
  ttlMs: number,
): number {
  if (place === 'per-conversation') return Math.min(pauseMs, ttlMs);
  return place === 'per-response' && state === 'suspended' ? pauseMs : 0;
}

/** `turns` of one rollout, in order. */
export function residencyOf(
  turns: readonly SampledTurn[],
  arm: Pick<VirtualArm, 'place' | 'state'>,
  session: SessionPolicy,
): Residency {
  const ttlMs = session.ttlMs ?? Infinity;
  const keptMsMax = session.policy === 'per-conversation' ? ttlMs : 0;
  const sum = { kv_token_seconds: 0, transcript_token_seconds: 0, response_seconds: 0, slot_seconds: 0 };
  for (const [index, { startedAt }] of turns.entries()) {
    const before = turns[index - 1];
    if (before === undefined) continue;
    const pauseMs = startedAt - before.endedAt;
    sum.kv_token_seconds += (before.tokens * Math.min(pauseMs, keptMsMax)) / 1000;
    sum.transcript_token_seconds += arm.state === 'none' ? 0 : (before.tokens * pauseMs) / 1000;
    sum.response_seconds += arm.state === 'suspended' ? pauseMs / 1000 : 0;
    sum.slot_seconds += slotMs(arm, pauseMs, ttlMs) / 1000;
  }
  return sum;
}

/**
 * Means over the first `rollouts` rollouts of the cell, each alone, at the cell's session policy.
 * @throws RangeError for less than one rollout.
 */
export async function measureResidency(
  cell: VirtualCell,
  arm: VirtualArm,
  rollouts: number,
): Promise<ResidencySection> {
  if (!(rollouts >= 1)) throw new RangeError(`${rollouts} rollouts: expected at least one`);
  let tokenSeconds = 0;
  let placeSeconds = 0;
  for (let index = 0; index < rollouts; index++) {
    const { turns } = await playAlone(cell, arm, index);
    const { kv_token_seconds, slot_seconds } = residencyOf(turns, arm, cell.session);
    tokenSeconds += kv_token_seconds;
    placeSeconds += slot_seconds;
  }
  const ttlMs = cell.session.ttlMs ?? Infinity;
  return {
    scenario: cell.scenario.name,
    ttl_ms: ttlMs === Infinity ? null : ttlMs,
    arm: arm.name,
    token_seconds: tokenSeconds / rollouts,
    place_seconds: placeSeconds / rollouts,
  };
}
