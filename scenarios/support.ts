/**
 * The rollouts of `support`: 200 real conversations of a customer with an agent, turn by turn.
 *
 * Real, jointly for each rollout: its requests of the user, their turns, and the tokens of every message, of every call's
 * arguments and of every tool output. Arguments are raised to the shortest that are made (2 calls), and an output that is
 * empty (that of `think`) has one token. A call that ended a rollout, because nobody read its output, is played as text.
 */
import type { FollowUp, Rollout, Turn } from './scenario.js';
import { argumentsTokensMin } from './text.js';
import { tauAirlineRows } from './trace/tau-airline.js';

/** The source's system message, and its 14 tools at the same commit as a Responses API array. */
export const supportPreamble = { instructions_tokens: 1248, tools_count: 14, tools_bytes: 8508 } as const;

/** Tools look things up in a database that is held in memory; the source records no times. */
const toolMs = 1;

/** One model call as the source has it. */
export interface TracedSupportTurn {
  readonly messageTokens: number;
  /** Null where it called nothing. */
  readonly argumentsTokens: number | null;
  /** Null where nothing read on from the call. */
  readonly toolOutputTokens: number | null;
}

export interface TracedSupport {
  readonly task: string;
  readonly requests: readonly {
    readonly userTokens: number;
    readonly turns: readonly TracedSupportTurn[];
  }[];
}

function readTurn(entry: string): TracedSupportTurn {
  const [messageTokens = 0, argumentsTokens = null, toolOutputTokens = null] = entry.split('/').map(Number);
  return { messageTokens, argumentsTokens, toolOutputTokens };
}

/** The carried numbers, as they are. */
export function tracedSupport(): TracedSupport[] {
  return tauAirlineRows
    .split('@')
    .slice(1)
    .flatMap((section) => {
      const [task = '', ...fields] = section.trim().split(/\s+/);
      return fields
        .join(' ')
        .split(' ; ')
        .map((rollout) => ({
          task,
          requests: rollout.split(', ').map((request) => {
            const [user, ...turns] = request.split(' ');
            return { userTokens: Number(user), turns: turns.map(readTurn) };
          }),
        }));
    });
}

function turnOf({ messageTokens, argumentsTokens, toolOutputTokens }: TracedSupportTurn): Turn {
  if (argumentsTokens === null || toolOutputTokens === null)
    return { output_tokens: Math.max(1, messageTokens + (argumentsTokens ?? 0)), calls: [] };
  const call = {
    arguments_tokens: Math.max(argumentsTokensMin, argumentsTokens),
    tool_ms: toolMs,
    output_tokens: Math.max(1, toolOutputTokens),
  };
  return { output_tokens: messageTokens, calls: [call] };
}

/** All rollouts, in the order of the trace: by task, then by trial. */
export function supportRollouts(): Rollout[] {
  return tracedSupport().flatMap(({ task, requests }) => {
    const [first, ...others] = requests.map(({ userTokens, turns }): FollowUp => ({
      pause_ms: 0,
      model_change: false,
      context_tokens: userTokens,
      turns: turns.map(turnOf),
    }));
    if (first === undefined) return [];
    const { context_tokens, turns } = first;
    const label = `task ${task}`;
    return [{ label, context_tokens, turns, ...(others.length === 0 ? {} : { follow_ups: others }) }];
  });
}
