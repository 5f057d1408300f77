/** Sessions of traces that hold counts and no text: the words are made to size when the scenario is played. */
import type { Call, Rollout, Turn } from '../scenario.js';
import { argumentsTokensMin } from '../text.js';
import { noGaps, requestLabel, shares, type Gaps, type Session } from './session.js';

export interface CountedCall {
  /** Shares of the turn's tokens, such as lengths in characters. */
  readonly argumentsWeight: number;
  readonly outputWeight: number;
  /** Null where the trace does not say. */
  readonly toolMs: number | null;
}

/** One model call. */
export interface CountedRound {
  /** Whether a request of the user begins here. */
  readonly opens: boolean;
  /** All that this turn read: instructions, tools and the conversation. */
  readonly contextTokens: number;
  /** All that it wrote, reasoning too. */
  readonly outputTokens: number;
  /** Empty where it called nothing; null where it called and the trace does not count the calls. */
  readonly calls: readonly CountedCall[] | null;
  /** How long the next turn waited, where the calls have no times of their own. */
  readonly waitMs: number | null;
}

const oneCall: CountedCall = { argumentsWeight: 1, outputWeight: 1, toolMs: null };

/** Where one rollout ends and the next begins: a request of the user, or a turn that called nothing. */
function grouped(rounds: readonly CountedRound[]): CountedRound[][] {
  const groups: CountedRound[][] = [];
  for (const round of rounds) {
    const open = groups.at(-1);
    const before = open?.at(-1);
    if (open === undefined || before === undefined || round.opens || before.calls?.length === 0)
      groups.push([round]);
    else open.push(round);
  }
  return groups;
}

/** A turn of which a share goes to arguments, and the outputs that its calls bring. */
function turnOf(round: CountedRound, appended: number, gaps: Gaps): Turn {
  if (round.calls === null) gaps.uncounted++;
  const calls = round.calls ?? [oneCall];
  const bytes = calls.map(({ argumentsWeight }) => argumentsWeight);
  // Characters of JSON come about four to a token; the rest of what was written is text and reasoning.
  const wanted = calls.map((call) => Math.max(argumentsTokensMin, Math.ceil(call.argumentsWeight / 4)));
  const room = Math.max(round.outputTokens, argumentsTokensMin * calls.length);
  const all = Math.min(
    room,
    wanted.reduce((a, b) => a + b, 0),
  );
  const argumentsTokens = shares(all, bytes, argumentsTokensMin);
  const outputs = shares(
    appended,
    calls.map(({ outputWeight }) => outputWeight),
    1,
  );
  return {
    output_tokens: room - argumentsTokens.reduce((a, b) => a + b, 0),
    calls: calls.map(({ toolMs }, index): Call => {
      const ms = toolMs ?? round.waitMs;
      if (ms === null) gaps.untimed++;
      return {
        arguments_tokens: argumentsTokens[index] ?? argumentsTokensMin,
        tool_ms: ms ?? 0,
        output_tokens: outputs[index] ?? 1,
      };
    }),
  };
}

function written({ output_tokens, calls }: Turn): number {
  return calls.reduce((sum, call) => sum + call.arguments_tokens, output_tokens);
}

/**
 * One rollout. Each turn's context is kept at the recorded one: what its calls bring is the difference to what was read
 * and written before, at least a token each. Where a trace drops something (reasoning, a compaction), the outputs of
 * the next turns make up for it as far as they can.
 */
function rolloutOf(rounds: readonly CountedRound[], preambleTokens: number, gaps: Gaps): Rollout {
  const context_tokens = Math.max(1, (rounds[0]?.contextTokens ?? 0) - preambleTokens);
  let held = preambleTokens + context_tokens;
  const turns = rounds.map((round, index): Turn => {
    const next = rounds[index + 1];
    if (next === undefined) {
      gaps.unread += round.calls?.length ?? 1;
      return { output_tokens: Math.max(1, round.outputTokens), calls: [] };
    }
    if (next.contextTokens < held + round.outputTokens) gaps.shrunk++;
    const turn = turnOf(round, next.contextTokens - held - round.outputTokens, gaps);
    held += written(turn) + turn.calls.reduce((sum, call) => sum + call.output_tokens, 0);
    return turn;
  });
  return { context_tokens, turns };
}

/** Instructions and tools of the session; their tokens are part of every context. */
export interface CountedPreamble {
  readonly instructionsTokens: number;
  readonly toolsCount: number;
  readonly toolsTokens: number;
}

export function countedSession(
  label: string,
  preamble: CountedPreamble,
  rounds: readonly CountedRound[],
): Session {
  const gaps = noGaps();
  const groups = grouped(rounds);
  const preambleTokens = preamble.instructionsTokens + preamble.toolsTokens;
  return {
    label,
    ...preamble,
    rollouts: groups.map((group, index) => ({
      label: requestLabel(label, index, groups.length),
      ...rolloutOf(group, preambleTokens, gaps),
    })),
    gaps,
  };
}
