/**
 * Rounds of github.com/uw-syfi/TraceLab: one model call a line, as token counts and lengths in characters. A round that
 * begins with a message of the user begins a rollout. Instructions and tools are not told apart from the context.
 */
import { countedSession, type CountedRound } from './counted.js';
import type { TraceDocument } from './document.js';
import { checked, roundSchema, type Round } from './schema.js';
import { isRecord, toolBytes, toolBytesPerToken, type Session, type TraceFormat } from './session.js';

function roundOf(round: Round): CountedRound {
  const asked = round.current_user_message_count;
  return {
    opens: asked === null || asked === undefined ? round.first_input_event_type !== 'tool_result' : asked > 0,
    contextTokens: round.input_tokens_total,
    outputTokens: round.output_tokens,
    calls: (round.tools ?? []).map((tool) => ({
      argumentsWeight: tool.input_chars ?? 0,
      outputWeight: tool.result_chars ?? 0,
      toolMs: tool.tool_wall_latency_ms ?? null,
    })),
    waitMs: null,
  };
}

function sessionOf(label: string, rounds: readonly Round[]): Session {
  const names = new Set(rounds.flatMap(({ tools }) => (tools ?? []).map((tool) => tool.tool_name ?? '')));
  const toolsCount = Math.max(1, names.size);
  const toolsTokens = Math.round((toolsCount * toolBytes) / toolBytesPerToken);
  return countedSession(label, { instructionsTokens: 1, toolsCount, toolsTokens }, rounds.map(roundOf));
}

function read(document: TraceDocument): readonly Session[] {
  const sessions = new Map<string, Round[]>();
  for (const record of document.records) {
    const round = checked(roundSchema, document, record);
    const known = sessions.get(round.session_id);
    if (known === undefined) sessions.set(round.session_id, [round]);
    else known.push(round);
  }
  return Array.from(sessions, ([label, rounds]) => sessionOf(label, rounds));
}

export const traceLab: TraceFormat = {
  name: 'tracelab',
  from: 'round_trace.jsonl of github.com/uw-syfi/TraceLab (token counts, tool times)',
  looksLike: ({ records: [first] }) =>
    isRecord(first?.value) && 'round_index' in first.value && 'session_id' in first.value,
  read: (document) => Promise.resolve().then(() => read(document)),
};
