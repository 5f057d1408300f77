/**
 * The client's socket. Answers of the append design name their Response, so that many runs share it; those of the
 * others do not, so there runs take turns.
 */
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

import { WebSocket } from 'ws';

import { deferred, type ServerEvent } from '../engine/index.js';
import { eventOf, refusalOf, type ClientConnection, type ConnectionParts } from './client-connection.js';
import { RolloutError } from './client-report.js';
import type { ClientRun, Requests } from './client-run.js';

/** How long an upgrade may take. */
const handshakeMsMax = 30_000;

function responseIdOf(event: ServerEvent): string | null {
  switch (event.type) {
    case 'response.created':
    case 'response.in_progress':
    case 'response.completed':
    case 'response.failed':
    case 'response.incomplete':
    case 'response.attached':
      return event.response.id;
    default: {
      const id = 'response_id' in event ? event['response_id'] : null;
      return typeof id === 'string' ? id : null;
    }
  }
}

async function refused(answer: IncomingMessage): Promise<RolloutError> {
  return refusalOf('upgrade_refused', 'socket', answer.statusCode ?? 0, await text(answer));
}

/** @throws RolloutError where the server refuses the upgrade, Error where it cannot be reached. */
export async function openSocket(parts: ConnectionParts): Promise<ClientConnection> {
  const url = new URL(parts.url);
  url.protocol = url.protocol.replace('http', 'ws');
  const socket = new WebSocket(url, {
    ...parts.tls,
    headers: parts.headers,
    perMessageDeflate: false,
    handshakeTimeout: handshakeMsMax,
  });
  const opened = deferred<void>();
  socket.once('open', opened.resolve);
  socket.once('error', opened.reject);
  socket.once('unexpected-response', (_, answer) => {
    refused(answer).then(opened.reject, opened.reject);
  });
  await opened.promise;
  socket.off('error', opened.reject);
  return new SocketConnection(socket, parts);
}

class SocketConnection implements ClientConnection {
  readonly #socket: WebSocket;
  readonly #parts: ConnectionParts;
  readonly #closed = deferred<void>();
  readonly #requests: Requests;
  /** Append: the runs by the id of their Response, for as long as it lives. */
  readonly #live = new Map<string, ClientRun>();
  /** The run that the next unaddressed event is for: creates go out one at a time, since no answer echoes them. */
  #current: ClientRun | null = null;
  readonly #waiting: ClientRun[] = [];

  constructor(socket: WebSocket, parts: ConnectionParts) {
    this.#socket = socket;
    this.#parts = parts;
    this.#requests = {
      create: (fields) => ({ bytes: this.send({ type: 'response.create', ...fields }), over: null }),
      append: (response_id, input) => this.send({ type: 'response.append', response_id, input }),
      cut: (error) => this.#break(error),
    };
    socket.on('message', (raw: Buffer) => this.#onFrame(raw));
    socket.on('error', () => undefined); // A close event follows, and rejects the runs.
    socket.on('close', (code, reason) => this.#onClose(code, reason.toString()));
  }

  get open(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  run(run: ClientRun): void {
    if (!this.open) {
      run.fail(new RolloutError('socket_closed', 'The socket is closed.'));
      return;
    }
    run.report.catch(() => this.#forget(run)); // One that failed by itself must not hold up those that wait.
    this.#waiting.push(run);
    this.#startNext();
  }

  send(event: object): number {
    const frame = JSON.stringify(event);
    this.#socket.send(frame);
    return Buffer.byteLength(frame);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close(1000);
    await this.#closed.promise;
  }

  #startNext(): void {
    if (this.#current !== null) return;
    this.#current = this.#waiting.shift() ?? null;
    this.#current?.start(this.#requests);
  }

  #onFrame(raw: Buffer): void {
    const at = performance.now();
    const event = this.#read(raw);
    if (event === null) return;
    this.#parts.onEvent(event);
    const run = this.#runOf(event);
    if (run === null) return;
    run.turn.bytesDown += raw.length;
    if (run.onEvent(event, at)) this.#forget(run);
  }

  /** The frame's event; a frame that holds none ends the socket, and with it every run (Q3). */
  #read(raw: Buffer): ServerEvent | null {
    try {
      return eventOf(this.#parts, raw.toString());
    } catch (fault) {
      if (!(fault instanceof RolloutError)) throw fault;
      this.#failAll(fault);
      this.#socket.close(1002, 'not an event of the protocol');
      return null;
    }
  }

  #runOf(event: ServerEvent): ClientRun | null {
    const id = responseIdOf(event);
    const known = id === null ? undefined : this.#live.get(id);
    if (known !== undefined || this.#parts.dialect !== 'append') return known ?? this.#current;
    const created = this.#current;
    if (event.type !== 'response.created' || created === null) return id === null ? created : null;
    this.#live.set(event.response.id, created);
    this.#current = null;
    this.#startNext();
    return created;
  }

  #forget(run: ClientRun): void {
    for (const [id, other] of this.#live) if (other === run) this.#live.delete(id);
    if (this.#current === run) this.#current = null;
    this.#startNext();
  }

  #onClose(code: number, reason: string): void {
    this.#failAll(
      new RolloutError('socket_closed', `The socket closed with ${code}${reason && `: ${reason}`}.`),
    );
    this.#closed.resolve();
  }

  #break(error: RolloutError): void {
    this.#failAll(error);
    this.#socket.terminate();
  }

  #failAll(error: RolloutError): void {
    const runs = [
      ...this.#live.values(),
      ...this.#waiting,
      ...(this.#current === null ? [] : [this.#current]),
    ];
    this.#live.clear();
    this.#waiting.length = 0;
    this.#current = null;
    for (const run of runs) run.fail(error);
  }
}
