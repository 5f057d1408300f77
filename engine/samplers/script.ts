/**
 * Scripts: what a scripted sampler says, and when each token of it is due. Types and pure functions.
 *
 *   R1  Token k of a turn is due at a time that depends on nothing but k, the pace, and the tokens read before it.
 */
import { Buffer } from 'node:buffer';

import type { OpaqueItem } from '../protocol/items.js';
import type { PartKind, SampledStart, SamplerEvent, SamplerOpening, TurnRequest } from './sampler.js';

type Event<Type extends SamplerEvent['type']> = Extract<SamplerEvent, { type: Type }>;
type Phase = Extract<SampledStart, { type: 'message' }>['phase'];

/** One part of a message or of reasoning. */
export interface ScriptPart<Kind extends PartKind = PartKind> {
  readonly part: Kind;
  readonly text: string;
  /** Told with the last token of the part. Only a `text` part may have some. */
  readonly annotations?: readonly Event<'annotation'>['annotation'][] | undefined;
}

/**
 * One item of a turn. An item has as many tokens as `tokens`, where given, and else one for each four characters; an
 * empty one has none. Parts share the tokens of their item by their length. An opaque item has none and comes whole.
 */
export type ScriptItem =
  | {
      readonly type: 'message';
      /** Byte pieces become one delta each, as they are, so they may cut a character. */
      readonly text: string | readonly Uint8Array[];
      readonly phase?: Phase;
      readonly tokens?: Uint32Array | undefined;
    }
  | {
      readonly type: 'message';
      readonly parts: readonly ScriptPart<'text' | 'refusal'>[];
      readonly text?: undefined;
      readonly phase?: Phase;
      readonly tokens?: Uint32Array | undefined;
    }
  | {
      readonly type: 'reasoning';
      readonly summary: string;
      readonly encrypted_content?: string | undefined;
      readonly tokens?: Uint32Array | undefined;
    }
  | {
      readonly type: 'reasoning';
      readonly parts: readonly ScriptPart<'summary' | 'reasoning_text'>[];
      readonly summary?: undefined;
      readonly encrypted_content?: string | undefined;
      readonly tokens?: Uint32Array | undefined;
    }
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
  /** Cuts the turn as a content filter does, right after that many tokens of it, or at its end. */
  readonly filterAfterTokens?: number;
  /** Told at the end of a turn that ends by itself or is cut: what it took, in place of what was counted. */
  readonly usage?: Omit<Event<'usage'>, 'type'>;
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

type Content = string | readonly Uint8Array[] | readonly ScriptPart[];

export function isParted(content: Content): content is readonly ScriptPart[] {
  return typeof content !== 'string' && content.some((piece) => 'part' in piece);
}

export function contentOf(item: ScriptItem): Content {
  if ('parts' in item) return item.parts;
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
      return { type: 'message', ...(item.phase === undefined ? {} : { phase: item.phase }) };
    case 'reasoning':
      return { type: 'reasoning' };
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
  return Math.ceil(textOf(contentOf(item)).length / 4);
}

function textOf(content: Content): string {
  if (typeof content === 'string') return content;
  if (isParted(content)) return content.map((part) => part.text).join('');
  return Buffer.concat(content).toString();
}

/** How the item ends. Reasoning of both kinds of part has tokens that are none of its content as it is read again. */
export function endOf(item: Exclude<ScriptItem, { type: 'opaque' }>, key: number): Event<'item_end'> {
  const { tokens } = item;
  const encrypted = item.type === 'reasoning' ? item.encrypted_content : undefined;
  const mixed =
    'parts' in item && new Set(item.type === 'reasoning' ? item.parts.map(({ part }) => part) : []).size > 1;
  return {
    type: 'item_end',
    key,
    ...(tokens === undefined || mixed ? {} : { tokens }),
    ...(encrypted === undefined ? {} : { encrypted_content: encrypted }),
  };
}
