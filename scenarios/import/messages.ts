/**
 * Conversations of Chat Completions messages, as τ-bench and many others keep them: an array of messages, `{messages}`
 * or `{traj}`, an array of these, or one of these a line. Each message of the user begins a rollout. Times are not told.
 */
import type { TraceDocument } from './document.js';
import {
  checked,
  conversationSchema,
  conversationsSchema,
  messagesSchema,
  type ConversationRecord,
  type Message,
} from './schema.js';
import { isRecord, type CountTokens, type Session, type TraceFormat } from './session.js';
import { Telling } from './told.js';

/** Where the messages of a conversation stand, so that a fault can name it. */
interface Place {
  readonly line: number;
  readonly path: readonly PropertyKey[];
}

const isConversation = (value: unknown): boolean =>
  isRecord(value) && ('messages' in value || 'traj' in value);
const isMessage = (value: unknown): boolean => isRecord(value) && 'role' in value && 'content' in value;

function tell(telling: Telling, document: TraceDocument, messages: readonly Message[], place: Place): void {
  let said = false;
  for (const [index, message] of messages.entries()) {
    const fault = (field: string, expected: string): Error =>
      document.fault(place.line, [...place.path, index, field], expected);
    switch (message.role) {
      case 'system':
      case 'developer':
        if (said) telling.input(message.content);
        else telling.instructions(message.content);
        break;
      case 'user':
        telling.request();
        telling.input(message.content);
        break;
      case 'assistant':
        said = true;
        telling.turn({
          said: message.content,
          calls: (message.tool_calls ?? []).map((call, number) => ({
            id: call.id ?? `${index}/${number}`,
            name: call.function.name,
            arguments: call.function.arguments,
          })),
        });
        break;
      default: {
        const id = message.tool_call_id ?? '';
        if (!telling.output(id, message.content))
          throw fault('tool_call_id', 'expected the id of a call that an assistant message made before');
      }
    }
  }
}

function labelOf({ id, task_id, trial }: ConversationRecord, number: number): string {
  const name = task_id ?? id;
  const which = name === null || name === undefined ? `conversation ${number}` : `task ${name}`;
  return trial === null || trial === undefined ? which : `${which}, trial ${trial}`;
}

interface Conversation {
  readonly label: string;
  readonly messages: readonly Message[];
  readonly place: Place;
}

function conversationOf(record: ConversationRecord, number: number, place: Place): Conversation {
  return {
    label: labelOf(record, number),
    messages: record.messages ?? record.traj ?? [],
    place: { ...place, path: [...place.path, record.messages === undefined ? 'traj' : 'messages'] },
  };
}

function conversationsOf(document: TraceDocument): Conversation[] {
  const { value, records } = document;
  if (Array.isArray(value) && isMessage(value[0])) {
    const messages = checked(messagesSchema, document, { line: 0, value });
    return [{ label: 'conversation 1', messages, place: { line: 0, path: [] } }];
  }
  if (Array.isArray(value))
    return checked(conversationsSchema, document, { line: 0, value }).map((record, index) =>
      conversationOf(record, index + 1, { line: 0, path: [index] }),
    );
  if (value !== undefined)
    return [
      conversationOf(checked(conversationSchema, document, { line: 0, value }), 1, { line: 0, path: [] }),
    ];
  return records.map((record, index) =>
    conversationOf(checked(conversationSchema, document, record), index + 1, { line: record.line, path: [] }),
  );
}

async function read(document: TraceDocument, count: CountTokens): Promise<readonly Session[]> {
  const sessions: Session[] = [];
  for (const { label, messages, place } of conversationsOf(document)) {
    const telling = new Telling(label);
    tell(telling, document, messages, place);
    const session = await telling.session(count);
    if (session === null) throw document.fault(place.line, place.path, 'expected a message of the assistant');
    sessions.push(session);
  }
  return sessions;
}

export const chatMessages: TraceFormat = {
  name: 'messages',
  from: 'conversations of Chat Completions messages, such as τ-bench keeps (text)',
  looksLike: ({ value, records: [first] }) =>
    Array.isArray(value)
      ? isConversation(value[0]) || isMessage(value[0])
      : isConversation(value) || isConversation(first?.value),
  read,
};
