/**
 * What the three adapters share: the copy of a request, the answers that are our own, and what becomes of a fault of
 * the application. The rules of what is open are in open-socket.ts, open-exchange.ts and open-stream.ts; an adapter
 * adds only how bytes are written, and when they arrive.
 */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Answer, Application, Exchange, Handshake, ListenOptions, StreamAnswer } from './socket.js';

/**
 * Largest header block of a request, in bytes. Node's own bound, given to uWebSockets.js too: its 4 KiB would refuse a
 * long bearer token that arrives in two segments.
 */
export const headerBytesMax = 16_384;

/**
 * Pings are at most this far apart, whatever is asked: the native idle timer counts no more than 16 minutes, and a
 * socket must be able to stay silent for two pings.
 */
export const pingMsMax = 480_000;

/**
 * What a library may buffer of one frame, in bytes. A frame up to twice the limit is read to its end, so that the
 * client learns the limit from our close reason; a longer one is cut by the library, without a reason.
 */
export function payloadBytesMax(frameBytesMax: number): number {
  return Math.min(2 * frameBytesMax, 2 ** 31 - 1);
}

/** What an open socket or exchange may cost. */
export type Bounds = Pick<ListenOptions, 'frameBytesMax' | 'sendBufferBytesMax'>;

/** Calls back every `ms` until it is disposed. */
export type Every = (ms: number, tick: () => void) => Disposable;

/** Real time. The timer does not keep the process alive. */
export const everyMs: Every = (ms, tick) => {
  const timer = setInterval(tick, ms).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
};

/** Splits a request target as it stands: no path is normalised, so that both servers see the same one. */
export function splitTarget(target: string): { readonly path: string; readonly query: URLSearchParams } {
  const at = target.indexOf('?');
  if (at === -1) return { path: target, query: new URLSearchParams() };
  return { path: target.slice(0, at), query: new URLSearchParams(target.slice(at + 1)) };
}

/** Adds one header line; a repeated name is joined with a comma, so that no second value hides behind the first. */
export function addHeader(headers: Map<string, string>, name: string, value: string): void {
  const key = name.toLowerCase();
  const earlier = headers.get(key);
  headers.set(key, earlier === undefined ? value : `${earlier}, ${value}`);
}

function errorAnswer(status: number, type: string, code: string, message: string): Answer {
  const body = JSON.stringify({ error: { type, code, message, param: null } });
  return { status, contentType: 'application/json', body };
}

const serverFault = errorAnswer(
  500,
  'server_error',
  'server_error',
  'The server failed to process the request.',
);

/** The answer to a body over the limit. */
export function bodyTooLarge(bytesMax: number): Answer {
  const message = `The body is longer than the limit of ${bytesMax} bytes.`;
  return errorAnswer(413, 'invalid_request_error', 'body_too_large', message);
}

/** All headers of an answer that grows. Those of the application win. */
export function streamHeaders(answer: StreamAnswer): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {
    'content-type': answer.contentType,
    'cache-control': 'no-cache',
    // Asks proxies to pass on each write as it comes.
    'x-accel-buffering': 'no',
  };
  for (const [name, value] of Object.entries(answer.headers ?? {})) headers[name.toLowerCase()] = value;
  return headers;
}

export function reportFault(application: Application, fault: unknown): void {
  if (application.failed !== undefined) application.failed(fault);
  else process.emitWarning(fault instanceof Error ? fault : String(fault));
}

/**
 * Throws where a header cannot be written: one server would throw as it writes it, the other would write it, and with
 * it whatever answer a line break smuggles in.
 */
function checkHeaders({ contentType, headers = {} }: Answer | StreamAnswer): void {
  for (const [name, value] of Object.entries({ 'content-type': contentType, ...headers })) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
}

/** The application's decision on an upgrade; a throw refuses it with 500. */
export function admissionOf(application: Application, handshake: Handshake): Answer | null {
  try {
    const refusal = application.admit(handshake);
    if (refusal !== null) checkHeaders(refusal);
    return refusal;
  } catch (fault) {
    reportFault(application, fault);
    return serverFault;
  }
}

/** The application's answer; never rejects, a throw is answered with 500. */
export async function answerOf(application: Application, exchange: Exchange): Promise<Answer | StreamAnswer> {
  try {
    const answer = await application.answer(exchange);
    checkHeaders(answer);
    return answer;
  } catch (fault) {
    reportFault(application, fault);
    return serverFault;
  }
}
