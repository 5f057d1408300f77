/** What every importer gives, whatever the format: the rollouts of one recorded session, counted. */
import type { Rollout } from '../scenario.js';
import type { TraceDocument } from './document.js';

/** What a session told less exactly than a scenario says it. Each number counts what the note beside it names. */
export interface Gaps {
  /** Calls without a recorded time: they take 0 ms. */
  untimed: number;
  /** Calls of a last turn, which no turn reads on from: played as part of its message, their outputs left out. */
  unread: number;
  /** Turns whose calls the trace does not count: taken as one. */
  uncounted: number;
  /** Turns whose context is shorter than what was read and written before: a scenario's context only grows. */
  shrunk: number;
}

export function noGaps(): Gaps {
  return { untimed: 0, unread: 0, uncounted: 0, shrunk: 0 };
}

export interface Session {
  readonly label: string;
  /** Instructions that every rollout of the session has, at least 1. */
  readonly instructionsTokens: number;
  /** Tools that were offered or, where the trace does not say, that were called. */
  readonly toolsCount: number;
  /** What the tools take of every counted context; null where the trace says nothing of them. */
  readonly toolsTokens: number | null;
  /** Bytes of the tools array as JSON, where the trace says so. */
  readonly toolsBytes?: number;
  /** Tokens whose writing the trace timed, and how long it took, in ms; absent where it timed none. */
  readonly written?: { readonly tokens: number; readonly ms: number };
  /** One for each request of the user, in order. What was said before stands in the context of the later ones. */
  readonly rollouts: readonly Rollout[];
  readonly gaps: Gaps;
}

/** How many o200k_base tokens a text has. */
export type CountTokens = (text: string) => Promise<number>;

/** One format of traces. */
export interface TraceFormat {
  readonly name: string;
  /** Where such files come from, for lists. */
  readonly from: string;
  /** Whether a file is meant to be of this format, by what it holds. Says nothing about whether it is whole. */
  readonly looksLike: (document: TraceDocument) => boolean;
  /** @throws TraceError that names the line and the field at fault. */
  readonly read: (document: TraceDocument, count: CountTokens) => Promise<readonly Session[]>;
}

/** Bytes of JSON for a tool that a trace only names, about as the tools of `terminal`; and bytes to a token. */
export const toolBytes = 500;
export const toolBytesPerToken = 4.5;

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function requestLabel(label: string, index: number, count: number): string {
  return count === 1 ? label : `${label}, request ${index + 1}`;
}

/** Whole shares of `total` in proportion to the weights, each at least `min` even where that is more than `total`. */
export function shares(total: number, weights: readonly number[], min: number): number[] {
  const spare = Math.max(0, total - min * weights.length);
  const sum = weights.reduce((a, b) => a + b, 0);
  let reached = 0;
  return weights.map((weight, index) => {
    const before = Math.round(spare * reached);
    reached = index === weights.length - 1 ? 1 : reached + (sum > 0 ? weight / sum : 1 / weights.length);
    return min + Math.round(spare * reached) - before;
  });
}
