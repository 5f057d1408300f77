/** The wire snapshot of a Response: what its request said, and a running fold of its log (S6). */
import { openedCallId, owedCallId } from './calls.js';
import type { LogEntry, TurnUsage } from './log-entry.js';
import type { Clock } from './ports.js';
import type { Item } from './protocol/items.js';
import type { CreateRequest, Tool } from './protocol/requests.js';
import type { OutputItem, ResponseObject, Usage } from './protocol/server-events.js';

/** Function tools are echoed with `description`, `parameters` and `strict` present, null where nothing was said. */
function echoTool(tool: Tool): ResponseObject['tools'][number] {
  if (tool.type === 'function') return { description: null, parameters: null, strict: null, ...tool };
  if (!('other' in tool)) return { ...tool };
  const { other: _, ...echoed } = tool;
  return echoed;
}

function echoReasoning(reasoning: CreateRequest['reasoning']): ResponseObject['reasoning'] {
  if (reasoning === null || reasoning === undefined) return null;
  return { ...reasoning, effort: reasoning.effort ?? null, summary: reasoning.summary ?? null };
}

/** The Response as it stands when it is created. */
export function createdObject(id: string, request: CreateRequest, createdAt: number): ResponseObject {
  const format = request.text?.format ?? { type: 'text' };
  return {
    id,
    object: 'response',
    created_at: createdAt,
    completed_at: null,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: request.metadata ?? {},
    model: request.model,
    output: [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    presence_penalty: 0,
    frequency_penalty: 0,
    previous_response_id: request.previous_response_id ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    reasoning: echoReasoning(request.reasoning),
    safety_identifier: request.safety_identifier ?? null,
    service_tier: request.service_tier ?? 'default',
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: { ...request.text, format },
    tool_choice: request.tool_choice ?? 'auto',
    tools: (request.tools ?? []).map(echoTool),
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: request.truncation ?? 'disabled',
    usage: null,
  };
}

export function wireUsage(usage: TurnUsage): Usage {
  const input = usage.held + usage.read;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.held },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + usage.output,
  };
}

/** Totals over turns: each token counts once, as held only where it was before the first turn. */
export function addUsage(total: TurnUsage, turn: TurnUsage): TurnUsage {
  return {
    held: total.held,
    read: total.read + turn.read,
    output: total.output + turn.output,
    reasoning: total.reasoning + turn.reasoning,
  };
}

/** The terminal fields an outcome sets. */
export function settledFields(
  outcome: Extract<LogEntry, { type: 'response.settled' }>['outcome'],
): Pick<ResponseObject, 'status' | 'error' | 'incomplete_details'> {
  switch (outcome.status) {
    case 'completed':
      return { status: 'completed', error: null, incomplete_details: null };
    case 'failed':
      return {
        status: 'failed',
        error: { code: outcome.code, message: outcome.message },
        incomplete_details: null,
      };
    case 'incomplete':
    case 'cancelled':
      return { status: outcome.status, error: null, incomplete_details: { reason: outcome.reason } };
  }
}

/**
 * A call that was never answered when its rollout ended other than by completing is shown as incomplete, so that
 * nobody takes it for a finished one.
 */
export function unfinish(output: readonly OutputItem[], owed: ReadonlySet<string>): OutputItem[] {
  return output.map((item) => {
    const callId = openedCallId(item);
    return callId !== null && owed.has(callId) ? { ...item, status: 'incomplete' } : item;
  });
}

/** The items that stand in no output: those that a client brought. */
export function broughtItems(items: readonly Item[], output: readonly OutputItem[]): Item[] {
  const own = new Set<unknown>(output.map(({ id }) => id));
  return items.filter((item) => !('id' in item) || !own.has(item.id));
}

/** What names the call that an item makes, or null. */
export const callIdOf: (item: OutputItem) => string | null = openedCallId;

/** The running fold. Its parts are shared with the log's entries, not copied. */
export class Snapshot {
  readonly id: string;
  readonly #request: CreateRequest;
  readonly #createdAt: number;
  readonly #output: OutputItem[] = [];
  /** Calls announced and not answered. */
  #owed: readonly string[] = [];
  #usage: TurnUsage | null = null;
  #settled: Pick<ResponseObject, 'status' | 'error' | 'incomplete_details'> | null = null;
  #completedAt: number | null = null;
  #required: Extract<LogEntry, { type: 'response.done' }>['required_input'] = [];

  /** @param createdAt whole seconds since 1970. */
  constructor(id: string, request: CreateRequest, createdAt: number) {
    this.id = id;
    this.#request = request;
    this.#createdAt = createdAt;
  }

  /**
   * The Response as `response.created` and `response.in_progress` show it: nothing sampled yet. Made when it is asked
   * for, because most of a Response's life nobody asks.
   */
  created(): ResponseObject {
    return createdObject(this.id, this.#request, this.#createdAt);
  }

  /** What the client owes, while the Response is suspended. */
  get requiredInput(): Extract<LogEntry, { type: 'response.done' }>['required_input'] {
    return this.#required;
  }

  /** Whether that call has been announced and not been answered. */
  announced(callId: string): boolean {
    return this.#owed.includes(callId);
  }

  get usage(): TurnUsage | null {
    return this.#usage;
  }

  /** @param clock says when it ends. */
  apply(entry: LogEntry, clock: Pick<Clock, 'unixSeconds'>): void {
    switch (entry.type) {
      case 'response.output_item.added': {
        const callId = owedCallId(entry.item);
        if (callId !== null) this.#owed = [...this.#owed, callId];
        break;
      }
      case 'response.output_item.done':
        this.#output[entry.output_index] = entry.item; // Items that interleave may end out of order.
        break;
      case 'response.done':
        this.#required = entry.required_input;
        this.#count(entry.usage);
        break;
      case 'response.append.accepted':
        this.#owed = this.#owed.filter((callId) => !entry.call_ids.includes(callId));
        this.#required = entry.required_input;
        break;
      case 'response.settled':
        this.#required = [];
        this.#count(entry.usage);
        this.#settled = settledFields(entry.outcome);
        this.#completedAt = clock.unixSeconds();
        break;
      default:
    }
  }

  /** The Response as it stands now. */
  snapshot(): ResponseObject {
    const ended = Object.values(this.#output); // Leaves out the places of items that are still open.
    const output =
      this.#settled === null || this.#settled.status === 'completed'
        ? ended
        : unfinish(ended, new Set(this.#owed));
    const usage = this.#usage === null ? null : wireUsage(this.#usage);
    return { ...this.created(), ...this.#settled, completed_at: this.#completedAt, output, usage };
  }

  #count(turn: TurnUsage): void {
    this.#usage = this.#usage === null ? turn : addUsage(this.#usage, turn);
  }
}
