/**
 * The typed client: runs a rollout in any design, over a socket or over HTTP, given a function for its tools, and
 * reports what each turn took.
 *
 *   Q1  The same scenario sends and receives the same items in every design; only the frames around them differ.
 *   Q2  What comes is stamped as it arrives, before it is parsed.
 *   Q3  A connection that ends rejects every rollout on it, and so does a server that says nothing for too long while
 *       it owes something; nothing waits for ever.
 */
import {
  serverEventSchema,
  systemClock,
  trustedServerEventSchema,
  type Clock,
  type ServerEvent,
} from '../engine/index.js';
import type { ClientConnection, ConnectionParts } from './client-connection.js';
import { openHttp } from './client-http.js';
import type { RolloutReport, RunOptions } from './client-report.js';
import { ClientRun, type RunParts } from './client-run.js';
import { openSocket } from './client-socket.js';
import { builtinDesigns, type ClientDialect, type Transport } from './designs.js';

export interface ConnectOptions {
  /** `http://host:port` or `ws://host:port`; the path is `/v1/responses`. */
  readonly url: string;
  /** As in `?design=`. */
  readonly design: string;
  /** Default `ws`. */
  readonly transport?: Transport;
  /**
   * What is sent for a next turn. Default: that of the built-in design of that name; for a name that is none `replay`,
   * which every per-turn design takes. A `Design` has it as `client`.
   */
  readonly client?: ClientDialect;
  readonly key?: string;
  /**
   * Certificates to trust beside `https` or `wss`, in PEM, in place of the system's. Default: those that Node trusts,
   * which the environment variable `NODE_EXTRA_CA_CERTS` adds to when a process starts.
   */
  readonly ca?: string;
  /** Checks every event against its schema: for tests, since a check costs more than the parse. */
  readonly checked?: boolean;
  /** Silence of a server that owes something, in ms, after which a rollout is rejected (`timeout`). Default 300,000. */
  readonly silenceMsMax?: number;
  /** What the silence is measured with. Default: real time. */
  readonly clock?: Clock;
}

function urlOf({ url, design }: ConnectOptions): URL {
  const parsed = new URL(url);
  parsed.protocol = parsed.protocol.replace('ws', 'http');
  if (parsed.pathname === '/') parsed.pathname = '/v1/responses';
  parsed.searchParams.set('design', design);
  return parsed;
}

function partsOf({ design, transport = 'ws', ...options }: ConnectOptions): RunParts {
  const known = builtinDesigns.find(({ name }) => name === design);
  return {
    design,
    transport,
    dialect: options.client ?? known?.client ?? 'replay',
    clock: options.clock ?? systemClock,
    silenceMsMax: options.silenceMsMax ?? 300_000,
  };
}

export class Client implements AsyncDisposable {
  readonly #connection: ClientConnection;
  readonly #parts: RunParts;
  /** Every event, for those who want more than a report. */
  onEvent: (event: ServerEvent) => void = () => undefined;

  private constructor(connect: { parts: RunParts; connection: ClientConnection }) {
    this.#parts = connect.parts;
    this.#connection = connect.connection;
  }

  /**
   * Opens the socket; over HTTP a first connection, asking for the server's models.
   * @throws RolloutError where the server refuses the key or the design, Error where it cannot be reached.
   */
  static async connect(options: ConnectOptions): Promise<Client> {
    const parts = partsOf(options);
    const told: { client: Client | null } = { client: null };
    const connectionParts: ConnectionParts = {
      url: urlOf(options),
      headers: options.key === undefined ? {} : { authorization: `Bearer ${options.key}` },
      tls: options.ca === undefined ? {} : { ca: options.ca },
      dialect: parts.dialect,
      schema: options.checked === true ? serverEventSchema : trustedServerEventSchema,
      onEvent: (event) => told.client?.onEvent(event),
    };
    const connection = await (parts.transport === 'ws'
      ? openSocket(connectionParts)
      : openHttp(connectionParts));
    return (told.client = new Client({ parts, connection }));
  }

  get open(): boolean {
    return this.#connection.open;
  }

  /** Resolves when the connection has closed, by whichever side; over HTTP only this client closes it. */
  get closed(): Promise<void> {
    return this.#connection.closed;
  }

  /**
   * Sends a client event of any kind. Returns its bytes.
   * @throws Error over HTTP, where no events are sent.
   */
  send(event: object): number {
    return this.#connection.send(event);
  }

  /**
   * Runs a rollout to its end. Several may run at once; on a socket they take turns, but in the append design.
   * @throws RolloutError where the server refuses something, says nothing for too long, or the connection ends.
   */
  run(options: RunOptions): Promise<RolloutReport> {
    const run = new ClientRun(this.#parts, options);
    this.#connection.run(run);
    return run.report;
  }

  /** Closes the connection; runs that are under way reject. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.#connection[Symbol.asyncDispose]());
  }
}
