/**
 * Entries of a Response's event log. An entry is a wire event without what belongs to a viewer: it carries no
 * response id, no number and no bytes, so that one log can be shown as one Response or as one per turn (S6).
 */
import type { Outcome } from './outcome.js';
import type { OutputItem, RequiredInput } from './protocol/server-events.js';

/** Tokens of one turn. */
export interface TurnUsage {
  /** Context tokens that an earlier turn or Response has already counted. */
  readonly held: number;
  /** Context tokens that entered with this turn. */
  readonly read: number;
  readonly output: number;
  /** Part of `output`. */
  readonly reasoning: number;
}

interface At {
  readonly output_index: number;
}
interface InItem extends At {
  readonly item_id: string;
}
interface InText extends InItem {
  readonly content_index: number;
}
interface InSummary extends InItem {
  readonly summary_index: number;
}
// Aliases, because an interface has no index signature for the wire type's extra fields.
export type Annotation = Readonly<Record<string, unknown>>;
export type TextPart = {
  readonly type: 'output_text';
  readonly text: string;
  readonly annotations: Annotation[];
};
export type RefusalPart = { readonly type: 'refusal'; readonly refusal: string };
export type ReasoningTextPart = { readonly type: 'reasoning_text'; readonly text: string };
export type SummaryPart = { readonly type: 'summary_text'; readonly text: string };

/** One member per event type, so that a type narrows to its own wire event. */
type Each<Type extends string, Fields> = Type extends string ? Fields & { readonly type: Type } : never;

/** Entries whose wire event is the entry itself, plus a number. */
export type StreamEntry =
  | Each<'response.output_item.added' | 'response.output_item.done', At & { readonly item: OutputItem }>
  | Each<
      'response.content_part.added' | 'response.content_part.done',
      InText & { readonly part: TextPart | RefusalPart | ReasoningTextPart }
    >
  | Each<
      'response.output_text.delta' | 'response.refusal.delta' | 'response.reasoning_text.delta',
      InText & { readonly delta: string }
    >
  | Each<'response.output_text.done' | 'response.reasoning_text.done', InText & { readonly text: string }>
  | (InText & { readonly type: 'response.refusal.done'; readonly refusal: string })
  | (InText & {
      readonly type: 'response.output_text.annotation.added';
      readonly annotation_index: number;
      readonly annotation: Annotation;
    })
  | Each<
      'response.function_call_arguments.delta' | 'response.custom_tool_call_input.delta',
      InItem & { readonly delta: string }
    >
  | (InItem & { readonly type: 'response.function_call_arguments.done'; readonly arguments: string })
  | (InItem & { readonly type: 'response.custom_tool_call_input.done'; readonly input: string })
  | Each<
      'response.reasoning_summary_part.added' | 'response.reasoning_summary_part.done',
      InSummary & { readonly part: SummaryPart }
    >
  | (InSummary & { readonly type: 'response.reasoning_summary_text.delta'; readonly delta: string })
  | (InSummary & { readonly type: 'response.reasoning_summary_text.done'; readonly text: string });

export type LogEntry =
  | Each<'response.created' | 'response.in_progress', object>
  | StreamEntry
  /** A turn ended and the rollout goes on: at once if nothing is owed, else when the client has answered. */
  | {
      readonly type: 'response.done';
      readonly turn: number;
      readonly output: readonly OutputItem[];
      readonly required_input: readonly RequiredInput[];
      readonly usage: TurnUsage;
      /** The turn was ended before its time, for a message to come in. */
      readonly interrupted?: true;
    }
  | {
      readonly type: 'response.append.accepted';
      readonly turn: number;
      /** The calls this append answered. */
      readonly call_ids: readonly string[];
      /** How many of its items were messages. */
      readonly messages: number;
      /** What is still owed after it. */
      readonly required_input: readonly RequiredInput[];
    }
  | {
      readonly type: 'response.settled';
      readonly outcome: Outcome;
      /** The last turn's tokens. */
      readonly usage: TurnUsage;
    };

/** Entries that enter the log together: handed over one by one, each would cost a round of promises. */
export type Step = readonly LogEntry[];

export const noUsage: TurnUsage = { held: 0, read: 0, output: 0, reasoning: 0 };

function partLength(part: TextPart | RefusalPart | ReasoningTextPart | SummaryPart): number {
  return part.type === 'refusal' ? part.refusal.length : part.text.length;
}

/** Estimated resident bytes of an entry: a measured 160 for the object and its fixed fields, 2 per character. */
export function entryBytes(entry: LogEntry): number {
  switch (entry.type) {
    case 'response.output_text.delta':
    case 'response.refusal.delta':
    case 'response.reasoning_text.delta':
    case 'response.reasoning_summary_text.delta':
    case 'response.function_call_arguments.delta':
    case 'response.custom_tool_call_input.delta':
      return 160 + 2 * entry.delta.length;
    case 'response.output_text.done':
    case 'response.reasoning_text.done':
    case 'response.reasoning_summary_text.done':
      return 160 + 2 * entry.text.length;
    case 'response.function_call_arguments.done':
      return 160 + 2 * entry.arguments.length;
    case 'response.custom_tool_call_input.done':
      return 160 + 2 * entry.input.length;
    case 'response.refusal.done':
      return 160 + 2 * entry.refusal.length;
    case 'response.content_part.added':
    case 'response.content_part.done':
    case 'response.reasoning_summary_part.added':
    case 'response.reasoning_summary_part.done':
      return 220 + 2 * partLength(entry.part);
    case 'response.output_text.annotation.added':
      return 220 + 2 * JSON.stringify(entry.annotation).length;
    case 'response.append.accepted':
      return 240 + 64 * (entry.call_ids.length + entry.required_input.length);
    case 'response.done':
      return 320 + 64 * (entry.output.length + entry.required_input.length);
    default:
      return 240;
  }
}
