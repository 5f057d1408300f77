/**
 * Rollout files of the Codex CLI: one record a line. What the model wrote between two answers of the API is a turn; a
 * task of Codex is a request. A call takes the time from its record to that of its output or, where the two are the
 * same, the duration that Codex noted. Reasoning is counted and not shown. The format is internal to Codex and changes.
 */
import type { TraceDocument, TraceRecord } from './document.js';
import {
  checked,
  codexEndSchema,
  codexItemSchemas,
  codexMetaSchema,
  codexRecordSchema,
  codexTokenCountSchema,
  codexUsageSchema,
  type Duration,
} from './schema.js';
import { isRecord, type CountTokens, type Session, type TraceFormat } from './session.js';
import { Telling, type ToldCall } from './told.js';

interface OpenTurn {
  readonly said: string[];
  readonly calls: ToldCall[];
  /** Outputs that were recorded before the turn ended. */
  readonly outputs: (readonly [id: string, text: string])[];
}

/** Events at which a request of the user begins or ends. */
const requestEvents = new Set([
  'task_started',
  'task_complete',
  'turn_started',
  'turn_complete',
  'turn_aborted',
]);

function millisecondsOf({ secs, nanos }: Duration): number {
  return secs * 1000 + nanos / 1e6;
}

class CodexReader {
  readonly #document: TraceDocument;
  readonly #usageEndsTurns: boolean;
  readonly #calledAt = new Map<string, number>();
  readonly #durations = new Map<string, number>();
  readonly #waits = new Map<string, number>();
  readonly telling: Telling;
  #open: OpenTurn | null = null;
  #hasMeta = false;

  constructor(document: TraceDocument, label: string) {
    this.#document = document;
    this.telling = new Telling(label);
    this.#usageEndsTurns = document.records.some(
      ({ value }) => isRecord(value) && value['type'] === 'token_usage_record',
    );
  }

  read(record: TraceRecord): void {
    const { type, timestamp, payload } = checked(codexRecordSchema, this.#document, record);
    const inner = { line: record.line, value: payload };
    const at = Date.parse(timestamp ?? '');
    if (type === 'response_item') this.#item(payload.type ?? '', inner, at);
    else if (type === 'event_msg') this.#event(payload.type ?? '', inner);
    else if (type === 'token_usage_record')
      this.#endTurn(this.#checked(codexUsageSchema, inner).usage.reasoning_output_tokens ?? 0);
    else if (type === 'session_meta') this.#meta(inner);
    else if (type === 'compacted') {
      this.#endTurn(0);
      this.telling.compacted(typeof payload['message'] === 'string' ? payload['message'] : '');
    }
  }

  end(): void {
    this.#endTurn(0);
    for (const [id, ms] of [...this.#durations, ...this.#waits]) this.telling.took(id, ms);
  }

  #checked<Schema extends Parameters<typeof checked>[0]>(schema: Schema, inner: TraceRecord) {
    return checked(schema, this.#document, inner, ['payload']);
  }

  #meta(inner: TraceRecord): void {
    const { base_instructions, instructions } = this.#checked(codexMetaSchema, inner);
    // A file that goes on from another one repeats the other's record after its own.
    if (!this.#hasMeta) this.telling.instructions(base_instructions?.text ?? instructions ?? '');
    this.#hasMeta = true;
  }

  #opened(): OpenTurn {
    this.#open ??= { said: [], calls: [], outputs: [] };
    return this.#open;
  }

  #item(type: string, inner: TraceRecord, at: number): void {
    const schemas = codexItemSchemas;
    if (type === 'message') {
      const { role, content } = this.#checked(schemas.message, inner);
      if (role === 'assistant') this.#opened().said.push(content);
      else {
        if (!this.#usageEndsTurns) this.#endTurn(0);
        this.telling.input(content);
      }
    } else if (type === 'reasoning') this.#opened();
    else if (type === 'function_call') {
      const call = this.#checked(schemas.function_call, inner);
      this.#call({ id: call.call_id, name: call.name, arguments: call.arguments }, at);
    } else if (type === 'custom_tool_call') {
      const call = this.#checked(schemas.custom_tool_call, inner);
      this.#call({ id: call.call_id, name: call.name, arguments: call.input }, at);
    } else if (type === 'local_shell_call') {
      const { call_id, action } = this.#checked(schemas.local_shell_call, inner);
      this.#call({ id: call_id ?? '', name: 'local_shell', arguments: JSON.stringify(action ?? {}) }, at);
    } else if (type.endsWith('_output')) {
      const { call_id, output } = this.#checked(schemas.output, inner);
      this.#output(call_id, output, at);
    }
  }

  #call(call: ToldCall, at: number): void {
    this.#opened().calls.push(call);
    this.#calledAt.set(call.id, at);
  }

  #output(id: string, text: string, at: number): void {
    const waited = at - (this.#calledAt.get(id) ?? Number.NaN);
    // Equal times say nothing where Codex noted a duration; they are what there is where it did not.
    if (waited > 0) this.#waits.set(id, waited);
    else if (waited === 0 && !this.#durations.has(id)) this.#durations.set(id, 0);
    if (!this.#usageEndsTurns) this.#endTurn(0);
    if (this.#open !== null) this.#open.outputs.push([id, text]);
    else this.#tellOutput(id, text);
  }

  #tellOutput(id: string, text: string): void {
    // The call may stand in another file that this one goes on from; its output is in the context anyway.
    if (!this.telling.output(id, text)) this.telling.input(text);
  }

  #event(type: string, inner: TraceRecord): void {
    if (requestEvents.has(type)) {
      this.#endTurn(0);
      this.telling.request();
    } else if (type === 'token_count' && !this.#usageEndsTurns) {
      const usage = this.#checked(codexTokenCountSchema, inner).info?.last_token_usage;
      this.#endTurn(usage?.reasoning_output_tokens ?? 0);
    } else if (/_end$|^item_completed$/.test(type)) {
      const { call_id, duration, item } = this.#checked(codexEndSchema, inner);
      const [id, took] = [call_id ?? item?.id, duration ?? item?.duration];
      if (id !== undefined && id !== null && took) this.#durations.set(id, millisecondsOf(took));
    }
  }

  #endTurn(reasoningTokens: number): void {
    const open = this.#open;
    if (open === null) return;
    this.#open = null;
    this.telling.turn({ said: open.said.join('\n\n'), calls: open.calls, reasoningTokens });
    for (const [id, text] of open.outputs) this.#tellOutput(id, text);
  }
}

function labelOf({ records: [first], path }: TraceDocument): string {
  const payload = isRecord(first?.value) ? first.value['payload'] : undefined;
  const id = isRecord(payload) ? payload['id'] : undefined;
  return typeof id === 'string' && id !== '' ? id : (path.split(/[\\/]/).at(-1) ?? path);
}

async function read(document: TraceDocument, count: CountTokens): Promise<readonly Session[]> {
  const reader = new CodexReader(document, labelOf(document));
  for (const record of document.records) reader.read(record);
  reader.end();
  const session = await reader.telling.session(count);
  const last = document.records.at(-1)?.line ?? 1;
  if (session === null)
    throw document.fault(last, [], 'expected a response_item that the model wrote before the file ends');
  return [session];
}

export const codex: TraceFormat = {
  name: 'codex',
  from: 'sessions/…/rollout-*.jsonl of the Codex CLI (text, tool times)',
  looksLike: ({ records: [first] }) =>
    isRecord(first?.value) && 'type' in first.value && 'payload' in first.value,
  read,
};
