/** An application that answers over HTTP and records what it saw, for tests of bodies and streams. */
import { Arrivals } from '../loopback.js';
import type { Answer, Application, Exchange, Socket, Stream, StreamAnswer } from '../socket.js';

/** One stream as the application saw it. */
export class StreamOpening {
  readonly stream: Stream;
  /** One entry for each call of the closed callback: one, if all is well. */
  readonly closings = new Arrivals<string>();

  constructor(stream: Stream) {
    this.stream = stream;
  }
}

/** Answers every request with an event stream; a test replaces what it is about. */
export class THttpApplication implements Application {
  /** Those that reached the application. */
  readonly exchanges = new Arrivals<Exchange>();
  readonly openings = new Arrivals<StreamOpening>();
  readonly faults: unknown[] = [];
  reply = (_exchange: Exchange): Answer | StreamAnswer | Promise<Answer | StreamAnswer> => this.streamed();
  begin = (_opening: StreamOpening): void | Promise<void> => {};

  /** An event stream that is recorded. */
  streamed(headers: Readonly<Record<string, string>> = {}): StreamAnswer {
    return {
      contentType: 'text/event-stream',
      headers,
      opened: (stream) => {
        const opening = new StreamOpening(stream);
        void this.begin(opening);
        this.openings.add(opening);
        return () => opening.closings.add('closed');
      },
    };
  }

  answer(exchange: Exchange): Answer | StreamAnswer | Promise<Answer | StreamAnswer> {
    this.exchanges.add(exchange);
    return this.reply(exchange);
  }

  admit(): null {
    return null;
  }

  /** Its sockets say what they are told. */
  opened(socket: Socket): () => void {
    socket.onFrame = (text) => socket.send([text ?? '']);
    return () => {};
  }

  failed(fault: unknown): void {
    this.faults.push(fault);
  }
}

export function plain(body: string): Answer {
  return { status: 200, contentType: 'text/plain', body };
}

/** Resolves when the client of an exchange has gone. */
export function untilGone({ gone }: Exchange): Promise<void> {
  return new Promise((resolve) => {
    if (gone.aborted) resolve();
    gone.addEventListener('abort', () => resolve(), { once: true });
  });
}
