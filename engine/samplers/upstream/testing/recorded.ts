/** Recorded answers of upstreams, played in memory or by a real server on 127.0.0.1, with the faults that occur. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';

import { deferred } from '../../../clock.js';
import type { UpstreamHttp } from '../http.js';

export interface Recording {
  /** Default 200. */
  readonly status?: number;
  /** Default `content-type: text/event-stream`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly pieces: readonly (string | Uint8Array)[];
  /** How it ends: as it should, by a broken connection, or not at all. Default `close`. */
  readonly end?: 'close' | 'cut' | 'stay';
}

export interface SeenRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly raw: string;
  readonly body: Record<string, any>; // oxlint-disable-line typescript/no-explicit-any
  /** Resolves when the request is over, by whichever side. */
  readonly over: Promise<unknown>;
}

const eventStream = { 'content-type': 'text/event-stream' };

/** Events as a stream has them; a string stands for itself (`[DONE]`). */
export function sse(...events: readonly (object | string)[]): string {
  return events
    .map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
    .join('');
}

/** Events with their type in the `event` field, as Responses streams have them. */
export function typedSse(
  ...events: readonly (Readonly<Record<string, unknown>> & { readonly type: string })[]
): string {
  return events
    .map((event, number) => {
      const numbered = { ...event, sequence_number: number };
      return `event: ${event.type}\ndata: ${JSON.stringify(numbered)}\n\n`;
    })
    .join('');
}

export const recording = (text: string, more: Partial<Recording> = {}): Recording => ({
  pieces: [text],
  ...more,
});

/** The recording for the nth request: the last one is played for all that follow. */
function nth(recordings: readonly Recording[], index: number): Recording {
  const chosen = recordings[Math.min(index, recordings.length - 1)];
  if (chosen === undefined) throw new Error('nothing is recorded');
  return chosen;
}

export interface RecordedHttp extends UpstreamHttp {
  readonly requests: SeenRequest[];
}

/** Plays without sockets, so that all waiting is the clock's. */
export function recordedHttp(...recordings: readonly Recording[]): RecordedHttp {
  const requests: SeenRequest[] = [];
  return {
    requests,
    async post(body, signal) {
      await Promise.resolve();
      signal.throwIfAborted();
      const raw = Buffer.concat(body).toString('utf8');
      const over = deferred<void>();
      requests.push({ path: '', headers: {}, raw, body: JSON.parse(raw), over: over.promise });
      const { status = 200, headers = eventStream, pieces, end } = nth(recordings, requests.length - 1);
      const play = async function* () {
        try {
          for (const piece of pieces) {
            signal.throwIfAborted();
            yield Buffer.from(piece);
          }
          if (end === 'cut') throw new Error('other side closed');
          if (end === 'stay')
            await new Promise((_, reject) => {
              signal.addEventListener('abort', () => reject(signal.reason), { once: true });
            });
        } finally {
          over.resolve();
        }
      };
      return { status, header: (name) => headers[name as keyof typeof headers] ?? null, body: play() };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('utf8');
}

function answerWith(
  answer: ServerResponse,
  { status = 200, headers = eventStream, pieces, end }: Recording,
): void {
  answer.writeHead(status, headers);
  answer.flushHeaders();
  for (const piece of pieces) answer.write(piece);
  if (end === 'cut') {
    // After what was written has left.
    answer.write('', () => answer.socket?.destroy());
  } else if (end !== 'stay') answer.end();
}

/** A server that plays one recording after another; `connections` counts sockets so far. */
export async function playing(t: TestContext, ...recordings: readonly Recording[]) {
  const requests: SeenRequest[] = [];
  const seen = { connections: 0 };
  const server = createServer((request, answer) => {
    void textOf(request).then((raw) => {
      const over = once(answer, 'close');
      requests.push({ path: request.url ?? '', headers: request.headers, raw, body: JSON.parse(raw), over });
      answerWith(answer, nth(recordings, requests.length - 1));
    });
  });
  server.on('connection', () => seen.connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return { url: `http://127.0.0.1:${address.port}/v1`, requests, seen };
}
