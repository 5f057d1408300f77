/**
 * What goes wrong at an upstream, as something a client may be told (P67).
 *
 *   F1  No text of a fault holds an address, a key, a path of a machine or a stack trace. Only what an upstream says
 *       about the request itself is passed on, scrubbed and short.
 *   F2  A fault says whether the same request may succeed later; whether it is tried again is not decided here.
 */
import { ProtocolError, type ErrorCode } from '../../protocol/errors.js';
import { isRecord } from '../../protocol/parse.js';
import { listAt, objectAt, parsedJson, textAt, type JsonObject } from './json.js';

export interface Retry {
  readonly retry: boolean;
  /** How long the upstream asks to wait, in ms. */
  readonly waitMs?: number | null;
  /** What the process knows of it; never told. */
  readonly cause?: unknown;
}

export class UpstreamFault extends ProtocolError {
  readonly retry: boolean;
  readonly waitMs: number | null;

  constructor(code: ErrorCode, message: string, { retry, waitMs = null, cause }: Retry = { retry: false }) {
    const seconds = waitMs === null ? null : Math.ceil(waitMs / 1000);
    super(code, message, {
      cause,
      ...(code === 'rate_limit_exceeded' && seconds !== null ? { retryAfterSeconds: seconds } : {}),
    });
    this.retry = retry;
    this.waitMs = waitMs;
  }
}

/** The connection broke, or was never made: nothing was said, so it may be tried again. */
export function unreachable(sentence: string, cause?: unknown): UpstreamFault {
  return new UpstreamFault('server_error', sentence, { retry: true, cause });
}

/** What came is not what this API says. */
export function unreadable(sentence: string): UpstreamFault {
  return new UpstreamFault('server_error', sentence);
}

const textUnitsMax = 300;
/** Of a longer text only the beginning is looked at. */
const readUnitsMax = 2_000;

/** What an upstream says, without what only its operators should read (F1). */
export function scrubbed(text: string): string {
  const line = text.slice(0, readUnitsMax).split(/[\r\n]|\s+at \S+ \(|Traceback/, 1)[0] ?? '';
  const plain = line
    .replaceAll(/\b(?:[a-z][a-z0-9+.-]*:\/\/|www\.)\S+/gi, '…')
    .replaceAll(/\bbearer\s+\S+/gi, '…')
    .replaceAll(/\b(?:sk|pk|rk|key|gsk|xai|hf|nvapi)[-_][\w*.-]{4,}/gi, '…')
    .replaceAll(/\b[\w+/=-]{40,}/g, '…')
    .replaceAll(
      /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\blocalhost(?::\d+)?\b|\[[\da-f:]{3,}\](?::\d+)?/gi,
      '…',
    )
    .replaceAll(/(?<![\w.])(?:[a-z]:)?(?:[\\/][\w.@-]+){2,}/gi, '…')
    .trim();
  return plain.length > textUnitsMax ? `${plain.slice(0, textUnitsMax)}…` : plain;
}

/** The error object in any of the shapes that servers give it, with its words. */
function wordsOf(raw: unknown): { readonly text: string; readonly code: string; readonly type: string } {
  const whole = isRecord(raw) ? raw : null;
  const error = objectAt(whole, 'error') ?? whole;
  const detail = listAt(error, 'detail')[0];
  const text =
    textAt(error, 'message') ||
    textAt(error, 'error') ||
    textAt(error, 'detail') ||
    textAt(isRecord(detail) ? detail : null, 'msg');
  const code = error?.['code'];
  return {
    text,
    code: typeof code === 'number' ? String(code) : textAt(error, 'code'),
    type: textAt(error, 'type'),
  };
}

const tooLong =
  /context[ _](?:length|window|size)|maximum (?:context|model|input) length|prompt is too long|too many (?:input )?tokens|max_model_len/i;
const refusedWords = /content[_ ](?:filter|policy)|moderation|safety|cyber_policy|invalid_prompt/i;
const overloaded = /rate.?limit|too.?many.?requests|overloaded|quota|throttl/i;

/** The status that an error inside a stream stands for: its own code where that is one, else what its words say. */
function statusOf({ code, type }: { readonly code: string; readonly type: string }): number {
  if (/^[45]\d\d$/.test(code)) return Number(code);
  if (overloaded.test(`${code} ${type}`)) return 429;
  return /invalid|bad.?request|not.?found|unsupported|exceed/i.test(`${code} ${type}`) ? 400 : 500;
}

/** A refusal or failure that came with a status, or stood in a stream (then without one). */
export function faultOf(
  raw: unknown,
  status?: number,
  waitMs: number | null = null,
  retryable = true,
): UpstreamFault {
  const words = wordsOf(raw);
  const { text, code, type } = words;
  const answered = status ?? statusOf(words);
  const said = `${code} ${type} ${text}`;
  if (tooLong.test(said) && answered < 500)
    return new UpstreamFault(
      'context_length_exceeded',
      'The conversation is longer than the model can read.',
    );
  if (answered === 429) {
    const spent = /insufficient_quota|billing/i.test(said);
    const sentence = spent
      ? 'The quota for this model is used up.'
      : 'The server of the model is over its rate limit.';
    return new UpstreamFault('rate_limit_exceeded', sentence, { retry: retryable && !spent, waitMs });
  }
  if (answered === 401 || answered === 403)
    return new UpstreamFault(
      'server_error',
      'The server of the model refused the credentials of this server.',
    );
  if (answered === 404)
    return /model/i.test(said)
      ? new UpstreamFault('model_not_found', 'The server behind this one has no such model.')
      : new UpstreamFault('server_error', 'The server of the model has no such endpoint.');
  if (answered === 408 || answered >= 500)
    return new UpstreamFault('server_error', `The server of the model failed (status ${answered}).`, {
      retry: retryable,
      waitMs,
    });
  if (answered < 400)
    return new UpstreamFault('server_error', `The server of the model answered with status ${answered}.`);
  if (refusedWords.test(`${code} ${type}`))
    return new UpstreamFault('invalid_prompt', 'The server of the model refused the prompt.');
  const reason = scrubbed(text);
  return new UpstreamFault(
    'invalid_value',
    `The server of the model refused the request${reason === '' ? '.' : `: ${reason}`}`,
  );
}

/** The wait that an answer asks for, in ms: `retry-after-ms`, else `retry-after` as seconds or as a date. */
export function waitAskedMs(header: (name: string) => string | null, unixSeconds: number): number | null {
  const ms = Number(header('retry-after-ms') ?? Number.NaN);
  if (ms >= 0 && ms < Infinity) return ms;
  const after = header('retry-after');
  if (after === null || after.trim() === '') return null;
  const seconds = Number(after);
  if (seconds >= 0 && seconds < Infinity) return seconds * 1000;
  const date = Date.parse(after);
  return Number.isNaN(date) ? null : Math.max(0, date - unixSeconds * 1000);
}

/** The fault of an answer that is no stream of events. */
export function faultOfAnswer(
  status: number,
  header: (name: string) => string | null,
  text: string,
  unixSeconds: number,
): UpstreamFault {
  const raw: unknown = parsedJson(text);
  const said: JsonObject = isRecord(raw) ? raw : { message: '' };
  const retryable = header('x-should-retry') !== 'false';
  // An error under status 200 has its status in its words.
  return faultOf(said, status === 200 ? undefined : status, waitAskedMs(header, unixSeconds), retryable);
}
