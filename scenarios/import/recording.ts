/**
 * Recordings of `long-response serve --record`: a turn a line, in every design. What belongs to one conversation is found
 * again by the calls that a turn's input answers, and else by the Response it continues. A turn that follows one without
 * calls begins a rollout. A tool took from the hand-off of its call to the arrival of its output, at the server.
 */
import type { Call, KeptText, Rollout, Turn } from '../scenario.js';
import { argumentsTokensMin } from '../text.js';
import type { TraceDocument, TraceRecord } from './document.js';
import {
  checked,
  recordedHeaderSchema,
  recordedTurnSchema,
  type RecordedAnswer,
  type RecordedItem,
  type RecordedTurn,
} from './schema.js';
import {
  isRecord,
  noGaps,
  requestLabel,
  type CountTokens,
  type Gaps,
  type Session,
  type TraceFormat,
} from './session.js';
import { argumentsText, joined, kept } from './told.js';
import { conversationsOf } from './recording-order.js';

function sum(items: readonly { readonly tokens: number }[]): number {
  return items.reduce((total, { tokens }) => total + tokens, 0);
}

function textIn(items: readonly { readonly text?: string | undefined }[]): string {
  return joined(items.map(({ text }) => text ?? ''));
}

/** A text that has room in its count: several, joined, may have a few tokens more than they had apart. */
function roomFor(tokens: number, text: KeptText | undefined): number {
  return Math.max(tokens, text?.tokens ?? 0);
}

async function callOf(
  call: RecordedItem,
  brought: readonly RecordedAnswer[],
  waited: number | null,
  count: CountTokens,
): Promise<Call> {
  const args = call.text === undefined ? undefined : argumentsText(call.text);
  const output_text = await kept(textIn(brought), count);
  return {
    arguments_tokens: args === undefined ? Math.max(argumentsTokensMin, call.tokens) : await count(args),
    ...(args === undefined ? {} : { arguments_text: args }),
    tool_ms: waited ?? 0,
    output_tokens: Math.max(1, roomFor(sum(brought), output_text)),
    ...(output_text === undefined ? {} : { output_text }),
  };
}

/** What the model wrote besides calls. Reasoning that it counted and did not show is part of it. */
function writtenTokens({ output, reasoning_tokens }: RecordedTurn): number {
  const of = (...kinds: RecordedItem['kind'][]): number =>
    sum(output.filter(({ kind }) => kinds.includes(kind)));
  return of('message', 'other') + Math.max(of('reasoning'), reasoning_tokens);
}

/** @param next the turn that read on from it; undefined for a last one, whose calls are played as part of its message. */
async function turnOf(
  turn: RecordedTurn,
  next: RecordedTurn | undefined,
  count: CountTokens,
  gaps: Gaps,
): Promise<Turn> {
  const calls = turn.output.filter(({ kind }) => kind === 'call');
  const messages = turn.output.filter(({ kind }) => kind === 'message');
  const text = await kept(textIn(messages), count);
  if (next === undefined) {
    gaps.unread += calls.length;
    const output_tokens = Math.max(1, roomFor(writtenTokens(turn) + sum(calls), text));
    return { output_tokens, ...(text === undefined ? {} : { text }), calls: [] };
  }
  const ids = new Set(calls.map(({ call_id }) => call_id));
  const played: Call[] = [];
  for (const [index, call] of calls.entries()) {
    const answer = next.input.find(({ kind, call_id }) => kind === 'output' && call_id === call.call_id);
    // What came beside the outputs, such as a word of the user, was read with the last of them.
    const beside =
      index < calls.length - 1
        ? []
        : next.input.filter(({ call_id }) => call_id === undefined || !ids.has(call_id));
    if (answer?.at_ms === undefined) gaps.untimed++;
    const waited = answer?.at_ms === undefined ? null : answer.at_ms - turn.handed_off_at_ms;
    const brought = answer === undefined ? beside : [answer, ...beside];
    // An output that came before the turn had ended cost its client no time.
    played.push(await callOf(call, brought, waited === null ? null : rounded(Math.max(0, waited)), count));
  }
  return {
    output_tokens: roomFor(writtenTokens(turn), text),
    ...(text === undefined ? {} : { text }),
    calls: played,
  };
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

async function rolloutOf(
  turns: readonly RecordedTurn[],
  count: CountTokens,
  gaps: Gaps,
): Promise<Omit<Rollout, 'label'>> {
  const [first] = turns;
  const context_text = await kept(textIn(first?.input ?? []), count);
  const heldTokens = first?.history_tokens ?? 0;
  const played: Turn[] = [];
  for (const [index, turn] of turns.entries()) played.push(await turnOf(turn, turns[index + 1], count, gaps));
  return {
    context_tokens: Math.max(1, heldTokens + roomFor(sum(first?.input ?? []), context_text)),
    ...(context_text === undefined ? {} : { context_text }),
    turns: played,
  };
}

/** A rollout ends with a turn that calls nothing, and where the context was shortened. */
function rolloutsIn(turns: readonly RecordedTurn[]): RecordedTurn[][] {
  const rollouts: RecordedTurn[][] = [];
  for (const turn of turns) {
    const open = rollouts.at(-1);
    const goesOn =
      open?.at(-1)?.output.some(({ kind }) => kind === 'call') === true && turn.compacted !== true;
    if (open !== undefined && goesOn) open.push(turn);
    else rollouts.push([turn]);
  }
  return rollouts;
}

/** Tokens after those that came first in their turns, and how long they took. */
function writtenIn(turns: readonly RecordedTurn[]): Pick<Session, 'written'> {
  let tokens = 0;
  let ms = 0;
  for (const { started_at_ms, first_token_ms, ended_at_ms, decode_tokens_per_second } of turns) {
    if (typeof first_token_ms !== 'number' || typeof ended_at_ms !== 'number') continue;
    if (typeof decode_tokens_per_second !== 'number') continue;
    const took = Math.max(0, ended_at_ms - started_at_ms - first_token_ms);
    tokens += (decode_tokens_per_second * took) / 1000;
    ms += took;
  }
  return ms > 0 ? { written: { tokens, ms } } : {};
}

async function sessionOf(turns: readonly RecordedTurn[], count: CountTokens): Promise<Session[]> {
  const [first] = turns;
  if (first === undefined) return [];
  const gaps = noGaps();
  gaps.shrunk = turns.filter(({ compacted }) => compacted === true).length;
  const groups = rolloutsIn(turns);
  const rollouts: Rollout[] = [];
  for (const [index, group] of groups.entries())
    rollouts.push({
      label: requestLabel(first.response_id, index, groups.length),
      ...(await rolloutOf(group, count, gaps)),
    });
  return [
    {
      label: first.response_id,
      instructionsTokens: Math.max(1, first.instructions_tokens),
      toolsCount: Math.max(1, Math.min(128, first.tools_count)),
      toolsTokens: first.tools_tokens,
      toolsBytes: first.tools_bytes,
      rollouts,
      gaps,
      ...writtenIn(turns),
    },
  ];
}

function isHeader({ value }: TraceRecord): boolean {
  return isRecord(value) && 'format' in value;
}

/** The turns of each server that wrote to the file: its times are its own. */
function runsIn(document: TraceDocument): RecordedTurn[][] {
  const runs: RecordedTurn[][] = [];
  for (const record of document.records) {
    const { value } = record;
    if (isHeader(record)) {
      checked(recordedHeaderSchema, document, record);
      runs.push([]);
    } else if (!isRecord(value) || value['type'] !== 'dropped')
      runs.at(-1)?.push(checked(recordedTurnSchema, document, record));
  }
  return runs;
}

async function read(document: TraceDocument, count: CountTokens): Promise<readonly Session[]> {
  const sessions: Session[] = [];
  for (const turns of conversationsOf(runsIn(document))) sessions.push(...(await sessionOf(turns, count)));
  const last = document.records.at(-1)?.line ?? 1;
  if (sessions.length === 0)
    throw document.fault(last, [], 'expected a turn that the model wrote before the file ends');
  return sessions;
}

export const recording: TraceFormat = {
  name: 'recording',
  from: 'long-response serve --record (token counts and tool times; text with --record-text)',
  looksLike: ({ records: [first] }) =>
    isRecord(first?.value) && first.value['format'] === 'long-response-recording',
  read,
};
