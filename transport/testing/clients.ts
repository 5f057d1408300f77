/** What a test sees of a server, whatever carries the bytes. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Arrivals, Body, Closing } from '../loopback.js';

export interface TClient {
  readonly frames: Arrivals<string>;
  readonly closed: Promise<Closing>;
  send(text: string): void;
  sendBinary(): void;
  close(code?: number, reason?: string): void;
  drop(): void;
  pause(): void;
  resume(): void;
}

export interface TAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** Lower-case names. */
  readonly headers: IncomingHttpHeaders;
}

/** A streamed answer, as its client sees it. A plain answer is a stream of one chunk. */
export interface TStream {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: IncomingHttpHeaders;
  /** What arrived, as it arrived. */
  readonly chunks: Arrivals<string>;
  /** Resolves at a clean end; rejects where the connection broke before. */
  readonly ended: Promise<void>;
  drop(): void;
  pause(): void;
  resume(): void;
}

/** The arguments of a request. Aborting `dropped` breaks its connection at any time. */
export type TAsk = [
  method: string,
  target: string,
  headers?: Record<string, string>,
  body?: Body,
  dropped?: AbortSignal,
];

export interface TBounds {
  readonly frameBytesMax: number;
  readonly sendBufferBytesMax: number;
}

export interface TServer extends AsyncDisposable {
  /** Rejects where the upgrade is refused. */
  connect(target: string, headers?: Record<string, string>): Promise<TClient>;
  refused(target: string, headers?: Record<string, string>): Promise<TAnswer>;
  exchange(...ask: TAsk): Promise<TAnswer>;
  /** Resolves when the headers have arrived. */
  stream(...ask: TAsk): Promise<TStream>;
}
