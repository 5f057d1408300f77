/** Sessions of traces that hold text: it is kept, and counted in o200k_base tokens. */
import type { Call, KeptText, Rollout, Turn } from '../scenario.js';
import { noGaps, requestLabel, type CountTokens, type Gaps, type Session } from './session.js';

/** A call as it was told. */
export interface ToldCall {
  readonly id: string;
  readonly name: string;
  /** Anything; what is no JSON object is played as `{"input": …}`. */
  readonly arguments: string;
}

export interface ToldTurn {
  readonly said: string;
  readonly calls: readonly ToldCall[];
  /** Tokens of reasoning that the trace counts and does not show. */
  readonly reasoningTokens?: number;
}

interface DraftCall extends ToldCall {
  readonly outputs: string[];
  toolMs: number | null;
}

interface DraftTurn extends ToldTurn {
  readonly calls: readonly DraftCall[];
}

interface Draft {
  readonly inputs: readonly string[];
  /** What was said before is gone from the context. */
  readonly fresh: boolean;
  readonly turns: DraftTurn[];
}

const between = '\n\n';

export function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join(between);
}

/** Arguments as they can be played: a JSON object as it is, anything else in one. */
export function argumentsText(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text;
  } catch {
    // Free text is an input like any other.
  }
  return JSON.stringify({ input: text });
}

/** A text with its count; undefined for an empty one. */
export async function kept(text: string, count: CountTokens): Promise<KeptText | undefined> {
  return text === '' ? undefined : { tokens: await count(text), text };
}

async function callOf(call: DraftCall, count: CountTokens, gaps: Gaps): Promise<Call> {
  if (call.toolMs === null) gaps.untimed++;
  const arguments_text = argumentsText(call.arguments);
  const output_text = await kept(joined(call.outputs), count);
  return {
    arguments_tokens: await count(arguments_text),
    arguments_text,
    tool_ms: call.toolMs ?? 0,
    output_tokens: output_text?.tokens ?? 1,
    ...(output_text === undefined ? {} : { output_text }),
  };
}

async function turnOf(turn: DraftTurn, last: boolean, count: CountTokens, gaps: Gaps): Promise<Turn> {
  if (last) gaps.unread += turn.calls.length;
  const unread = last ? turn.calls.map((call) => argumentsText(call.arguments)) : [];
  const text = await kept(joined([turn.said, ...unread]), count);
  const calls: Call[] = [];
  if (!last) for (const call of turn.calls) calls.push(await callOf(call, count, gaps));
  const spoken = (text?.tokens ?? 0) + (turn.reasoningTokens ?? 0);
  return {
    output_tokens: last ? Math.max(1, spoken) : spoken,
    ...(text === undefined ? {} : { text }),
    calls,
  };
}

/** Tokens that a rollout adds to the conversation, its unread outputs too. */
async function addedBy({ turns }: Rollout, draft: Draft, count: CountTokens): Promise<number> {
  let tokens = 0;
  for (const turn of turns) {
    tokens += turn.output_tokens;
    for (const call of turn.calls) tokens += call.arguments_tokens + call.output_tokens;
  }
  for (const { outputs } of draft.turns.at(-1)?.calls ?? []) tokens += await count(joined(outputs));
  return tokens;
}

/**
 * Gathers what a session says, in its order, and makes rollouts of it. A rollout ends with a turn that calls nothing,
 * or where the trace says that a new request begins.
 */
export class Telling {
  readonly #label: string;
  readonly #instructions: string[] = [];
  readonly #drafts: Draft[] = [];
  readonly #calls = new Map<string, DraftCall>();
  readonly #names = new Set<string>();
  #inputs: string[] = [];
  #opens = true;
  #fresh = true;

  constructor(label: string) {
    this.#label = label;
  }

  instructions(text: string): void {
    this.#instructions.push(text);
  }

  /** The next turn begins a rollout. */
  request(): void {
    this.#opens = true;
  }

  /** Text that enters the context besides tool outputs. */
  input(text: string): void {
    this.#inputs.push(text);
  }

  /** The conversation so far is gone from the context, and a text stands in its place. */
  compacted(text: string): void {
    this.#inputs = [text];
    this.#opens = true;
    this.#fresh = true;
  }

  turn(turn: ToldTurn): void {
    const calls = turn.calls.map((call): DraftCall => ({ ...call, outputs: [], toolMs: null }));
    for (const call of calls) {
      this.#calls.set(call.id, call);
      this.#names.add(call.name);
    }
    const before = this.#drafts.at(-1)?.turns.at(-1)?.calls.at(-1);
    // What came while a rollout went on, such as a word of the user in between, was read with the outputs.
    if (!this.#opens && before !== undefined) {
      before.outputs.push(...this.#inputs);
      this.#drafts.at(-1)?.turns.push({ ...turn, calls });
    } else {
      this.#drafts.push({ inputs: this.#inputs, fresh: this.#fresh, turns: [{ ...turn, calls }] });
      this.#fresh = false;
    }
    this.#inputs = [];
    this.#opens = calls.length === 0;
  }

  /** Whether there is such a call. */
  output(id: string, text: string): boolean {
    const call = this.#calls.get(id);
    call?.outputs.push(text);
    return call !== undefined;
  }

  took(id: string, toolMs: number): void {
    const call = this.#calls.get(id);
    if (call !== undefined) call.toolMs = toolMs;
  }

  /** The session; null where the model said nothing. */
  async session(count: CountTokens): Promise<Session | null> {
    if (this.#drafts.length === 0) return null;
    const gaps = noGaps();
    const rollouts: Rollout[] = [];
    let heldTokens = 0;
    for (const [index, draft] of this.#drafts.entries()) {
      if (draft.fresh && index > 0) gaps.shrunk++;
      if (draft.fresh) heldTokens = 0;
      const context_text = await kept(joined(draft.inputs), count);
      const context_tokens = Math.max(1, heldTokens + (context_text?.tokens ?? 0));
      const turns: Turn[] = [];
      for (const [at, turn] of draft.turns.entries())
        turns.push(await turnOf(turn, at === draft.turns.length - 1, count, gaps));
      const rollout: Rollout = {
        label: requestLabel(this.#label, index, this.#drafts.length),
        context_tokens,
        ...(context_text === undefined ? {} : { context_text }),
        turns,
      };
      rollouts.push(rollout);
      heldTokens = context_tokens + (await addedBy(rollout, draft, count));
    }
    return {
      label: this.#label,
      instructionsTokens: Math.max(1, await count(joined(this.#instructions))),
      toolsCount: Math.max(1, Math.min(128, this.#names.size)),
      toolsTokens: null,
      rollouts,
      gaps,
    };
  }
}
