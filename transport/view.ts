/** What a reader is shown of a Response's log: the whole of it as one Response, or a window as a response of its own. */
import type { LiveResponse, LogEntry, ServerEvent, VirtualResponse } from '../engine/index.js';
import { errorCodes, type ErrorCode } from '../engine/protocol/errors.js';
import { eventText, itemText, laneTail, responseTail, wholeText, type Put } from './frames.js';

export interface View {
  readonly response: LiveResponse;
  /** Number of the first entry it is fed. */
  readonly first: number;
  /** Nothing further is shown, although the log may go on. */
  readonly over: boolean;
  /** What stands before the first entry. */
  begin(put: Put): void;
  show(entry: LogEntry, number: number, put: Put): void;
}

/** The append design: every entry is an event, and every event says whose it is. */
export class NativeView implements View {
  readonly response: LiveResponse;
  readonly first: number;
  readonly over = false;
  readonly #tail: string;

  constructor(response: LiveResponse, startingAfter: number) {
    this.response = response;
    this.first = startingAfter + 1;
    this.#tail = responseTail(response.id);
  }

  begin(): void {}

  show(entry: LogEntry, number: number, put: Put): void {
    if ('output_index' in entry)
      put(entry.type, itemText(entry, { number, outputIndex: entry.output_index, tail: this.#tail }));
    else {
      const event = this.response.event(entry, number);
      put(event.type, eventText(event));
    }
  }
}

/** How a window is shown. */
export interface WindowShown {
  /** Named in every event; null names none. */
  readonly lane: string | null;
  /** Events up to that number are left out: the reader has them. -1 shows all. */
  readonly after: number;
  /** On SSE a failed response is announced by an `error` event before its terminal one (P66). */
  readonly faultFirst: boolean;
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCodes, code);
}

/** Flat and nested, because one half of the clients reads the one and the other half the other. */
function faultOf({ sequence_number, response }: Extract<ServerEvent, { type: 'response.failed' }>) {
  const { code = 'server_error', message = '' } = response.error ?? {};
  const [status, type] = isErrorCode(code) ? errorCodes[code] : errorCodes.server_error;
  const flat = { code, message, param: null };
  return { type: 'error', status, sequence_number, ...flat, error: { type, ...flat } };
}

/** The per-turn designs: a window of the log as one response, numbered from 0. */
export class WindowView implements View {
  readonly response: LiveResponse;
  readonly first: number;
  readonly window: VirtualResponse;
  readonly #shown: WindowShown;
  readonly #tail: string;

  constructor(response: LiveResponse, first: number, window: VirtualResponse, shown: WindowShown) {
    this.response = response;
    this.first = first;
    this.window = window;
    this.#shown = shown;
    this.#tail = laneTail(shown.lane);
  }

  get over(): boolean {
    return this.window.over;
  }

  begin(put: Put): void {
    // Both events show the same response, and it is most of their text: it is serialised once.
    const json = JSON.stringify(this.window.snapshot);
    for (const { type, sequence_number: number } of this.window.begin())
      if (number > this.#shown.after) put(type, wholeText(type, { number, json, tail: this.#tail }));
  }

  show(entry: LogEntry, _number: number, put: Put): void {
    if ('output_index' in entry) {
      const place = this.window.place(entry);
      if (place === null) return;
      const { sequence_number: number, output_index: outputIndex } = place;
      if (number > this.#shown.after)
        put(entry.type, itemText(entry, { number, outputIndex, tail: this.#tail }));
    } else {
      const event = this.window.project(entry);
      if (event !== null) this.#put(event, put);
    }
  }

  #put(event: ServerEvent, put: Put): void {
    const { lane, after, faultFirst } = this.#shown;
    const fault = faultFirst && event.type === 'response.failed' ? faultOf(event) : null;
    const shift = fault === null ? 0 : 1;
    if (fault !== null && fault.sequence_number > after) put('error', JSON.stringify(fault));
    const number = event.sequence_number + shift;
    if (number > after) put(event.type, eventText({ ...event, sequence_number: number }, lane));
  }
}
