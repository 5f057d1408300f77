/** What a turn may do, worked out before it is sampled: from the request, and from what the rollout has used up. Pure. */
import { noUsage, type TurnUsage } from './log-entry.js';
import { ProtocolError } from './protocol/errors.js';
import type { CreateRequest } from './protocol/requests.js';
import type { Context, TurnRequest } from './samplers/sampler.js';
import { choiceForTurn } from './tool-choice.js';
import type { TurnRules } from './turn.js';

/** How far the rollout has come. */
export interface Progress {
  /** The turn to plan, from 1. */
  readonly turn: number;
  /** The same, counted within the protocol response it belongs to. */
  readonly turnOfResponse: number;
  /** Totals of the turns before. */
  readonly usage: TurnUsage;
  /** Calls made so far. */
  readonly calls: number;
}

export interface TurnPlan {
  /** For the sampler. */
  readonly request: TurnRequest;
  /** For the fold of its events. */
  readonly rules: Pick<TurnRules, 'choice' | 'parallelToolCalls' | 'callsLeft' | 'outputTokensMax'>;
}

/** A turn that is a response of its own: nothing of its bounds is used up. */
export function freshProgress(turn: number): Progress {
  return { turn, turnOfResponse: 1, usage: noUsage, calls: 0 };
}

/**
 * @param contextTokensMax the model's.
 * @throws ProtocolError `context_length_exceeded`: an append may be accepted while a turn that fills the rest of the
 * context is still being sampled.
 */
export function planTurn(
  asked: CreateRequest,
  { turn, turnOfResponse, usage, calls }: Progress,
  context: Context,
  contextTokensMax: number,
): TurnPlan {
  if (context.tokens > contextTokensMax)
    throw new ProtocolError(
      'context_length_exceeded',
      `The context is ${context.tokens} tokens long; the model takes at most ${contextTokensMax}.`,
    );
  const choice = choiceForTurn(asked, turnOfResponse);
  const parallelToolCalls = asked.parallel_tool_calls ?? true;
  const budget = (asked.max_output_tokens ?? Infinity) - usage.output;
  const outputTokensMax = Math.max(0, Math.min(budget, contextTokensMax - context.tokens));
  const callsLeft = (asked.max_tool_calls ?? Infinity) - calls;
  return {
    request: { turn, context, toolChoice: choice, parallelToolCalls, outputTokensMax },
    rules: { choice, parallelToolCalls, callsLeft, outputTokensMax },
  };
}
