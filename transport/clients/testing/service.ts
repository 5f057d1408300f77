/**
 * A server for a client that somebody else wrote: the real routes on a real port, a model that plays a script, and a
 * record of what came. The engine is a `Lab`, so its time moves only by hand.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { scriptTurn, type Script } from '../../../engine/samplers/script.js';
import { Lab, unitTokenizer, type LabOptions } from '../../../engine/testing/lab.js';
import { builtinDesigns } from '../../designs.js';
import { Keys } from '../../keys.js';
import { Arrivals } from '../../loopback.js';
import { Server } from '../../server.js';
import type { Application, Exchange, Handshake, Socket } from '../../socket.js';
import { nodeAdapter, wireAdapters, type WireAdapter, type WireServer } from '../../testing/adapters.js';
import { model, story, tell } from './task.js';

export interface ServiceOptions extends LabOptions {
  /** For clients that choose no design. */
  readonly design?: string;
  /** Default: the task of `task.ts`. */
  readonly script?: Script;
  /** Default: `key` alone. */
  readonly keys?: readonly string[];
  /** Default: uWebSockets.js where it loads. */
  readonly adapter?: WireAdapter;
}

const [preferred = nodeAdapter] = wireAdapters;

/** How often the stages of each phase ran. */
export interface Receipts {
  readonly pre: number;
  readonly post: number;
}

/** What a socket brought. */
export interface Opened {
  readonly handshake: Handshake;
  readonly events: Readonly<Record<string, unknown>>[];
  /** Set when the server knows that it has closed. */
  code: number | null;
}

export class Service implements AsyncDisposable {
  readonly lab: Lab;
  readonly server: Server;
  readonly sockets: Opened[] = [];
  /** Requests that were no upgrade, as `POST /v1/responses`. */
  readonly requests: string[] = [];
  readonly #faults: unknown[] = [];
  readonly #begun = new Arrivals<void>();
  #listening: WireServer | null = null;

  constructor({
    design = 'chain',
    script = model,
    keys = ['key'],
    ...options
  }: Omit<ServiceOptions, 'adapter'>) {
    const announced: Script = (turn, opening) => {
      this.#begun.add();
      return scriptTurn(script, turn, opening);
    };
    this.lab = new Lab(announced, options);
    this.server = new Server({
      engine: this.lab.engine,
      keys: new Keys(keys),
      tokenizer: unitTokenizer,
      defaultDesign: design,
      failed: (fault) => this.#faults.push(fault),
    });
  }

  static async start({ adapter = preferred, ...options }: ServiceOptions = {}): Promise<Service> {
    const service = new Service(options);
    const { frameBytesMax, sendBufferBytesMax } = service.lab.engine.limits;
    service.#listening = await adapter.start(service.#observed(), { frameBytesMax, sendBufferBytesMax });
    return service;
  }

  /** `127.0.0.1:PORT` */
  get host(): string {
    assert.ok(this.#listening);
    return `127.0.0.1:${this.#listening.listening.port}`;
  }

  /** What clients call the base URL. */
  get url(): string {
    return `http://${this.host}/v1`;
  }

  /** The creates of all sockets, in the order of the sockets. */
  get creates(): Readonly<Record<string, unknown>>[] {
    return this.sockets.flatMap(({ events }) => events.filter(({ type }) => type === 'response.create'));
  }

  /** The transcripts of all turns as the model read them, in words. */
  get #seen(): string[][] {
    return this.lab.turns.map(({ context }) => tell(context.transcript.items()));
  }

  /** That of the newest turn. */
  get seen(): string[] {
    return this.#seen.at(-1) ?? [];
  }

  /** Those of the last turns, where several rollouts of the task have run. */
  get stories(): string[][] {
    return this.#seen.filter(({ length }) => length === story.length);
  }

  /** How often the stages ran, once nothing is on its way any more. Every stage of a phase ran equally often. */
  async receipts(): Promise<Receipts> {
    await this.lab.settle();
    const { stageRuns } = this.lab.engine;
    const runs = (phase: string): number => {
      const counts = Object.entries(stageRuns).flatMap(([name, tally]) =>
        name.startsWith(`${phase}.`) ? [tally.runs] : [],
      );
      assert.equal(new Set(counts).size <= 1, true, JSON.stringify(stageRuns));
      return counts[0] ?? 0;
    };
    return { pre: runs('pre'), post: runs('post') };
  }

  /** Resolves once for each turn that the model has begun. */
  turnBegun(): Promise<void> {
    return this.#begun.next();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab.engine[Symbol.asyncDispose]();
    await this.#listening?.[Symbol.asyncDispose]();
    assert.deepEqual(this.#faults, []);
  }

  #observed(): Application {
    const { server, sockets, requests } = this;
    return {
      admit: (handshake) => server.admit(handshake),
      answer(exchange: Exchange) {
        requests.push(`${exchange.method} ${exchange.path}`);
        return server.answer(exchange);
      },
      failed: (fault) => server.failed(fault),
      opened(socket, handshake) {
        const opened: Opened = { handshake, events: [], code: null };
        sockets.push(opened);
        const closed = server.opened(recorded(socket, opened), handshake);
        return (code) => {
          opened.code = code;
          closed(code);
        };
      },
    };
  }
}

/** The socket, whose frames are noted before the session reads them. */
function recorded(socket: Socket, { events }: Opened): Socket {
  return {
    send: (frames) => socket.send(frames),
    close: (code, reason) => socket.close(code, reason),
    drained: () => socket.drained(),
    get onFrame() {
      return socket.onFrame;
    },
    set onFrame(take) {
      socket.onFrame = (text) => {
        if (text !== null) events.push(JSON.parse(text) as Record<string, unknown>);
        take(text);
      };
    },
  };
}

/** The shapes that answer `previous_response_id`: the one that shipped and, where it is built in, the shim. */
export const shapes = builtinDesigns
  .map(({ name }) => name)
  .filter((name) => name === 'chain' || name === 'shim');

/** What the receipts of a rollout of that many turns must say: the shim runs the work around inference once. */
export function expectedReceipts(design: string, turns: number): Receipts {
  return design === 'shim' ? { pre: 1, post: 1 } : { pre: turns, post: turns };
}

/**
 * Registers a test for each shape, on a server whose default is neither: the client must choose for itself. The time
 * limit is a net for a wait that never ends, not a part of any test: at it the server goes, so that the wait ends.
 */
export function inEachShape(
  name: string,
  body: (service: Service, design: string) => Promise<void>,
  options: Omit<ServiceOptions, 'design'> = {},
): void {
  for (const design of shapes)
    test(`${design}: ${name}`, { timeout: 8_000 }, async ({ signal }) => {
      await using service = await Service.start({ ...options, design: 'replay' });
      signal.addEventListener('abort', () => void service[Symbol.asyncDispose]());
      await body(service, design);
    });
}
