/**
 * Scripts: what a scripted sampler says, and when each token of it is due. Types and pure functions.
 *
 *   R1  Token k of a turn is due at a time that depends on nothing but k, the pace, and the tokens read before it.
 */
import { Buffer } from 'node:buffer';

import type { OpaqueItem } from '../protocol/items.js';
import type { SampledStart, SamplerOpening, TurnRequest } from './sampler.js';

/**
 * One item of a turn. An item has as many tokens as `tokens`, where given, and else one for each four characters; an
 * empty one has none. An opaque item has none and comes whole.
 */
export type ScriptItem =
  | {
      readonly type: 'message';
      /** Byte pieces become one delta each, as they are, so they may cut a character. */
      readonly text: string | readonly Uint8Array[];
      readonly tokens?: Uint32Array | undefined;
    }
  | { readonly type: 'reasoning'; readonly summary: string; readonly tokens?: Uint32Array | undefined }
  | {
      readonly type: 'function_call';
      readonly name: string;
      readonly namespace?: string | undefined;
      readonly arguments: string;
      readonly tokens?: Uint32Array | undefined;
    }
  | {
      readonly type: 'custom_tool_call';
      readonly name: string;
      readonly namespace?: string | undefined;
      readonly input: string;
      readonly tokens?: Uint32Array | undefined;
    }
  | { readonly type: 'opaque'; readonly item: OpaqueItem };

export interface ScriptTurn {
  readonly items: readonly ScriptItem[];
  /** All items are announced at once and their tokens go round robin. Default false: one item after the other. */
  readonly interleave?: boolean;
  /** Throws `fault` right after that many tokens of the turn, or at its end where it has fewer. */
  readonly failAfterTokens?: { readonly tokens: number; readonly fault: Error };
  /** Says nothing more after that many tokens of the turn, or at its end, until the turn is aborted. */
  readonly stallAfterTokens?: number;
}

/**
 * An array is played by `transcript.turns`, the turns that the conversation has sampled so far, so it says the same in
 * every protocol design, whether a Response lives for one turn or for many. A function is asked at every turn.
 */
export type Script = readonly ScriptTurn[] | ((turn: TurnRequest, opening: SamplerOpening) => ScriptTurn);

export interface Pace {
  /** Context tokens read per second. Default `Infinity`. */
  readonly prefillTokensPerSecond?: number;
  /** Tokens sampled per second. Default `Infinity`. */
  readonly decodeTokensPerSecond?: number;
  /** A constant before the first token of a turn. Default 0. */
  readonly firstTokenMs?: number;
  /** Tokens that come out at once, as speculative decoding gives them; the mean speed stays. Default 1. */
  readonly burstTokens?: number;
}

/** When token `k` (from 0) of a turn is due, in ms from the turn's start, where the turn reads `read` tokens first (R1). */
export function dueMs(k: number, pace: Pace, read: number): number {
  const { prefillTokensPerSecond = Infinity, decodeTokensPerSecond = Infinity } = pace;
  const { firstTokenMs = 0, burstTokens = 1 } = pace;
  const before = Math.floor(k / burstTokens) * burstTokens;
  return firstTokenMs + (read * 1000) / prefillTokensPerSecond + (before * 1000) / decodeTokensPerSecond;
}

/** The turn of an array script that comes next, or what the function says. */
export function scriptTurn(script: Script, turn: TurnRequest, opening: SamplerOpening): ScriptTurn {
  if (typeof script === 'function') return script(turn, opening);
  const index = turn.context.transcript.turns;
  const planned = script[index];
  if (planned === undefined)
    throw new Error(`the script has ${script.length} turns, and the conversation has sampled ${index}`);
  return planned;
}

type Content = string | readonly Uint8Array[];

export function contentOf(item: ScriptItem): Content {
  switch (item.type) {
    case 'message':
      return item.text;
    case 'reasoning':
      return item.summary;
    case 'function_call':
      return item.arguments;
    case 'custom_tool_call':
      return item.input;
    default:
      return '';
  }
}

export function startOf(item: ScriptItem): SampledStart {
  switch (item.type) {
    case 'message':
    case 'reasoning':
      return { type: item.type };
    case 'function_call':
    case 'custom_tool_call':
      return { type: item.type, name: item.name, namespace: item.namespace };
    default:
      return item;
  }
}

/** Tokens of one item. */
export function tokenCount(item: ScriptItem): number {
  if (item.type !== 'opaque' && item.tokens !== undefined) return item.tokens.length;
  const content = contentOf(item);
  const text = typeof content === 'string' ? content : Buffer.concat(content).toString();
  return Math.ceil(text.length / 4);
}
