/** A create of the shim, before it is known whether it resumes a rollout, adopts one or starts one. */
import { openedCallId } from '../engine/calls.js';
import { callIdIn, isTyped } from './adoption.js';
import type { CreateFields } from './continuity.js';
import type { TurnResponse } from './turn-response.js';

/** A create, and what is read of it before it is known what becomes of it. */
export interface Asked {
  readonly create: CreateFields;
  readonly lane: string | null;
  readonly settings: string;
  /** What it names as its parent, found or not. */
  readonly id: string | null;
  readonly parent: TurnResponse | null;
  /** Its input where that is a list or a text, as a list; else null, for the engine to refuse. */
  readonly items: readonly unknown[] | null;
}

export function itemsOf(input: unknown): readonly unknown[] | null {
  if (input === undefined) return [];
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return Array.isArray(input) ? input : null;
}

/**
 * Whether a resume can take that item: an answer, a copy of an owed call beside it, a message of the client's side.
 * @param owed calls that the resume has to answer.
 */
export function resumes(item: unknown, owed: readonly string[]): boolean {
  if (typeof item !== 'object' || item === null) return true; // The append refuses it.
  if ('role' in item) return item.role !== 'assistant';
  const opened = isTyped(item) ? openedCallId(item) : null;
  return opened === null ? callIdIn(item) !== null : owed.includes(opened);
}
