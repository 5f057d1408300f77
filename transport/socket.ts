/**
 * The ports between a session and whatever carries its bytes. uws.ts, node.ts and loopback.ts implement them; the
 * session, the dialects and the routes know nothing else.
 */

/** One open socket, as its session sees it. Calls after the close are ignored, never an exception. */
export interface Socket {
  /**
   * Sends text frames, in order, in one write (corked). True: more may follow. False: the buffer is over its bound;
   * nothing more may be sent before `drained` resolves.
   */
  send(frames: readonly string[]): boolean;
  /** Closes with a code and reason (at most 123 bytes of UTF-8); what was sent before still goes out. */
  close(code: number, reason: string): void;
  /** Set once by the session: called with each frame's text, or null for a binary frame. */
  onFrame: (text: string | null) => void;
  /** Resolves when the buffer is below its bound again, or the socket has closed. */
  drained(): Promise<void>;
}

/** What the upgrade request said, copied before anything is awaited. */
export interface Handshake {
  readonly path: string;
  readonly query: URLSearchParams;
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
}

/** An HTTP request, its body read whole: a longer one than `frameBytesMax` is answered with 413 by the adapter. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
  /** Empty where the request has none. */
  readonly body: Buffer;
  /** Aborts when the client has gone before its answer was complete. */
  readonly gone: AbortSignal;
}

/** An answer that is known whole. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer that grows: status 200 and the headers leave at once, the rest as it comes. */
export interface StreamAnswer {
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The headers are on their way. The returned function is called once, when the stream is over, whoever ended it. */
  readonly opened: (stream: Stream) => () => void;
}

/** The body of a `StreamAnswer`. Calls after its end are ignored, never an exception. */
export interface Stream {
  /**
   * Writes texts in order: each in one write of its own (one chunk), all of a call in one cork. True: more may follow.
   * False: the buffer is over its bound; nothing more may be sent before `drained` resolves.
   */
  send(texts: readonly string[]): boolean;
  /** Ends the answer; what was sent before still goes out. */
  end(): void;
  /** Breaks the connection, so that its client can tell this from an end. */
  cut(): void;
  /** Resolves when the buffer is below its bound again, or the stream is over. */
  drained(): Promise<void>;
}

/** What a server adapter calls. */
export interface Application {
  /** Decides on an upgrade, synchronously: an `Answer` refuses it, null lets it in. */
  admit(handshake: Handshake): Answer | null;
  /** A socket opened. The returned function is called once, when it has closed, with the peer's code. */
  opened(socket: Socket, handshake: Handshake): (code: number) => void;
  answer(exchange: Exchange): Answer | StreamAnswer | Promise<Answer | StreamAnswer>;
  /**
   * One of the callbacks above, or a socket's, threw or rejected. Its socket was closed with 1011, its request answered
   * with 500. Default: a process warning.
   */
  failed?(fault: unknown): void;
}

export interface ListenOptions {
  /** Default 127.0.0.1. */
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /**
   * Largest frame or request body, in bytes, that reaches the application; one byte more closes the socket with 1009,
   * or is answered with 413.
   */
  readonly frameBytesMax: number;
  /** Bytes that may wait in the send buffer of a socket or a stream before `send` answers false. */
  readonly sendBufferBytesMax: number;
  /** Milliseconds between pings; a socket that answers none for twice as long is closed. */
  readonly pingMs: number;
}

export interface Listening {
  readonly port: number;
  /** Which adapter serves: `uws` or `node`. */
  readonly transport: 'uws' | 'node';
  /** Stops accepting; open sockets stay until their sessions close them. */
  stopAccepting(): void;
  /** Drops every socket and frees the port. */
  close(): Promise<void>;
}

export type Listen = (application: Application, options: ListenOptions) => Promise<Listening>;
