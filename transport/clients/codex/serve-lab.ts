/** A world for one run of Codex: a scratch repository, a server whose model has its steps, and a relay before it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { pino } from 'pino';

import { deferred, MemoryStore, systemClock, type Clock, type Limits } from '../../../engine/index.js';
import { DesignRegistry, type Design } from '../../designs.js';
import { serve, type Serving } from '../../serve.js';
import { runCodex, type CodexRun } from './cli.js';
import { stepwiseModel, type Step } from './model.js';
import { Relay, type Create } from './relay.js';

export type Transport = 'socket' | 'http';

export interface LabOptions {
  readonly design: string;
  readonly transport?: Transport;
  readonly steps: readonly Step[];
  readonly limits?: Partial<Limits>;
  readonly clock?: Clock;
  /** Default 1. */
  readonly retriesMax?: number;
  /** False: the server refuses every upgrade, whatever Codex believes. Default true. */
  readonly sockets?: boolean;
}

/** What a create said about where it stands. */
export interface CreateSeen {
  /** Of a socket or a POST, from 1. */
  readonly connection: number;
  readonly warmUp: boolean;
  /** Whether it names a previous response. */
  readonly chained: boolean;
  /** How many outputs of tools it brings. */
  readonly outputs: number;
}

function seenIn({ connection, event }: Create): CreateSeen {
  const { input, generate, previous_response_id: previous } = event;
  const items: readonly unknown[] = Array.isArray(input) ? input : [];
  return {
    connection,
    warmUp: generate === false,
    chained: typeof previous === 'string',
    outputs: items.filter(isOutput).length,
  };
}

function isOutput(item: unknown): boolean {
  return typeof item === 'object' && item !== null && 'type' in item && item.type === 'function_call_output';
}

export function designNamed(name: string): Design {
  return new DesignRegistry().get(name) ?? assert.fail(`there is no design ${name}`);
}

const isolated = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
const author = ['-c', 'user.name=Lab', '-c', 'user.email=lab@localhost'];

function makeRepository(path: string): void {
  const git = (...args: readonly string[]): void => {
    execFileSync('git', ['-C', path, ...args], { env: { ...process.env, ...isolated }, stdio: 'ignore' });
  };
  mkdirSync(path);
  git('init');
  writeFileSync(join(path, 'notes.txt'), 'one\n');
  git('add', 'notes.txt');
  git(...author, 'commit', '-m', 'one');
}

/** Who waits for the next suspension of a rollout. */
type Suspensions = Set<() => void>;

interface LabParts {
  readonly relay: Relay;
  readonly serving: Serving;
  readonly store: MemoryStore;
  readonly folder: string;
  readonly faults: string[];
  readonly suspensions: Suspensions;
}

export class CodexLab implements AsyncDisposable {
  readonly relay: Relay;
  readonly serving: Serving;
  readonly store: MemoryStore;
  readonly #folder: string;
  readonly #options: LabOptions;
  readonly #faults: string[];
  readonly #suspensions: Suspensions;

  private constructor(options: LabOptions, parts: LabParts) {
    this.#options = options;
    this.relay = parts.relay;
    this.serving = parts.serving;
    this.store = parts.store;
    this.#folder = parts.folder;
    this.#faults = parts.faults;
    this.#suspensions = parts.suspensions;
  }

  static async start(options: LabOptions): Promise<CodexLab> {
    const { clock = systemClock, limits = {}, design, steps, sockets = true } = options;
    const folder = mkdtempSync(join(tmpdir(), 'codex-'));
    makeRepository(join(folder, 'repository'));
    mkdirSync(join(folder, 'home'));
    const store = new MemoryStore();
    const faults: string[] = [];
    const suspensions: Suspensions = new Set();
    const sampler = stepwiseModel(steps, clock, () => {
      for (const wake of suspensions) wake();
    });
    const serving = await serve({
      log: pino({ base: null, level: 'error' }, { write: (line) => faults.push(line) }),
      defaultDesign: design,
      sockets,
      engine: { sampler, clock, limits, store },
    });
    const relay = await Relay.before(serving.port);
    return new CodexLab(options, { relay, serving, store, folder, faults, suspensions });
  }

  /**
   * Lets Codex do the task, and waits until the server has settled everything that came of it. What the interlude does
   * has to be done before Codex ends.
   */
  async run(interlude: () => Promise<void> = () => Promise.resolve()): Promise<CodexRun> {
    const { transport = 'socket', retriesMax = 1 } = this.#options;
    const killed = new AbortController();
    const running = runCodex({
      url: this.relay.url,
      repository: join(this.#folder, 'repository'),
      home: join(this.#folder, 'home'),
      prompt: 'Add a line to notes.txt and show it.',
      sockets: transport === 'socket',
      retriesMax,
      signal: killed.signal,
    });
    try {
      const tooEarly = running.then((run) => assert.fail(`codex ended early: ${JSON.stringify(run)}`));
      await Promise.race([interlude(), tooEarly]);
      return await running;
    } finally {
      killed.abort();
      await this.serving.stop();
    }
  }

  /** Resolves when all rollouts of this moment have settled, or one of them has come to wait for its client. */
  async idle(): Promise<void> {
    const suspended = deferred<void>();
    this.#suspensions.add(suspended.resolve);
    const settled = this.serving.engine.live().map((rollout) => rollout.settled);
    await Promise.race([suspended.promise, Promise.all(settled)]);
    this.#suspensions.delete(suspended.resolve);
  }

  read(path: string): string {
    return readFileSync(join(this.#folder, 'repository', path), 'utf8');
  }

  get creates(): CreateSeen[] {
    return this.relay.creates.map(seenIn);
  }

  /** How often each stage ran, by `phase.stage`. */
  get stageRuns(): Record<string, number> {
    const tallies = Object.entries(this.serving.engine.stageRuns);
    return Object.fromEntries(tallies.map(([stage, { runs }]) => [stage, runs]));
  }

  /** How each billed Response ended. */
  get billed(): string[] {
    return this.store.bills.map(({ status }) => status);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.serving.stop();
    await this.relay[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true });
    assert.deepEqual(this.#faults, []);
  }
}
