/** Passages through the stages, made from how far a rollout has come. */
import type { RolloutContext } from './context.js';
import type { Model } from './model.js';
import type { Outcome } from './outcome.js';
import type { CreateRequest } from './protocol/requests.js';
import type { RolloutParts } from './rollout-parts.js';
import type { Passage } from './stages.js';

/** How far a rollout has come. */
export interface Standing {
  readonly parts: RolloutParts;
  readonly context: RolloutContext;
  readonly request: CreateRequest;
  readonly model: Model | null;
  /** The turn that was sampled last or is being sampled; 0 before the first. */
  readonly turnNumber: number;
}

type Brought = Pick<Passage, 'phase' | 'raw' | 'accept' | 'signal' | 'pendingTokens'>;

/** Written out field by field: it is waited for, and copying by spread costs more than the rest of it. */
function passage<Ended extends Outcome | null>(
  { parts, context, request, model, turnNumber }: Standing,
  { phase, raw, accept, signal, pendingTokens }: Brought,
  outcome: Ended,
): Passage & { outcome: Ended } {
  const { id, credential, kept, obligations } = parts;
  return {
    phase,
    raw,
    accept,
    signal,
    obligations,
    pendingTokens,
    responseId: id,
    credential,
    turn: turnNumber + (phase === 'post' ? 0 : 1),
    transcript: phase === 'post' ? context.base : context.transcript,
    kept: phase === 'append' ? null : kept,
    outcome,
    usage: phase === 'post' ? context.usage : null,
    request,
    newItems: phase === 'post' ? context.added : [],
    sampler: model?.sampler ?? null,
    preamble: context.preamble,
    rendered: [],
  };
}

export function prePassage(standing: Standing, raw: unknown, accept: Passage['accept']): Passage {
  const { signal } = standing.parts;
  return passage(standing, { phase: 'pre', raw, accept, signal, pendingTokens: 0 }, null);
}

/** @param pendingTokens what earlier appends brought for the same turn. */
export function appendPassage(
  standing: Standing,
  raw: unknown,
  accept: Passage['accept'],
  pendingTokens: number,
): Passage {
  const { signal } = standing.parts;
  return passage(standing, { phase: 'append', raw, accept, signal, pendingTokens }, null);
}

const asTheyAre: Passage['accept'] = (items) => items;

/** @param signal one that no cancel reaches (S5). */
export function postPassage(
  standing: Standing,
  outcome: Outcome,
  signal: AbortSignal,
): Passage & { outcome: Outcome } {
  return passage(
    standing,
    { phase: 'post', raw: null, accept: asTheyAre, signal, pendingTokens: 0 },
    outcome,
  );
}
