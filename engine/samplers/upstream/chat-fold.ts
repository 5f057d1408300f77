/**
 * The events of a chat completion's stream, as the items of a turn.
 *
 *   V1  Text, refusals and reasoning follow one another: where one kind begins, the item of the other ends. Calls stay
 *       open to the end of the turn, because their pieces may interleave.
 *   V2  A call is known by its index, but a new id under an old index is a new call: some servers give no other sign.
 *   V3  White space before the first word of a message is held back, and dropped where no word follows.
 */
import { isRecord } from '../../protocol/parse.js';
import type { TurnRequest } from '../sampler.js';
import { CustomInput } from './custom-input.js';
import type { Fold } from './dialect.js';
import { faultOf, unreachable, unreadable, UpstreamFault } from './faults.js';
import { countAt, listAt, objectAt, textAt, type JsonObject } from './json.js';
import type { ToolNames } from './names.js';
import { Telling, type UpstreamUsage } from './telling.js';

interface OpenCall {
  id: string;
  /** Null until its name is known. */
  key: number | null;
  /** Arguments that came before the name. */
  early: string;
  custom: CustomInput | null;
}

/** Usage in any of the shapes that servers of this API give it. */
export function chatUsage(chunk: JsonObject): UpstreamUsage | null {
  const usage = objectAt(chunk, 'usage');
  if (usage === null) return null;
  const timings = objectAt(chunk, 'timings');
  const cached =
    countAt(objectAt(usage, 'prompt_tokens_details'), 'cached_tokens') ??
    countAt(usage, 'prompt_cache_hit_tokens') ??
    countAt(timings, 'cache_n');
  return {
    prompt: countAt(usage, 'prompt_tokens') ?? 0,
    cached: cached ?? 0,
    output: countAt(usage, 'completion_tokens') ?? 0,
    reasoning: countAt(objectAt(usage, 'completion_tokens_details'), 'reasoning_tokens'),
  };
}

export class ChatFold implements Fold {
  readonly #telling: Telling;
  readonly #contextTokens: number;
  readonly #names: ToolNames;
  readonly #reasoningSeen: (field: 'reasoning_content' | 'reasoning') => void;
  #message: number | null = null;
  #reasoning: number | null = null;
  #blank = '';
  /** By index; a call that gave its index up stays in `#all`. */
  readonly #calls = new Map<number, OpenCall>();
  readonly #all: OpenCall[] = [];
  #finish = '';
  #usage: UpstreamUsage | null = null;
  #counted = false;

  constructor(
    turn: TurnRequest,
    names: ToolNames,
    reasoningSeen: (field: 'reasoning_content' | 'reasoning') => void,
  ) {
    this.#telling = new Telling(turn.outputTokensMax);
    this.#contextTokens = turn.context.tokens;
    this.#names = names;
    this.#reasoningSeen = reasoningSeen;
  }

  get ended(): boolean {
    return this.#finish !== '';
  }

  get whole(): boolean {
    return this.#counted;
  }

  accept(chunk: JsonObject): ReturnType<Telling['take']> {
    const failed = isRecord(chunk['error']) || typeof chunk['error'] === 'string';
    if (failed && !this.ended) throw faultOf(chunk);
    const choice = listAt(chunk, 'choices').find(isRecord);
    if (choice !== undefined && !this.ended) this.#choice(choice);
    const usage = chatUsage(chunk);
    this.#usage = usage ?? this.#usage;
    // Some servers count as they go; only what comes with the end or after it is the whole count.
    this.#counted ||= this.ended && usage !== null;
    return this.#telling.take();
  }

  finish(done: boolean): ReturnType<Telling['take']> {
    const { items } = this.#telling;
    if (!this.ended && items === 0) throw unreachable('The server of the model answered with nothing.');
    if (!this.ended && !done)
      throw new UpstreamFault(
        'server_error',
        'The server of the model broke off in the middle of its answer.',
      );
    if (!this.ended) this.#end('stop');
    if (this.#usage !== null) this.#telling.usage(this.#usage, this.#contextTokens);
    if (this.#finish === 'length') this.#telling.cut('max_output_tokens');
    if (this.#finish === 'content_filter') this.#telling.cut('content_filter');
    return this.#telling.take();
  }

  #choice(choice: JsonObject): void {
    const delta = objectAt(choice, 'delta');
    this.#reason(delta);
    this.#speak('text', textAt(delta, 'content'));
    this.#speak('refusal', textAt(delta, 'refusal'));
    for (const [place, call] of listAt(delta, 'tool_calls').filter(isRecord).entries())
      this.#call(call, place);
    const finish = textAt(choice, 'finish_reason');
    if (finish !== '') this.#end(finish);
  }

  #reason(delta: JsonObject | null): void {
    const field = textAt(delta, 'reasoning_content') === '' ? 'reasoning' : 'reasoning_content';
    const text = textAt(delta, field);
    if (text === '') return;
    this.#reasoningSeen(field);
    this.#endMessage();
    this.#reasoning ??= this.#telling.begin({ type: 'reasoning' });
    this.#telling.part(this.#reasoning, 'reasoning_text');
    this.#telling.say(this.#reasoning, text);
  }

  #speak(kind: 'text' | 'refusal', text: string): void {
    if (text === '') return;
    if (this.#message === null && text.trim() === '') {
      this.#blank += text; // V3
      return;
    }
    this.#endReasoning();
    this.#message ??= this.#telling.begin({ type: 'message' });
    this.#telling.part(this.#message, kind);
    this.#telling.say(this.#message, this.#blank + text);
    this.#blank = '';
  }

  #call(raw: JsonObject, place: number): void {
    const index = countAt(raw, 'index');
    const call = this.#callAt(index ?? place, textAt(raw, 'id'), index !== null);
    const wanted = objectAt(raw, 'function');
    const name = textAt(wanted, 'name');
    if (call.key === null && name !== '') this.#begin(call, name);
    const given = wanted?.['arguments'];
    const piece = isRecord(given) ? JSON.stringify(given) : textAt(wanted, 'arguments');
    if (call.key === null) call.early += piece;
    else this.#telling.say(call.key, call.custom === null ? piece : call.custom.add(piece));
  }

  /** V2. Without an index, a piece without an id belongs to the call at its place. */
  #callAt(index: number, id: string, indexed: boolean): OpenCall {
    const known = this.#calls.get(index);
    if (known !== undefined && (id === '' || known.id === '' || id === known.id)) {
      known.id ||= id;
      return known;
    }
    const same = indexed || id === '' ? undefined : this.#all.find((call) => call.id === id);
    if (same !== undefined) return same;
    const call: OpenCall = { id, key: null, early: '', custom: null };
    this.#calls.set(index, call);
    this.#all.push(call);
    return call;
  }

  #begin(call: OpenCall, name: string): void {
    this.#endReasoning();
    this.#endMessage();
    const start = this.#names.read(name);
    call.key = this.#telling.begin(start);
    call.custom = start.type === 'custom_tool_call' ? new CustomInput() : null;
    this.#telling.say(call.key, call.custom === null ? call.early : call.custom.add(call.early));
  }

  #endMessage(): void {
    if (this.#message !== null) this.#telling.end(this.#message);
    this.#message = null;
    this.#blank = '';
  }

  #endReasoning(): void {
    if (this.#reasoning !== null) this.#telling.end(this.#reasoning);
    this.#reasoning = null;
  }

  #end(finish: string): void {
    if (finish === 'error') throw unreadable('The server of the model failed in the middle of its answer.');
    const cut = finish === 'length' || finish === 'content_filter';
    for (const { key, custom } of this.#all) {
      if (key === null) {
        if (cut) continue;
        throw unreadable('The model made a call without a name.');
      }
      if (custom !== null) this.#telling.say(key, custom.finish());
    }
    this.#telling.endAll(cut);
    this.#finish = finish;
  }
}
