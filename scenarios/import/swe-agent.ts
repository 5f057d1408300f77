/**
 * Trajectories of SWE-agent (`.traj`): one task, its history as messages. An action that stands in the text of a message
 * is played as a call with the argument `command`. Everything after the model's first message answers it.
 */
import type { TraceDocument } from './document.js';
import { checked, sweAgentSchema, type HistoryMessage } from './schema.js';
import { isRecord, type CountTokens, type Session, type TraceFormat } from './session.js';
import { Telling, type ToldCall, type ToldTurn } from './told.js';

function turnOf(message: HistoryMessage, index: number): ToldTurn {
  const { tool_calls, thought, action, content } = message;
  if (tool_calls !== null && tool_calls !== undefined && tool_calls.length > 0)
    return {
      said: content,
      calls: tool_calls.map((call, number): ToldCall => ({
        id: call.id ?? `${index}/${number}`,
        name: call.function.name,
        arguments: call.function.arguments,
      })),
    };
  const command = JSON.stringify({ command: action ?? '' });
  return { said: thought ?? content, calls: [{ id: `${index}/0`, name: 'command', arguments: command }] };
}

const speaks = (message: HistoryMessage): boolean => message.role === 'assistant' && message.is_demo !== true;

/** Tells the history. `timesMs` holds the time of each turn's action, null where it is not known. */
function tell(
  telling: Telling,
  history: readonly HistoryMessage[],
  timesMs: readonly (number | null)[],
): void {
  let turns = 0;
  let asked = '';
  for (const [index, message] of history.entries()) {
    if (message.role === 'system' && turns === 0) telling.instructions(message.content);
    else if (speaks(message)) {
      const turn = turnOf(message, index);
      telling.turn(turn);
      const took = timesMs[turns++] ?? null;
      for (const { id } of turn.calls) if (took !== null) telling.took(id, took);
      asked = turn.calls[0]?.id ?? '';
    } else {
      const id = message.tool_call_ids?.[0] ?? message.tool_call_id ?? asked;
      if (!telling.output(id, message.content)) telling.input(message.content);
    }
  }
}

async function read(document: TraceDocument, count: CountTokens): Promise<readonly Session[]> {
  const { history, trajectory, environment } = checked(sweAgentSchema, document, {
    line: 0,
    value: document.value,
  });
  const name = document.path.split(/[\\/]/).at(-1) ?? document.path;
  const telling = new Telling(environment ? `${name} (${environment})` : name);
  // Steps that were tried again stand in the trajectory alone; then which time is whose is not known.
  const times = trajectory?.length === history.filter(speaks).length ? trajectory : [];
  tell(
    telling,
    history,
    times.map(({ execution_time }) => (typeof execution_time === 'number' ? execution_time * 1000 : null)),
  );
  const session = await telling.session(count);
  if (session === null) throw document.fault(0, ['history'], 'expected a message of the assistant');
  return [session];
}

export const sweAgent: TraceFormat = {
  name: 'swe-agent',
  from: '*.traj of SWE-agent (text, and times of newer files)',
  looksLike: ({ value }) => isRecord(value) && 'history' in value,
  read,
};
