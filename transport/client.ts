/**
 * The typed client: runs a rollout in any design, given a function for its tools, and reports what each turn took.
 *
 *   Q1  The same scenario sends and receives the same items in every design; only the frames around them differ.
 *   Q2  Frames are stamped as they arrive, before they are parsed.
 *   Q3  A socket that closes rejects every rollout on it; nothing waits for ever.
 */
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

import { WebSocket } from 'ws';

import { deferred, serverEventSchema, trustedServerEventSchema, type ServerEvent } from '../engine/index.js';
import { errorBodySchema } from '../engine/protocol/server-events.js';
import { RolloutError, type RolloutReport, type RunOptions } from './client-report.js';
import { ClientRun } from './client-run.js';

export interface ConnectOptions {
  /** `http://host:port` or `ws://host:port`; the path is `/v1/responses`. */
  readonly url: string;
  /** As in `?design=`. */
  readonly design: string;
  readonly key?: string;
  /** Checks every frame against the schema of its event: for tests, since a check costs more than the parse. */
  readonly checked?: boolean;
}

/** The sentence in a server's error body, or null where the body is something else. */
function messageIn(body: string): string | null {
  try {
    const parsed: unknown = JSON.parse(body);
    const error = typeof parsed === 'object' && parsed !== null && 'error' in parsed ? parsed.error : null;
    return errorBodySchema.safeParse(error).data?.message ?? null;
  } catch {
    return null;
  }
}

/** What the server says where it refuses an upgrade, in its own words where it has any. */
async function refusalOf(answer: IncomingMessage): Promise<RolloutError> {
  const message = messageIn(await text(answer));
  const status = `The server refused the socket with status ${answer.statusCode ?? 'unknown'}`;
  return new RolloutError('upgrade_refused', message === null ? `${status}.` : `${status}: ${message}`);
}

function socketUrl({ url, design }: ConnectOptions): URL {
  const parsed = new URL(url);
  parsed.protocol = parsed.protocol.replace('http', 'ws');
  if (parsed.pathname === '/') parsed.pathname = '/v1/responses';
  parsed.searchParams.set('design', design);
  return parsed;
}

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

export class Client implements AsyncDisposable {
  readonly #socket: WebSocket;
  readonly #closed = deferred<void>();
  readonly #design: string;
  readonly #schema: typeof serverEventSchema | typeof trustedServerEventSchema;
  /** Append: the runs by the id of their Response, for as long as it lives. */
  readonly #live = new Map<string, ClientRun>();
  /** The run that the next unaddressed event is for: creates go out one at a time, since no answer echoes them. */
  #current: ClientRun | null = null;
  readonly #waiting: ClientRun[] = [];
  /** Every event, for those who want more than a report. */
  onEvent: (event: ServerEvent) => void = () => undefined;

  private constructor(socket: WebSocket, options: ConnectOptions) {
    this.#socket = socket;
    this.#design = options.design;
    this.#schema = options.checked === true ? serverEventSchema : trustedServerEventSchema;
    socket.on('message', (raw: Buffer) => this.#onFrame(raw));
    socket.on('error', () => undefined); // A close event follows, and rejects the runs.
    socket.on('close', (code, reason) => this.#onClose(code, reason.toString()));
  }

  /** @throws Error where the server refuses the upgrade or cannot be reached. */
  static async connect(options: ConnectOptions): Promise<Client> {
    const headers = options.key === undefined ? {} : { authorization: `Bearer ${options.key}` };
    const socket = new WebSocket(socketUrl(options), { headers, perMessageDeflate: false });
    const opened = deferred<void>();
    socket.once('open', opened.resolve);
    socket.once('error', opened.reject);
    socket.once('unexpected-response', (_, answer) => {
      refusalOf(answer).then(opened.reject, opened.reject);
    });
    await opened.promise;
    socket.off('error', opened.reject);
    return new Client(socket, options);
  }

  get open(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** Resolves when the socket has closed, by whichever side. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Sends a client event of any kind. Returns its bytes. */
  send(event: object): number {
    const frame = JSON.stringify(event);
    this.#socket.send(frame);
    return Buffer.byteLength(frame);
  }

  /**
   * Runs a rollout to its end. In the append design several may run at once; in the others they take turns.
   * @throws RolloutError where the server refuses something or the socket closes.
   */
  run(options: RunOptions): Promise<RolloutReport> {
    if (!this.open) return Promise.reject(new RolloutError('socket_closed', 'The socket is closed.'));
    const run = new ClientRun(this.#design, options, (event) => this.send(event));
    this.#waiting.push(run);
    this.#startNext();
    return run.report;
  }

  /** Closes the socket; runs that are under way reject. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close(1000);
    await this.#closed.promise;
  }

  #startNext(): void {
    if (this.#current !== null) return;
    this.#current = this.#waiting.shift() ?? null;
    this.#current?.start();
  }

  #onFrame(raw: Buffer): void {
    const at = performance.now();
    const event = this.#read(raw);
    if (event === null) return;
    this.onEvent(event);
    const run = this.#runOf(event);
    if (run?.onEvent(event, at, raw.length) === true) this.#forget(run);
  }

  /** The frame's event; a frame that holds none ends the socket, and with it every run (Q3). */
  #read(raw: Buffer): ServerEvent | null {
    try {
      return this.#schema.parse(JSON.parse(raw.toString()));
    } catch (fault) {
      this.#failAll(new RolloutError('invalid_event', `The server sent no event: ${String(fault)}`));
      this.#socket.close(1002, 'not an event of the protocol');
      return null;
    }
  }

  #runOf(event: ServerEvent): ClientRun | null {
    const id = responseIdOf(event);
    const known = id === null ? undefined : this.#live.get(id);
    if (known !== undefined || this.#design !== 'append') return known ?? this.#current;
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
