/** The composition root: engine + adapter + log. `long-response serve` is a thin shell around `serve`. */
import { pino, type Logger } from 'pino';

import {
  Engine,
  systemClock,
  type EngineOptions,
  type LiveResponse,
  type Settlement,
} from '../engine/index.js';
import type { DesignRegistry } from './designs.js';
import { Keys } from './keys.js';
import { listen, type ListenKind } from './listen.js';
import { Metrics } from './metrics.js';
import { Recorder, type RecordOptions } from './record.js';
import { Server } from './server.js';

export interface ServeOptions {
  readonly engine: Omit<EngineOptions, 'onSettled'>;
  /** Default 127.0.0.1. Without keys only a loopback host is allowed. */
  readonly host?: string;
  /** Default 0: a free port. */
  readonly port?: number;
  readonly keys?: readonly string[];
  /** Default `auto`: uWebSockets.js, or node:http + ws where its native binary cannot load. */
  readonly transport?: ListenKind;
  /** Default: the built-in designs. */
  readonly designs?: DesignRegistry;
  /** Default `shim`. */
  readonly defaultDesign?: string;
  /** False serves HTTP alone and refuses upgrades with 426. Default true. */
  readonly sockets?: boolean;
  /** Names that `GET /v1/models` lists. Default: none. */
  readonly models?: readonly string[];
  /** Where what rollouts are like is recorded; whoever gives it closes it after the server's end. Default: nowhere. */
  readonly record?: RecordOptions | undefined;
  /** Default: JSON lines on stderr at level info. */
  readonly log?: Logger;
}

export interface Serving {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly port: number;
  readonly transport: 'uws' | 'node';
  readonly server: Server;
  readonly engine: Engine;
  /** Ends gracefully: see `Server.drain`. Calling it again waits for the same end. */
  stop(): Promise<void>;
}

const loopbackHosts = new Set(['127.0.0.1', '::1', 'localhost']);

/** A line per settled rollout: what it took, never a key and never content. */
function logSettled(log: Logger, response: LiveResponse, settlement: Settlement): void {
  const { outcome, usage, turns, stage_runs } = settlement;
  const runs = Object.fromEntries(Object.entries(stage_runs).map(([stage, tally]) => [stage, tally.runs]));
  log.info(
    {
      response_id: response.id,
      credential: response.credential,
      model: response.request.model,
      outcome,
      turns,
      usage,
      stage_runs: runs,
    },
    'settled',
  );
}

function recordedBy(
  recorder: Recorder | null,
  chosen: EngineOptions['stages'],
): Pick<EngineOptions, 'stages'> {
  return recorder === null ? {} : { stages: (standard) => recorder.stages(chosen?.(standard) ?? standard) };
}

/**
 * Starts a server.
 * @throws Error where no key is given for a host other than loopback, or the port cannot be had.
 */
export async function serve(options: ServeOptions): Promise<Serving> {
  const host = options.host ?? '127.0.0.1';
  const keys = new Keys(options.keys ?? []);
  if (keys.open && !loopbackHosts.has(host))
    throw new Error(
      `refusing to serve ${host} without keys: give --keys-file or LONG_RESPONSE_KEYS, or a loopback host`,
    );
  const log = options.log ?? pino({ base: null }, pino.destination({ fd: 2, sync: true }));
  const clock = options.engine.clock ?? systemClock;
  const recorder =
    options.record === undefined
      ? null
      : new Recorder({
          ...options.record,
          now: () => clock.now(),
          designOf: (id, credential) => server.host.designOf(id, credential)?.name ?? null,
        });
  const engine = new Engine({
    ...options.engine,
    ...recordedBy(recorder, options.engine.stages),
    onSettled: (response, settlement) => {
      recorder?.settled(response);
      metrics.settled(settlement);
      logSettled(log, response, settlement);
    },
  });
  const metrics = new Metrics(engine, () => server.host);
  const server = new Server({
    engine,
    keys,
    ...(options.engine.tokenizer === undefined ? {} : { tokenizer: options.engine.tokenizer }),
    ...(options.designs === undefined ? {} : { designs: options.designs }),
    ...(options.defaultDesign === undefined ? {} : { defaultDesign: options.defaultDesign }),
    sockets: options.sockets ?? true,
    models: options.models ?? [],
    metrics: () => metrics.text(),
    failed: (fault) => log.error({ err: fault }, 'a request failed on our side'),
  });
  const { frameBytesMax, sendBufferBytesMax, pingMs } = engine.limits;
  const listening = await listen(
    options.transport ?? 'auto',
    server,
    { host, port: options.port ?? 0, frameBytesMax, sendBufferBytesMax, pingMs },
    (line) => log.warn(line),
  );
  let stopped: Promise<void> | null = null;
  const stop = async (): Promise<void> => {
    listening.stopAccepting();
    await server.drain();
    await engine[Symbol.asyncDispose]();
    await listening.close();
  };
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${listening.port}`,
    port: listening.port,
    transport: listening.transport,
    server,
    engine,
    stop: () => (stopped ??= stop()),
  };
}
