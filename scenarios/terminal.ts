/**
 * The rollouts of `terminal`: 950 real ones, with what the source does not record drawn so that its totals still hold.
 *
 * Real, jointly for each rollout: its turns, the calls of each turn, the time of each call, and the totals of output,
 * reasoning and input tokens. Drawn: how the totals spread over the turns. Output is spread by weights from the
 * source's distribution of output tokens per model call; a turn with calls writes the rollout's real share of
 * reasoning as its message and the rest as arguments. The first message is drawn for each task; what is left of the
 * input total, which counts the whole context at every turn, becomes tool output, spread by weights from the tokens
 * that turns of Claude Code append (heavy-tailed). This takes all output, reasoning too, to stay in the context. The
 * same numbers come out every time, whatever the seed.
 */
import { draw, generatorFor, type Draw, type RandomGenerator } from './random.js';
import type { Rollout, Turn } from './scenario.js';
import { argumentsTokensMin } from './text.js';
import { nanocodexRows } from './trace/nanocodex.js';

/** Instructions and tools: together about what the smallest first contexts of the source leave room for. */
export const terminalPreamble = { instructions_tokens: 800, tools_count: 4, tools_bytes: 2000 } as const;

/** Generated tools have about 4.5 bytes of JSON to a token. */
const preambleTokens = terminalPreamble.instructions_tokens + Math.round(terminalPreamble.tools_bytes / 4.5);

/** The tasks of the source's trial records are 158 to 1,629 characters long, at about 4.5 to a token. */
const taskTokens: Draw = { p: [0, 100], v: [35, 362] };

/** Output tokens per model call, means of rollouts. Same source as the trace. */
const outputWeights: Draw = {
  p: [0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 100],
  v: [58, 147, 203, 239, 319, 449, 608, 809, 967, 1291, 2661],
};

/** Tokens appended per turn in 4,904 turns of github.com/callanjfox/kv-cache-tester at 94f6046d (Apache-2.0). */
const appendWeights: Draw = {
  p: [0, 1, 5, 10, 25, 50, 75, 90, 95, 99],
  v: [50, 104, 155, 195, 339, 672, 1612, 3590, 6144, 16489],
};

/** The shortest tool output that is drawn, in tokens. */
const outputTokensMin = 8;

/** A turn that called tools. */
export interface TracedTurn {
  readonly calls: number;
  readonly slowestMs: number;
  readonly sumMs: number;
}

/** One rollout as the source recorded it. */
export interface TracedRollout {
  readonly task: string;
  /** The whole context, counted again at each model call. */
  readonly inputTokens: number;
  /** Reasoning included. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  /** The turns with calls, in order. The final answer is one more. */
  readonly toolTurns: readonly TracedTurn[];
}

function readTurn(entry: string): TracedTurn {
  const [slowestMs = 0, sumMs = slowestMs, calls = 1] = entry.split('/').map(Number);
  return { calls, slowestMs, sumMs };
}

/** The carried numbers, as they are. */
export function tracedRollouts(): TracedRollout[] {
  return nanocodexRows
    .split('@')
    .slice(1)
    .flatMap((section) => {
      const [task = '', ...fields] = section.trim().split(/\s+/);
      const records = fields.join(' ').split(';');
      return records.map((record): TracedRollout => {
        const [input, output, reasoning, ...turns] = record.trim().split(' ');
        return {
          task,
          inputTokens: Number(input),
          outputTokens: Number(output),
          reasoningTokens: Number(reasoning),
          toolTurns: turns.map(readTurn),
        };
      });
    });
}

/** Whole shares of `total` in proportion to the weights, each at least `min`, adding up to exactly `total`. */
function shares(total: number, weights: readonly number[], min: number): number[] {
  const spare = Math.max(0, total - min * weights.length);
  const sum = weights.reduce((a, b) => a + b, 0);
  let reached = 0;
  return weights.map((weight) => {
    const before = Math.round((spare * reached) / sum);
    reached += weight;
    return min + Math.round((spare * reached) / sum) - before;
  });
}

/** How much `tokens` written or appended in turn `index` add to the input total: each later turn reads them again. */
function replayed(tokens: readonly number[], turns: number): number {
  return tokens.reduce((sum, count, index) => sum + count * (turns - 1 - index), 0);
}

/**
 * Output of each turn. Where the drawn spread would make later turns read more than the input total allows, the later
 * turns get more of it, step by step.
 */
function spreadOutput(traced: TracedRollout, allowed: number, random: RandomGenerator): number[] {
  const turns = traced.toolTurns.length + 1;
  const weights = Array.from({ length: turns }, () => draw(outputWeights, random));
  const min = argumentsTokensMin * Math.max(...traced.toolTurns.map(({ calls }) => calls));
  let output = shares(traced.outputTokens, weights, min);
  for (let power = 1; power <= 8 && replayed(output, turns) > allowed; power++) {
    const later = weights.map((weight, index) => weight * ((index + 1) / turns) ** power);
    output = shares(traced.outputTokens, later, min);
  }
  return output;
}

/** Tokens that the tools of each turn append, so that the input total comes out. */
function spreadAppends(turns: number, total: number, random: RandomGenerator): number[] {
  const weights = Array.from({ length: turns - 1 }, () => draw(appendWeights, random));
  const scale = Math.max(0, total) / replayed(weights, turns);
  return weights.map((weight) => outputTokensMin + Math.round(weight * scale));
}

function toolTurn(traced: TracedTurn, output: number, appended: number, reasoningShare: number): Turn {
  const { calls, slowestMs, sumMs } = traced;
  const spoken = Math.min(Math.round(output * reasoningShare), output - calls * argumentsTokensMin);
  const even = Array.from({ length: calls }, () => 1);
  const argumentsTokens = shares(output - spoken, even, argumentsTokensMin);
  const appendedTokens = shares(appended, even, outputTokensMin);
  return {
    output_tokens: spoken,
    calls: even.map((_, call) => ({
      arguments_tokens: argumentsTokens[call] ?? argumentsTokensMin,
      // One call took the longest; the others share what is left of the sum.
      tool_ms: call === 0 ? slowestMs : Math.max(0, (sumMs - slowestMs) / (calls - 1)),
      output_tokens: appendedTokens[call] ?? outputTokensMin,
    })),
  };
}

function completed(traced: TracedRollout, position: number): Rollout {
  const random = generatorFor('terminal', position);
  const turns = traced.toolTurns.length + 1;
  const context_tokens = Math.round(draw(taskTokens, generatorFor('terminal', traced.task)));
  const floor = replayed(
    traced.toolTurns.map(() => outputTokensMin),
    turns,
  );
  const allowed = traced.inputTokens - turns * (preambleTokens + context_tokens) - floor;
  const output = spreadOutput(traced, allowed, random);
  const appended = spreadAppends(turns, allowed - replayed(output, turns), random);
  const reasoningShare = traced.reasoningTokens / traced.outputTokens;
  return {
    label: traced.task,
    context_tokens,
    turns: [
      ...traced.toolTurns.map((turn, index) =>
        toolTurn(turn, output[index] ?? 0, appended[index] ?? 0, reasoningShare),
      ),
      { output_tokens: output[turns - 1] ?? 0, calls: [] },
    ],
  };
}

/** All rollouts, in the order of the trace. */
export function terminalRollouts(): Rollout[] {
  return tracedRollouts().map(completed);
}
