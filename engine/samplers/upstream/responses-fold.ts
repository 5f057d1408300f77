/**
 * The events of a Responses stream, as the items of a turn.
 *
 *   N1  Items are known by their `output_index`. A part begins with its first delta, so an empty one is not told.
 *   N2  What was not streamed is taken from the `done` of its item: servers of this API differ in what they stream.
 *   N3  An item that ends incomplete stays open for the cut that follows.
 */
import { itemSchema, isOpaque, type OpaqueItem } from '../../protocol/items.js';
import { isRecord } from '../../protocol/parse.js';
import type { PartKind, SampledStart, TurnRequest } from '../sampler.js';
import type { Fold } from './dialect.js';
import { faultOf, unreachable, UpstreamFault } from './faults.js';
import { countAt, listAt, objectAt, textAt, type JsonObject } from './json.js';
import { Telling, type UpstreamUsage } from './telling.js';

interface OpenItem {
  readonly key: number;
  readonly raw: JsonObject;
  /** Parts, and the text of a call, of which something was told. */
  readonly spoken: Set<string>;
}

/** Which part each delta belongs to, and the field that counts parts of its kind; calls have none. */
const deltas: Readonly<Record<string, readonly [kind: PartKind | null, indexedBy: string]>> = {
  'response.output_text.delta': ['text', 'content_index'],
  'response.refusal.delta': ['refusal', 'content_index'],
  'response.reasoning_text.delta': ['reasoning_text', 'content_index'],
  'response.reasoning.delta': ['reasoning_text', 'content_index'],
  'response.reasoning_summary_text.delta': ['summary', 'summary_index'],
  'response.function_call_arguments.delta': [null, ''],
  'response.custom_tool_call_input.delta': [null, ''],
};

/** Kinds of content in a finished item, with the field of their text. */
const contents: Readonly<Record<string, readonly [kind: PartKind, text: string]>> = {
  output_text: ['text', 'text'],
  refusal: ['refusal', 'refusal'],
  reasoning_text: ['reasoning_text', 'text'],
  summary_text: ['summary', 'text'],
};

/** The client runs these: the status of a finished one says only that it is written out. */
const clientRun = new Set(['local_shell_call', 'apply_patch_call', 'shell_call', 'computer_call']);

function startOf(item: JsonObject): SampledStart | null {
  const type = textAt(item, 'type');
  const phase = textAt(item, 'phase');
  if (type === 'message')
    return phase === 'commentary' || phase === 'final_answer' ? { type, phase } : { type };
  if (type === 'reasoning') return { type };
  if (type !== 'function_call' && type !== 'custom_tool_call') return null;
  const namespace = textAt(item, 'namespace');
  const name = textAt(item, 'name');
  return namespace === '' ? { type, name } : { type, name, namespace };
}

function opaqueOf(raw: JsonObject): OpaqueItem | null {
  const local =
    textAt(raw, 'type') !== 'shell_call' ||
    textAt(objectAt(raw, 'environment'), 'type') !== 'container_reference';
  const { status, ...fields } = raw;
  const parsed = itemSchema.safeParse(
    clientRun.has(textAt(raw, 'type')) && local
      ? fields
      : { ...fields, ...(status === undefined ? {} : { status }) },
  );
  return parsed.success && isOpaque(parsed.data) ? parsed.data : null;
}

function usageOf(response: JsonObject | null): UpstreamUsage | null {
  const usage = objectAt(response, 'usage');
  if (usage === null) return null;
  return {
    prompt: countAt(usage, 'input_tokens') ?? 0,
    cached: countAt(objectAt(usage, 'input_tokens_details'), 'cached_tokens') ?? 0,
    output: countAt(usage, 'output_tokens') ?? 0,
    reasoning: countAt(objectAt(usage, 'output_tokens_details'), 'reasoning_tokens'),
  };
}

export class ResponsesFold implements Fold {
  readonly #telling: Telling;
  readonly #contextTokens: number;
  readonly #open = new Map<number, OpenItem>();
  #response: JsonObject | null = null;
  #cut: 'max_output_tokens' | 'content_filter' | null = null;

  constructor(turn: TurnRequest) {
    this.#telling = new Telling(turn.outputTokensMax);
    this.#contextTokens = turn.context.tokens;
  }

  get ended(): boolean {
    return this.#response !== null;
  }

  get whole(): boolean {
    return this.ended;
  }

  accept(event: JsonObject): ReturnType<Telling['take']> {
    const type = textAt(event, 'type');
    if (type === 'error') throw faultOf(event);
    if (type === 'response.failed') throw faultOf(objectAt(event, 'response') ?? {});
    const index = countAt(event, 'output_index') ?? -1;
    const item = objectAt(event, 'item');
    if (this.ended) return [];
    if (type === 'response.output_item.added' && item !== null) this.#begin(index, item);
    else if (type === 'response.output_item.done' && item !== null) this.#end(index, item);
    else if (type === 'response.output_text.annotation.added') this.#annotate(index, event);
    else if (type === 'response.completed' || type === 'response.incomplete')
      this.#close(objectAt(event, 'response') ?? {});
    else this.#grow(index, type, event);
    return this.#telling.take();
  }

  finish(): ReturnType<Telling['take']> {
    if (!this.ended && this.#telling.items === 0)
      throw unreachable('The server of the model answered with nothing.');
    if (!this.ended)
      throw new UpstreamFault(
        'server_error',
        'The server of the model broke off in the middle of its answer.',
      );
    const usage = usageOf(this.#response);
    if (usage !== null) this.#telling.usage(usage, this.#contextTokens);
    if (this.#cut !== null) this.#telling.cut(this.#cut);
    return this.#telling.take();
  }

  #begin(index: number, raw: JsonObject): OpenItem | null {
    const start = startOf(raw);
    if (start === null) return null; // An opaque item comes whole, at its end.
    const item = { key: this.#telling.begin(start), raw, spoken: new Set<string>() };
    this.#open.set(index, item);
    return item;
  }

  #grow(index: number, type: string, event: JsonObject): void {
    const known = deltas[type];
    const item = this.#open.get(index);
    if (known === undefined || item === undefined) return;
    const [kind, indexedBy] = known;
    this.#say(item, kind, countAt(event, indexedBy) ?? 0, textAt(event, 'delta'));
  }

  #say(item: OpenItem, kind: PartKind | null, index: number, text: string): void {
    if (text === '') return;
    if (kind !== null) this.#telling.part(item.key, kind, index);
    item.spoken.add(`${kind ?? 'call'} ${index}`);
    this.#telling.say(item.key, text);
  }

  #annotate(index: number, event: JsonObject): void {
    const item = this.#open.get(index);
    const annotation = objectAt(event, 'annotation');
    if (item !== undefined && annotation !== null) this.#telling.annotate(item.key, annotation);
  }

  #end(index: number, raw: JsonObject): void {
    const item = this.#open.get(index) ?? this.#begin(index, raw);
    if (item === null) {
      const opaque = opaqueOf(raw);
      if (opaque !== null) this.#telling.begin({ type: 'opaque', item: opaque });
      return;
    }
    this.#sayRest(item, raw);
    if (textAt(raw, 'status') === 'incomplete') return; // N3
    this.#open.delete(index);
    this.#telling.end(item.key, textAt(raw, 'encrypted_content'));
  }

  /** N2 */
  #sayRest(item: OpenItem, raw: JsonObject): void {
    const rest = (kind: PartKind | null, at: number, text: string): void => {
      if (!item.spoken.has(`${kind ?? 'call'} ${at}`)) this.#say(item, kind, at, text);
    };
    for (const list of ['summary', 'content'])
      for (const [at, part] of listAt(raw, list).entries()) {
        const known = contents[textAt(isRecord(part) ? part : null, 'type')];
        if (known !== undefined && isRecord(part)) rest(known[0], at, textAt(part, known[1]));
      }
    rest(null, 0, textAt(raw, 'type') === 'function_call' ? textAt(raw, 'arguments') : textAt(raw, 'input'));
  }

  #close(response: JsonObject): void {
    this.#response = response;
    const reason = textAt(objectAt(response, 'incomplete_details'), 'reason');
    if (textAt(response, 'status') === 'incomplete')
      this.#cut = reason === 'content_filter' ? reason : 'max_output_tokens';
    this.#telling.endAll(this.#cut !== null);
  }
}
