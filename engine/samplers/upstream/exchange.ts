/**
 * One request to an upstream and the events of its answer, within the sampler's patience.
 *
 *   X1  One signal ends all its waits: the turn's abort, the clock's bounds and leaving early come together in it.
 *   X2  One timer at a time, set anew where the bound changes; it looks back at the last event (S3, S8).
 *   X3  After disposal nothing is left: no timer, no listener, and no request unless it came to its end.
 */
import { createParser } from 'eventsource-parser';

import { onAbort } from '../../abort.js';
import type { Clock, Timer } from '../../ports.js';
import { isRecord } from '../../protocol/parse.js';
import { faultOfAnswer, UpstreamFault, unreachable, unreadable } from './faults.js';
import type { UpstreamAnswer, UpstreamHttp } from './http.js';
import { parsedJson, type JsonObject } from './json.js';

/** Bounds of one answer, in ms and bytes. */
export interface Patience {
  readonly firstTokenMsMax: number;
  readonly silenceMsMax: number;
  readonly restMsMax: number;
  readonly eventBytesMax: number;
}

type Phase = 'first' | 'next' | 'rest';

const errorBytesMax = 64 * 1024;

function boundOf(phase: Phase, { firstTokenMsMax, silenceMsMax, restMsMax }: Patience): number {
  return { first: firstTokenMsMax, next: silenceMsMax, rest: restMsMax }[phase];
}

function impatience(phase: Phase, ms: number): UpstreamFault {
  const what = phase === 'first' ? 'began no answer within' : 'said nothing more for';
  return new UpstreamFault('server_error', `The server of the model ${what} ${ms} ms.`);
}

export class Exchange implements Disposable {
  readonly #clock: Clock;
  readonly #patience: Patience;
  readonly #controller = new AbortController();
  readonly #abortListener: Disposable;
  #timer: Timer | null = null;
  #phase: Phase = 'first';
  #heardAt: number;
  #whole = false;
  /** `[DONE]` came. */
  done = false;

  constructor(clock: Clock, patience: Patience, signal: AbortSignal) {
    this.#clock = clock;
    this.#patience = patience;
    this.#heardAt = clock.now();
    this.#abortListener = onAbort(signal, () => this.#controller.abort(signal.reason));
    this.#set(boundOf('first', patience));
  }

  /** The events of the answer, parsed. Returns at `[DONE]`, at the end, or when the rest takes too long. */
  async *chunks(http: UpstreamHttp, body: readonly Uint8Array[]): AsyncGenerator<JsonObject, void> {
    try {
      const answer = await http.post(body, this.#controller.signal);
      const kind = answer.header('content-type') ?? '';
      if (answer.status !== 200 || !/^\s*(?:text\/event-stream|$)/i.test(kind)) await this.#refuse(answer);
      yield* this.#events(answer.body);
      this.#whole = true;
    } catch (fault) {
      this.#rethrow(fault);
    }
  }

  /** The first token has come, or all have: another bound holds from now on. */
  expect(phase: 'next' | 'rest'): void {
    if (this.#phase === phase || this.#phase === 'rest') return;
    this.#phase = phase;
    this.#heardAt = this.#clock.now();
    this.#timer?.[Symbol.dispose]();
    this.#set(boundOf(phase, this.#patience));
  }

  /** All that is needed has come: what is left of the answer is no reason to cut the connection. */
  complete(): void {
    this.#whole = true;
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#abortListener[Symbol.dispose]();
    if (!this.#whole) this.#controller.abort(new Error('the turn was left'));
  }

  async *#events(body: AsyncIterable<Uint8Array>): AsyncGenerator<JsonObject, void> {
    const told: (JsonObject | UpstreamFault)[] = [];
    const parser = createParser({
      maxBufferSize: this.#patience.eventBytesMax,
      onEvent: ({ data }) => {
        if (!this.done) told.push(...this.#read(data));
      },
      onError(fault) {
        // Lines that are no field of the format are skipped, as the format says; only an endless one is a fault.
        if (fault.type === 'max-buffer-size-exceeded')
          told.push(unreadable('The server of the model sent an event that is too long.'));
      },
    });
    const decoder = new TextDecoder();
    for await (const piece of body) {
      if (this.#phase !== 'rest') this.#heardAt = this.#clock.now();
      parser.feed(decoder.decode(piece, { stream: true }));
      for (const chunk of told.splice(0)) {
        if (chunk instanceof UpstreamFault) throw chunk;
        yield chunk;
      }
      if (this.done) return;
    }
  }

  #read(data: string): (JsonObject | UpstreamFault)[] {
    if (data.trim() === '[DONE]') {
      this.done = true;
      return [];
    }
    const chunk = parsedJson(data);
    return [
      isRecord(chunk) ? chunk : unreadable('The server of the model sent an event that is no JSON object.'),
    ];
  }

  async #refuse(answer: UpstreamAnswer): Promise<never> {
    const { status, body } = answer;
    const decoder = new TextDecoder();
    let text = '';
    for await (const piece of body) {
      text += decoder.decode(piece, { stream: true });
      if (text.length > errorBytesMax) break;
    }
    this.#whole = true;
    const said = parsedJson(text);
    if (status !== 200 || (isRecord(said) && 'error' in said))
      throw faultOfAnswer(status, (name) => answer.header(name), text, this.#clock.unixSeconds());
    throw unreadable('The server of the model did not answer with a stream of events.');
  }

  /** Any fault as one that may be told, and none where only the rest was awaited. */
  #rethrow(fault: unknown): void {
    const { signal } = this.#controller;
    if (this.#phase === 'rest' && (!signal.aborted || signal.reason === restOver)) return;
    if (signal.aborted) throw signal.reason;
    throw fault instanceof UpstreamFault
      ? fault
      : unreachable('The connection to the server of the model failed.', fault);
  }

  #set(ms: number): void {
    this.#timer = this.#clock.after(ms, () => this.#check());
  }

  #check(): void {
    const bound = boundOf(this.#phase, this.#patience);
    const left = this.#heardAt + bound - this.#clock.now();
    if (left > 0) this.#set(left);
    else this.#controller.abort(this.#phase === 'rest' ? restOver : impatience(this.#phase, bound));
  }
}

/** Why a request ends whose answer is complete but for an end of its stream. */
const restOver = new Error('the rest of an answer took too long');
