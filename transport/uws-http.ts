/**
 * HTTP on uWebSockets.js. Like `uws.ts` it copies what it needs before a callback returns, and writes in corks.
 *
 * 1. A response is not touched after its aborted callback, nor after its end.
 * 2. The library tells nothing of what it buffers for a response, only that a write met a full buffer. So from such a
 *    write on texts wait here, where they can be counted, until the response is writable again. The library holds no
 *    more than that write, one cork and one probe.
 * 3. The library completes the headers with the first chunk. An event stream gets a comment as its first, so that its
 *    headers leave at once; for another type they leave with the first text.
 *
 * Bounds of the library that no option changes: an upload slower than 16 KB/s is cut, and so is a client that takes
 * nothing from a full buffer for 10 s, and a connection on which a second request arrives before its first is answered.
 */
import { STATUS_CODES } from 'node:http';
import { addHeader } from './adapter.js';
import type { Bounds } from './adapter.js';
import { OpenExchange } from './open-exchange.js';
import type { Asked, Reply } from './open-exchange.js';
import type { Answer, Application } from './socket.js';
import type { HttpRequest, HttpResponse } from './uws.js';

/** What the library holds together in one cork; what follows in the same cork would cost four system calls a chunk. */
const corkBytesMax = 16_384;

/** The framing of a chunk in the cork, at most. */
const framingBytesMax = 16;

/**
 * The largest write that finds out whether the library's buffer has drained. It is less than what any kernel takes at
 * once, so that the buffer shrinks from probe to probe.
 */
const probeBytesMax = 4_096;

const comment = ':\n\n';

export function copyRequest(request: HttpRequest): Asked {
  const headers = new Map<string, string>();
  request.forEach((name, value) => addHeader(headers, name, value));
  return {
    method: request.getCaseSensitiveMethod(),
    path: request.getUrl(),
    query: new URLSearchParams(request.getQuery()),
    headers,
  };
}

/** Takes over one request, inside the library's callback. */
export function serveExchange(
  application: Application,
  bounds: Bounds,
  response: HttpResponse,
  request: HttpRequest,
): void {
  const asked = copyRequest(request);
  const reply = new UwsReply(response, asked.method);
  const exchange = new OpenExchange(application, asked, reply, bounds);
  if (!exchange.admit()) return;
  response.onAborted(() => exchange.lost());
  response.onData((chunk, isLast) => {
    if (chunk.byteLength > 0) exchange.received(Buffer.from(new Uint8Array(chunk)));
    if (isLast) exchange.receivedAll();
  });
  reply.onDrained = () => exchange.measure();
}

/** An answer that is known whole; the caller corks. */
export function writeAnswer(
  response: HttpResponse,
  answer: Answer,
  method: string,
  closeConnection: boolean,
): void {
  response.writeStatus(`${answer.status} ${STATUS_CODES[answer.status] ?? ''}`);
  response.writeHeader('content-type', answer.contentType);
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.writeHeader(name, value);
  if (method === 'HEAD') {
    // The library drops the connection behind an answer without a body; its client has to know.
    response.writeHeader('connection', 'close');
    response.endWithoutBody(Buffer.byteLength(answer.body), true);
  } else response.end(answer.body, closeConnection);
}

class UwsReply implements Reply {
  onDrained: () => void = () => {};
  readonly #response: HttpResponse;
  readonly #method: string;
  /** Texts that the library has not been given. */
  #waiting: (string | Uint8Array)[] = [];
  #waitingBytes = 0;
  /** Bytes of the write that met a full buffer; null while none has since the response was last writable. */
  #heldBytes: number | null = null;

  constructor(response: HttpResponse, method: string) {
    this.#response = response;
    this.#method = method;
  }

  answer(answer: Answer): void {
    this.#response.cork(() => writeAnswer(this.#response, answer, this.#method, false));
  }

  open(headers: Readonly<Record<string, string>>): void {
    const response = this.#response;
    const hasComment = this.#method !== 'HEAD' && headers['content-type']?.startsWith('text/event-stream');
    response.onWritable(() => this.#writable());
    response.cork(() => {
      response.writeStatus('200 OK');
      for (const [name, value] of Object.entries(headers)) response.writeHeader(name, value);
      if (hasComment) response.write(comment);
    });
  }

  write(texts: readonly string[]): void {
    const given = this.#give(texts);
    for (const text of texts.slice(given)) {
      this.#waiting.push(text);
      this.#waitingBytes += Buffer.byteLength(text);
    }
  }

  bufferedBytes(): number {
    return this.#waitingBytes + (this.#heldBytes ?? 0);
  }

  end(): void {
    const response = this.#response;
    response.cork(() => {
      // From here on the library drains its buffer by itself.
      for (const text of this.#waiting) response.write(text);
      if (this.#method === 'HEAD') response.endWithoutBody();
      else response.end();
    });
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  cut(): void {
    this.#response.close();
  }

  /** Gives texts to the library until one meets a full buffer, a cork at a time. Returns how many. */
  #give(texts: readonly (string | Uint8Array)[]): number {
    let given = 0;
    while (given < texts.length && this.#heldBytes === null) {
      this.#response.cork(() => {
        let corkedBytes = 0;
        for (let text = texts[given]; text !== undefined; text = texts[given]) {
          const bytes = Buffer.byteLength(text);
          const fits = corkedBytes + bytes + framingBytesMax <= corkBytesMax;
          // A text that fits in no cork goes alone.
          if (!fits && corkedBytes > 0) return;
          corkedBytes += bytes + framingBytesMax;
          given += 1;
          if (this.#response.write(text)) continue;
          this.#heldBytes = bytes;
          return;
        }
      });
    }
    return given;
  }

  /** The kernel takes bytes again. Whether it took all that the library held only the next write tells. */
  #writable(): boolean {
    this.#heldBytes = null;
    // With a writable callback the library drains only when something is written, or a cork ends.
    this.#response.cork(() => {});
    this.#splitProbe();
    const given = this.#give(this.#waiting);
    for (const text of this.#waiting.splice(0, given)) this.#waitingBytes -= Buffer.byteLength(text);
    this.onDrained();
    return true;
  }

  /** The first write may find the buffer still full, and would grow it by its length. */
  #splitProbe(): void {
    const [first] = this.#waiting;
    if (first === undefined || Buffer.byteLength(first) <= probeBytesMax) return;
    const bytes = Buffer.from(first);
    this.#waiting.splice(0, 1, bytes.subarray(0, probeBytesMax), bytes.subarray(probeBytesMax));
  }
}
