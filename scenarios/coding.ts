/**
 * The rollouts of `coding-replay`: 250 real ones, with what the source does not record assumed.
 *
 * Real, jointly for each rollout: its turns, the context of each turn, the tokens it wrote, and the pause before the next.
 * Assumed: what a turn wrote is half message, half arguments of one call. What its tool brought is the next turn's context
 * less what was read and written before. Where that is less than nothing (586 of 4,931 turns: reasoning was dropped, once
 * more than that), the tool brings one token, and the outputs that follow make up for it.
 */
import { countedSession, type CountedRound } from './import/counted.js';
import type { Rollout } from './scenario.js';
import { claudeCodeRows } from './trace/claude-code.js';

/** Of the source's traces: instructions of 1,906 to 3,096 tokens, tools of 9,568 to 13,136. */
const preamble = { instructionsTokens: 2000, toolsCount: 16, toolsTokens: 9_400 } as const;

/** Generated tools have about 4.5 bytes of JSON to a token. */
export const codingPreamble = {
  instructions_tokens: preamble.instructionsTokens,
  tools_count: preamble.toolsCount,
  tools_bytes: preamble.toolsTokens * 4.5,
} as const;

/**
 * The longest that a tool is taken to run. A pause holds the tool, the client, and whatever a person did before the next
 * request; ten minutes is the most that the agent lets a command run unless it is told otherwise.
 */
export const toolSecondsMax = 600;

/** One turn as the source recorded it. */
export interface TracedCodingTurn {
  readonly contextTokens: number;
  readonly outputTokens: number;
  /** What the source counts as appended since the turn before; null at a first turn, and where it counts nothing. */
  readonly appendedTokens: number | null;
  /** From the end of the turn before; null at a first turn. Whole seconds. */
  readonly pauseSeconds: number | null;
}

function readRollout(record: string): TracedCodingTurn[] {
  let contextTokens = 0;
  return record
    .trim()
    .split(/\s+/)
    .map((entry) => {
      const [growth = 0, outputTokens = 0, pauseSeconds = null] = entry
        .replace('~', '')
        .split('/')
        .map(Number);
      contextTokens += growth;
      const counted = pauseSeconds !== null && !entry.startsWith('~');
      return { contextTokens, outputTokens, appendedTokens: counted ? growth : null, pauseSeconds };
    });
}

/** The carried numbers, as they are. */
export function tracedCoding(): TracedCodingTurn[][] {
  return claudeCodeRows.split(';').map(readRollout);
}

function roundOf(turn: TracedCodingTurn, next: TracedCodingTurn | undefined): CountedRound {
  const toolMs = Math.min(next?.pauseSeconds ?? 0, toolSecondsMax) * 1000;
  // The weight is characters of JSON, of which four come to a token: half of the output.
  const call = { argumentsWeight: turn.outputTokens * 2, outputWeight: 1, toolMs };
  const { contextTokens, outputTokens } = turn;
  return { opens: false, contextTokens, outputTokens, calls: next === undefined ? [] : [call], waitMs: null };
}

/** All rollouts, in the order of the trace. */
export function codingRollouts(): Rollout[] {
  return tracedCoding().flatMap((turns, number) => {
    const rounds = turns.map((turn, index) => roundOf(turn, turns[index + 1]));
    return countedSession(`rollout ${number + 1}`, preamble, rounds).rollouts;
  });
}
