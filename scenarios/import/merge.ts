/** Sessions of traces as one scenario, and what they leave open. */
import { parseScenario, toolBytesMin, type Rollout, type Scenario } from '../scenario.js';
import { noGaps, toolBytes, toolBytesPerToken, type Gaps, type Session } from './session.js';

const gapTexts: Readonly<Record<keyof Gaps, string>> = {
  untimed: 'calls without a recorded time, which take 0 ms',
  unread: 'calls of last turns, played as text because no turn reads on from them',
  uncounted: 'turns that do not say how many calls they made, and have one',
  shrunk: 'turns that read less than was read and written before (dropped reasoning, or a compaction)',
};

export function gapsOf(sessions: readonly Session[]): Gaps {
  const sum = noGaps();
  for (const { gaps } of sessions) {
    sum.untimed += gaps.untimed;
    sum.unread += gaps.unread;
    sum.uncounted += gaps.uncounted;
    sum.shrunk += gaps.shrunk;
  }
  return sum;
}

/** What the traces leave open, one phrase for each kind. */
export function gapNotes(gaps: Gaps): string[] {
  const note = (gap: keyof Gaps): string[] => (gaps[gap] > 0 ? [`${gapTexts[gap]}: ${gaps[gap]}`] : []);
  return [...note('untimed'), ...note('unread'), ...note('uncounted'), ...note('shrunk')];
}

/** A rollout with words before its first message, for instructions and tools that only its session has. */
function withPreamble(rollout: Rollout, tokens: number): Rollout {
  return tokens <= 0 ? rollout : { ...rollout, context_tokens: rollout.context_tokens + tokens };
}

function least(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => Math.min(a, b), Infinity);
}

interface Tools {
  readonly count: number;
  readonly bytes: number;
  /** Of every context. */
  readonly tokens: number;
}

/** The smallest that a trace counts or, where none counts any, as many as a session called, of the usual size. */
function toolsOf(sessions: readonly Session[]): Tools {
  const told = sessions.filter(({ toolsTokens }) => toolsTokens !== null);
  if (told.length === 0) {
    const count = sessions.reduce((most, { toolsCount }) => Math.max(most, toolsCount), 1);
    return { count, bytes: count * toolBytes, tokens: 0 };
  }
  const count = least(told.map(({ toolsCount }) => toolsCount));
  const tokens = least(told.flatMap(({ toolsTokens }) => toolsTokens ?? []));
  const bytes = told.find(({ toolsTokens }) => toolsTokens === tokens)?.toolsBytes;
  return {
    count,
    bytes: Math.max(count * toolBytesMin, bytes ?? Math.round(tokens * toolBytesPerToken)),
    tokens,
  };
}

/**
 * One scenario of all sessions. Instructions and tools are the same in every rollout of a scenario, so these are as
 * small as the smallest session has them, and what others have more is part of their first messages.
 *
 * @throws ScenarioError where the name is none, or there are no sessions.
 */
export function scenarioOf(
  words: { readonly name: string; readonly question: string; readonly source: string },
  sessions: readonly Session[],
): Scenario {
  const instructions = least(sessions.map(({ instructionsTokens }) => instructionsTokens));
  const tools = toolsOf(sessions);
  const more = ({ instructionsTokens, toolsTokens }: Session): number =>
    instructionsTokens - instructions + (toolsTokens ?? tools.tokens) - tools.tokens;
  return parseScenario(
    {
      ...words,
      instructions_tokens: instructions,
      tools_count: tools.count,
      tools_bytes: tools.bytes,
      rollouts: sessions.flatMap((session) =>
        session.rollouts.map((rollout) => withPreamble(rollout, more(session))),
      ),
    },
    words.name,
  );
}
