/** Answers in JSON, and what a request's body says. */
import { ProtocolError } from '../engine/index.js';
import { parseObject } from './client-events.js';
import type { Answer, Exchange } from './socket.js';

export function json(status: number, value: object): Answer {
  return { status, contentType: 'application/json', body: JSON.stringify(value) };
}

export function text(status: number, body: string): Answer {
  return { status, contentType: 'text/plain; charset=utf-8', body };
}

/** A refusal: the error's status, its body, and the headers that the body names too (P63). */
export function refusal(error: ProtocolError, headers: Readonly<Record<string, string>> = {}): Answer {
  const body = error.toBody();
  return { ...json(error.status, { error: body }), headers: { ...headers, ...body.headers } };
}

export function notServed(path: string): ProtocolError {
  return new ProtocolError('not_found', `Nothing is served at ${path.slice(0, 128)}.`);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch {
    throw new ProtocolError('invalid_json', 'The body is not valid UTF-8.');
  }
}

/**
 * The JSON object in a request's body.
 * @throws ProtocolError in the words that a socket frame would get.
 */
export function bodyOf({ body, headers }: Exchange, depthMax: number): Readonly<Record<string, unknown>> {
  const encoding = headers.get('content-encoding')?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity')
    throw new ProtocolError(
      'unsupported_media_type',
      `The content-encoding "${encoding.slice(0, 64)}" is not read; send plain JSON.`,
    );
  return parseObject(decode(body), depthMax);
}
