/**
 * The Sampler contract: what produces a turn's items.
 *
 * The engine opens one session per rollout and samples it turn by turn. Between the turns the session may keep the
 * model's state (its KV cache); whether it does, and for how long, is the sampler's session policy and no property of
 * a protocol design.
 *
 *   C1  `sample` yields events of one turn and returns. It stops within one step when its signal aborts.
 *   C2  Every item it announces has a `key` of its own within the turn; items may interleave, keys are never reused.
 *   C3  `prefill` comes first and says how many tokens of the context the session already held.
 *   C4  `suspend` is called when the turn owes client outputs, `release` exactly once, on every outcome.
 *   C5  Deltas go to the item's current part. An item without a `part` event has one: the text of a message, the
 *       summary of reasoning. Calls have no parts, and opaque items no content: they come whole.
 */
import type { CreateRequest, ToolChoice } from '../protocol/requests.js';
import type { OpaqueItem } from '../protocol/items.js';
import type { Transcript } from '../transcript.js';

/** Everything the model reads at one turn: the rendered preamble (instructions, tools), then the transcript. */
export interface Context {
  readonly preamble: Uint32Array;
  readonly transcript: Transcript;
  /** Preamble and transcript, in tokens. */
  readonly tokens: number;
}

export interface TurnRequest {
  /** From 1, within the session. */
  readonly turn: number;
  readonly context: Context;
  /** Binds this turn; after the first turn of a rollout `required` and named choices have become `auto`. */
  readonly toolChoice: ToolChoice;
  readonly parallelToolCalls: boolean;
  /** Tokens this turn may sample; `Infinity` when nothing bounds it. */
  readonly outputTokensMax: number;
}

/** Kinds of part: `text` and `refusal` stand in messages, `summary` and `reasoning_text` in reasoning. */
export type PartKind = 'text' | 'refusal' | 'summary' | 'reasoning_text';

/**
 * An item as it is announced, before its content. Ids are minted by the engine.
 *
 * The client owes an answer for every call, and for an opaque item where `owesAnswer` says so: one whose type ends in
 * `_call`, or an `mcp_approval_request`. One that the sampler has run itself says so by `status: 'completed'` or
 * `'failed'`, or by `execution: 'server'`, and is owed nothing.
 */
export type SampledStart =
  | { readonly type: 'message'; readonly phase?: 'commentary' | 'final_answer' | undefined }
  | { readonly type: 'reasoning' }
  | { readonly type: 'function_call'; readonly name: string; readonly namespace?: string | undefined }
  | { readonly type: 'custom_tool_call'; readonly name: string; readonly namespace?: string | undefined }
  | { readonly type: 'opaque'; readonly item: OpaqueItem };

export type SamplerEvent =
  | {
      readonly type: 'prefill';
      /** Tokens held since an earlier turn. */ readonly held: number;
      /** Tokens read now. */ readonly read: number;
    }
  | { readonly type: 'item'; readonly key: number; readonly start: SampledStart }
  | {
      readonly type: 'delta';
      readonly key: number;
      /** Bytes may end inside a character; the engine joins them. */
      readonly delta: string | Uint8Array;
      /** Output tokens in this delta. */
      readonly tokens: number;
    }
  /** A further part of the item begins, and the one before it is whole; deltas go to the new one (C5). */
  | { readonly type: 'part'; readonly key: number; readonly part: PartKind }
  /** About the current text part of a message: a citation of a page or a file, as the client gets it. */
  | {
      readonly type: 'annotation';
      readonly key: number;
      readonly annotation: Readonly<Record<string, unknown>>;
    }
  | {
      readonly type: 'item_end';
      readonly key: number;
      /**
       * The content's tokens when the sampler knows them, so that nothing is tokenised twice: of all parts of a message,
       * of the `reasoning_text` parts of reasoning or, where it has none, of its summary, of the input of a call.
       */
      readonly tokens?: Uint32Array | undefined;
      /** Of reasoning only: what gives the model its own thoughts back. A client sees it where it asked for it. */
      readonly encrypted_content?: string | undefined;
    }
  /**
   * What the turn took, in tokens, where the sampler only learns it at the end: it replaces the sums of `prefill` and
   * the deltas so far.
   */
  | {
      readonly type: 'usage';
      /** Of the context, held since an earlier turn. */ readonly held: number;
      readonly output: number;
      /** Part of `output`. */ readonly reasoning: number;
    }
  /** The turn was cut, by default at `outputTokensMax`; the item that is open stays incomplete. */
  | { readonly type: 'cut'; readonly reason?: 'max_output_tokens' | 'content_filter' | undefined };

export interface SamplerSession {
  sample(turn: TurnRequest, signal: AbortSignal): AsyncIterable<SamplerEvent>;
  suspend(): void;
  release(): void;
}

/** What a session is opened for. */
export interface SamplerOpening {
  /** Names the conversation across Responses, so that a session policy can find the state it kept. */
  readonly conversation: string;
  readonly request: CreateRequest;
}

export interface Sampler {
  /** Tokens of context the model can read and write. */
  readonly contextTokensMax: number;
  open(opening: SamplerOpening): SamplerSession;
}
