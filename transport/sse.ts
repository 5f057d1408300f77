/** A Response as Server-Sent Events: what is shown on a socket, with the name of each event beside it, and an end mark. */
import type { ProtocolError } from '../engine/index.js';
import { errorEvent, eventText, type ErrorFrameParts } from './frames.js';
import type { Host } from './host.js';
import { Feed, Outbox } from './outbox.js';
import type { Stream, StreamAnswer } from './socket.js';
import type { View } from './view.js';

/** Line ends to some readers of lines, although not to JSON and not to the stream's framing. */
const lineEnds = /[\u0085\u2028\u2029]/g;

function escaped(lineEnd: string): string {
  return `\\u${lineEnd.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** An event in the stream's own framing: one line of data, whatever line breaks its text has. */
export function sseText(type: string, json: string): string {
  return `event: ${type}\ndata: ${json.replace(lineEnds, escaped)}\n\n`;
}

export const sseEnd = 'data: [DONE]\n\n';

/** The streams of one server that have not ended. */
export type Streams = Set<SseStream>;

export interface SseOptions {
  readonly host: Host;
  readonly streams: Streams;
  /** Aborts when the client has gone. */
  readonly gone: AbortSignal;
  readonly view: View;
  /** The view was shown to its end. */
  readonly onEnd: () => void;
  /** The stream ended before that, whoever ended it. */
  readonly onLeft: () => void;
}

/** One stream: it follows a view to its end, then says so and closes. */
export class SseStream {
  readonly #options: SseOptions;
  #outbox: Outbox | null = null;
  #feed: Feed | null = null;
  #stream: Stream | null = null;
  /** What its client is told in place of the view. */
  #refusal: string | null = null;
  #over = false;

  constructor(options: SseOptions) {
    this.#options = options;
  }

  /** The answer to give. From now on the stream is also left where its client goes before it is opened. */
  begin(): StreamAnswer {
    const { gone, streams } = this.#options;
    streams.add(this);
    if (gone.aborted) this.#leave();
    else gone.addEventListener('abort', () => this.#leave(), { once: true });
    return { contentType: 'text/event-stream; charset=utf-8', opened: (stream) => this.#open(stream) };
  }

  /** The stream has no future: its client is told why, and it ends without the end of the Response. */
  refuse(error: ProtocolError, parts: ErrorFrameParts): void {
    const event = errorEvent(error, parts);
    this.#refusal = sseText(event.type, eventText(event));
    if (this.#outbox === null) return;
    if (this.#feed !== null) this.#outbox.unfollow(this.#feed);
    this.#outbox.send(event.type, eventText(event));
    this.close();
  }

  /** Sends what there is, then ends. */
  close(): void {
    this.#outbox?.flush();
    this.#end();
  }

  #open(stream: Stream): () => void {
    this.#stream = stream;
    if (this.#refusal === null) this.#follow(stream);
    else {
      stream.send([this.#refusal]);
      this.#end();
    }
    return () => this.#leave();
  }

  #follow(stream: Stream): void {
    const { host, view } = this.#options;
    const { clock, limits } = host.engine;
    const outbox = new Outbox({
      socket: stream,
      wrap: sseText,
      clock,
      limits,
      // A stream has no close code: its client sees the connection break.
      close: () => {
        stream.cut();
        outbox.end();
      },
      sent: (texts, characters) => host.traffic.sent(texts, characters),
    });
    this.#outbox = outbox;
    this.#feed = new Feed(view, () => this.#shown(stream));
    outbox.follow(this.#feed);
  }

  #shown(stream: Stream): void {
    const { streams, onEnd } = this.#options;
    this.#over = true;
    streams.delete(this);
    onEnd();
    stream.send([sseEnd]);
    this.#end();
  }

  #end(): void {
    this.#stream?.end();
    this.#outbox?.end();
  }

  #leave(): void {
    if (this.#over) return;
    this.#over = true;
    this.#options.streams.delete(this);
    this.#outbox?.end();
    this.#options.onLeft();
  }
}
