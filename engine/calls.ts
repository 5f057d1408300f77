/**
 * Which items ask for an answer, which items answer, and how the two find each other: one rule for ledger, intake,
 * transcript and snapshot alike.
 *
 *   D1  A call is named by its `call_id`, an `mcp_approval_request` by its `id`. An `x_call` is answered by an
 *       `x_call_output` with the same `call_id`, but for those in the table below.
 *   D2  What has no name asks for nothing: hosted calls (`web_search_call`, `mcp_call`, …) have no `call_id`, and stand
 *       in a history unanswered, and so does a call that says `execution: 'server'`.
 *   D3  A sampled call is owed, unless it says when it is announced that it ran elsewhere.
 */
import type { Item } from './protocol/items.js';
import type { RequiredInput } from './protocol/server-events.js';

/** A call, as far as answering it goes. */
export interface OwedCall {
  /** What names it, whatever the field is called on the wire (D1). */
  readonly call_id: string;
  /** `function_call`, `custom_tool_call`, or an opaque kind. */
  readonly type: string;
  readonly name?: string | undefined;
}

/** The fields that may name a call. */
type NamingField = 'call_id' | 'id' | 'approval_request_id';

/** Any item: a client's, a sampler's, or one on the wire. */
interface AnyItem extends Readonly<Partial<Record<NamingField, unknown>>> {
  readonly type: string;
  readonly status?: unknown;
  readonly execution?: unknown;
}

interface Answer {
  readonly type: string;
  /** Fields of the answer that may name the call; the first that is there does. */
  readonly by: readonly NamingField[];
}

/** Where the rule of D1 does not hold. */
const answers: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ['local_shell_call', { type: 'local_shell_call_output', by: ['call_id', 'id'] }],
  ['tool_search_call', { type: 'tool_search_output', by: ['call_id'] }],
  ['mcp_approval_request', { type: 'mcp_approval_response', by: ['approval_request_id'] }],
]);
const fieldsOfAnswer = new Map([...answers.values()].map(({ type, by }) => [type, by]));

function firstName(item: AnyItem, fields: readonly NamingField[]): string | null {
  for (const name of fields) {
    const value = item[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return null;
}

function onServer(item: AnyItem): boolean {
  return item.execution === 'server';
}

/** Whether items of that type ask for something: a call of any sort, or a request for approval. */
export function isCallType(type: string): boolean {
  return type.endsWith('_call') || answers.has(type);
}

/** Whether an item, as it is announced, is one that somebody has to answer (D3). */
export function owesAnswer(item: AnyItem): boolean {
  const { status } = item;
  return isCallType(item.type) && status !== 'completed' && status !== 'failed' && !onServer(item);
}

/** What names the call that an item opens, or null for an item that asks for no answer (D1, D2). */
export function openedCallId(item: AnyItem): string | null {
  if (!isCallType(item.type) || onServer(item)) return null;
  return firstName(item, item.type === 'mcp_approval_request' ? ['id'] : ['call_id']);
}

/** What names the call that an item opens when it is announced, where somebody has to answer it; else null (D3). */
export function owedCallId(announced: AnyItem): string | null {
  return owesAnswer(announced) ? openedCallId(announced) : null;
}

/** What names the call that an item answers, or null for an item that is no answer (D1, D2). */
export function answeredCallId(item: AnyItem): string | null {
  const by = fieldsOfAnswer.get(item.type);
  if (by === undefined && !item.type.endsWith('_call_output')) return null;
  return onServer(item) ? null : firstName(item, by ?? ['call_id']);
}

/** The field in which an answer names its call. */
export function callField(answer: AnyItem): string {
  const by = fieldsOfAnswer.get(answer.type) ?? ['call_id'];
  return by.find((name) => typeof answer[name] === 'string') ?? 'call_id';
}

/** The item type that answers a call of that type. */
export function outputTypeFor(callType: string): string {
  return answers.get(callType)?.type ?? `${callType}_output`;
}

/** The stub that tells a client what it owes. `call_id` names the call in every stub, whatever the answer calls it. */
export function requiredInputFor({ call_id, type, name }: OwedCall): RequiredInput {
  const stub: RequiredInput = { type: outputTypeFor(type), call_id };
  if (name !== undefined) stub.name = name;
  if (type === 'mcp_approval_request') stub['approval_request_id'] = call_id;
  if (type === 'tool_search_call') stub['execution'] = 'client';
  return stub;
}

/** What an answer says, beyond its type and the call, that nobody gave. A model would read it as a tool's failure. */
const abortedFields: Readonly<Record<string, object>> = {
  mcp_approval_response: { approve: false, reason: 'aborted' },
  tool_search_output: { execution: 'client', tools: [] },
  shell_call_output: { output: [{ stdout: '', stderr: 'aborted', outcome: { type: 'timeout' } }] },
  apply_patch_call_output: { status: 'failed', output: 'aborted' },
};

/** The answer to a call that nobody answered before the rollout ended. */
export function abortedAnswer({ type, call_id }: RequiredInput): Item {
  if (type === 'function_call_output') return { type, call_id, output: 'aborted' };
  if (type === 'custom_tool_call_output') return { type, call_id, output: 'aborted' };
  const named =
    type === 'mcp_approval_response'
      ? { approval_request_id: call_id }
      : type === 'local_shell_call_output'
        ? { id: call_id }
        : { call_id };
  return { type, ...named, ...(abortedFields[type] ?? { output: 'aborted' }), opaque: true };
}
