/** From a scenario to its rollouts: (scenario, seed, index) names one rollout, the same on every machine. */
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';

import { draw, drawOrder, generatorFor, type Draw, type RandomGenerator } from './random.js';
import type { Drawn, FollowUp, Rollout, Scenario, Turn } from './scenario.js';
import { argumentsTokensMin } from './text.js';

function whole(from: Draw, min: number, random: RandomGenerator): number {
  return Math.max(min, Math.round(draw(from, random)));
}

function drawTurn(drawn: Drawn, random: RandomGenerator): Turn {
  return {
    output_tokens: whole(drawn.output_tokens, 0, random),
    calls: Array.from({ length: whole(drawn.calls, 1, random) }, () => ({
      arguments_tokens: whole(drawn.arguments_tokens, argumentsTokensMin, random),
      tool_ms: draw(drawn.tool_ms, random),
      output_tokens: whole(drawn.tool_output_tokens, 1, random),
    })),
  };
}

function drawTurns(drawn: Drawn, count: number, random: RandomGenerator): Turn[] {
  return [
    ...Array.from({ length: count - 1 }, () => drawTurn(drawn, random)),
    { output_tokens: whole(drawn.final_output_tokens, 1, random), calls: [] },
  ];
}

function drawFollowUps(drawn: Drawn, random: RandomGenerator): FollowUp[] {
  const { follow_ups } = drawn;
  if (follow_ups === undefined) return [];
  const { count, pause_ms, context_tokens, model_change_share } = follow_ups;
  return Array.from({ length: whole(count, 0, random) }, () => ({
    pause_ms: whole(pause_ms, 0, random),
    model_change: uniformFloat64(random) < model_change_share,
    context_tokens: whole(context_tokens, 1, random),
    turns: drawTurns(drawn, whole(drawn.turns, 1, random), random),
  }));
}

function drawRollout(drawn: Drawn, random: RandomGenerator): Rollout {
  const turnsCount = whole(drawn.turns, 1, random);
  const context_tokens = whole(drawn.context_tokens, 1, random);
  const first = { context_tokens, turns: drawTurns(drawn, turnsCount, random) };
  const follow_ups = drawFollowUps(drawn, random);
  return follow_ups.length === 0 ? first : { ...first, follow_ups };
}

/** The order of a scenario's rollouts under the seed that was asked for last. */
const orders = new WeakMap<Scenario, { readonly seed: number; readonly order: Uint32Array }>();

function orderOf(scenario: Scenario, count: number, seed: number): Uint32Array {
  const known = orders.get(scenario);
  if (known?.seed === seed) return known.order;
  const order = drawOrder(count, generatorFor('order', scenario.name, seed));
  orders.set(scenario, { seed, order });
  return order;
}

/**
 * Rollout number `index` (from 0, without end) of a scenario under a seed. Given rollouts come in an order that the
 * seed draws, and again in that order after the last.
 *
 * @throws RangeError where seed or index is no whole number, or the index is below 0.
 */
export function rolloutOf(scenario: Scenario, seed: number, index: number): Rollout {
  if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(index) || index < 0)
    throw new RangeError(`rollout ${index} under seed ${seed}: expected whole numbers, and an index from 0`);
  if (scenario.rollouts !== undefined) {
    const count = scenario.rollouts.length;
    const given = scenario.rollouts[orderOf(scenario, count, seed)[index % count] ?? 0];
    if (given !== undefined) return given;
  }
  if (scenario.drawn === undefined) throw new RangeError(`scenario ${scenario.name} holds no rollouts`);
  return drawRollout(scenario.drawn, generatorFor('rollout', scenario.name, seed, index));
}

/** The user's requests, in order: the first, then the follow-ups. */
export function requestsOf(rollout: Rollout): FollowUp[] {
  const { context_tokens, context_text, turns, follow_ups = [] } = rollout;
  const first = { pause_ms: 0, model_change: false, context_tokens, turns };
  return [context_text === undefined ? first : { ...first, context_text }, ...follow_ups];
}

/** The turns of all requests, in order: turn n (from 1) of the conversation is the n-th of them. */
export function turnsOf(rollout: Rollout): readonly Turn[] {
  const { turns, follow_ups } = rollout;
  return follow_ups === undefined ? turns : [...turns, ...follow_ups.flatMap((next) => next.turns)];
}

/** What a rollout amounts to, without instructions, tools and the few control tokens around each item. */
export interface RolloutTotals {
  readonly turns: number;
  readonly calls: number;
  /** Tokens that enter the context from the client, each counted once: the user's messages and all tool outputs. */
  readonly inputTokens: number;
  /** Tokens the model writes: messages and arguments. */
  readonly outputTokens: number;
  /**
   * The context of each turn, added up, as if nothing was ever compacted: what a design that resends everything makes the
   * server read.
   */
  readonly replayedTokens: number;
  /** Milliseconds a client waits for tools when the calls of a turn run in parallel: each turn's slowest call. */
  readonly toolMs: number;
  /** Milliseconds of all calls. */
  readonly toolMsSum: number;
}

/** Of all requests; what the user thinks in between is no part of it. */
export function expectedTokens(rollout: Rollout): RolloutTotals {
  let calls = 0;
  let inputTokens = 0;
  let outputTokens = 0;
  let replayedTokens = 0;
  let toolMs = 0;
  let toolMsSum = 0;
  for (const request of requestsOf(rollout)) {
    inputTokens += request.context_tokens;
    for (const turn of request.turns) {
      replayedTokens += inputTokens + outputTokens;
      outputTokens += turn.output_tokens;
      let slowestMs = 0;
      for (const call of turn.calls) {
        calls++;
        outputTokens += call.arguments_tokens;
        inputTokens += call.output_tokens;
        toolMsSum += call.tool_ms;
        slowestMs = Math.max(slowestMs, call.tool_ms);
      }
      toolMs += slowestMs;
    }
  }
  const turns = turnsOf(rollout).length;
  return { turns, calls, inputTokens, outputTokens, replayedTokens, toolMs, toolMsSum };
}
