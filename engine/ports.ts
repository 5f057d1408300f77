/**
 * The ports: everything the engine waits for besides its client (S8). The same engine code runs on real time and on
 * the virtual clock, on a real encoder and on counted text, because it sees only these.
 */
import type { Item } from './protocol/items.js';
import type { CreateRequest } from './protocol/requests.js';
import type { Bill } from './stages.js';

/** A timer that was set; dispose it to unset it. Disposing twice, or after it fired, does nothing. */
export interface Timer extends Disposable {
  readonly due: number;
}

export interface Clock {
  /** Milliseconds, monotonic, with fractions; the origin is arbitrary. */
  now(): number;
  /** Whole seconds since 1970, for `created_at` and the like. */
  unixSeconds(): number;
  /** Calls back once after `ms`. Any finite bound works, above 2^31 ms too; `Infinity` never fires. */
  after(ms: number, callback: () => void): Timer;
  /** Resolves after `ms`; rejects with the signal's reason as soon as it aborts, leaving no timer and no listener. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Gives the event loop one turn, so that long work does not hold it. */
  breathe(): Promise<void>;
}

export interface Tokenizer {
  /**
   * Text to tokens. Control tokens in the text are read as plain text. Short text is answered at once, long text as a
   * promise that never holds the event loop for more than about 5 ms at a time (S7).
   */
  encode(text: string, signal: AbortSignal): Uint32Array | Promise<Uint32Array>;
}

/** What is kept of a settled Response. */
export interface StoredResponse {
  readonly id: string;
  readonly credential: string;
  /** The Response whose conversation it goes on with, as the engine knows it; null where it began one. */
  readonly previous_response_id: string | null;
  /** How many items of that conversation it goes on from: none where it has taken them out since. */
  readonly inherited: number;
  readonly request: CreateRequest;
  /**
   * What this Response added to its conversation: its input, and what was sampled and answered. Where its context was
   * shortened, what it has taken out again of that stands before what was left.
   */
  readonly items: readonly Item[];
  readonly status: string;
}

export interface Store {
  save(response: StoredResponse, signal: AbortSignal): Promise<void>;
  /** `null` where there is none, or where it belongs to another credential. */
  load(id: string, credential: string, signal: AbortSignal): Promise<StoredResponse | null>;
  remove(id: string, credential: string, signal: AbortSignal): Promise<boolean>;
  /** Records what a Response costs its caller. */
  charge(bill: Bill, signal: AbortSignal): Promise<void>;
}
