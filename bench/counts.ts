/**
 * What each design does in one rollout, counted: no time in it, so it is equal on every run and every machine.
 *
 * Real: engine, stages, tokeniser, server (on node:http and ws), client, sockets over loopback. Fixed, so that the bytes
 * are: ids are counted, the clock stands still, and the model says all of a turn at once, a token to a delta.
 */
import Table from 'cli-table3';

import { Engine, o200kTokenizer, VirtualClock, type Tokenizer } from '../engine/index.js';
import {
  builtinScenarios,
  playRollout,
  rolloutOf,
  rolloutRequests,
  scenarioModel,
  toolOutputs,
  turnsOf,
  type Scenario,
} from '../scenarios/index.js';
import { Client, Keys, listen, Server, type RolloutReport } from '../transport/index.js';
import { spokenArms, type Arm } from './arms.js';

/** A design over a transport. Runs are of one rollout. */
export interface DesignCounts {
  readonly design: string;
  /** Passages through the stages before inference, at an append, and after inference. */
  readonly pre: number;
  readonly append: number;
  readonly post: number;
  /** Runs of these two stages, over all passages. */
  readonly classify: number;
  readonly render: number;
  readonly tokens_rendered: number;
  /** Frames or requests, and frames or events: see `Counts` of the client. */
  readonly frames_up: number;
  readonly frames_down: number;
  readonly bytes_up: number;
  readonly bytes_down: number;
}

export interface CountsResult {
  readonly scenario: string;
  readonly turns: number;
  readonly designs: readonly DesignCounts[];
}

export interface CountsOptions {
  /** Its rollout 0 of seed 1 is played. Default `claim-regime`: 21 turns. */
  readonly scenario?: Scenario | undefined;
  readonly onProgress?: (line: string) => void;
}

const seed = 1;
const rollout = 0;

function counted(): (prefix: string) => string {
  let minted = 0;
  return (prefix) => `${prefix}_${String(++minted).padStart(24, '0')}`;
}

/** A server of its own for each rollout, so that no count depends on what ran before. */
async function serverFor(scenario: Scenario) {
  const clock = new VirtualClock();
  const tokenizer: Tokenizer = o200kTokenizer(clock);
  const sampler = scenarioModel({
    clock,
    scenarios: new Map([[scenario.name, scenario]]),
    deltaTokensMax: 1,
    session: { policy: 'per-conversation' },
  });
  const engine = new Engine({ clock, tokenizer, sampler, mintId: counted() });
  const server = new Server({ engine, tokenizer, keys: new Keys([]) });
  const { frameBytesMax, sendBufferBytesMax } = engine.limits;
  const bounds = { host: '127.0.0.1', port: 0, frameBytesMax, sendBufferBytesMax, pingMs: Infinity };
  const listening = await listen('node', server, bounds, () => undefined);
  return {
    url: `http://127.0.0.1:${listening.port}`,
    engine,
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]();
      await listening.close();
    },
  };
}

async function play(url: string, { design, transport }: Arm, scenario: Scenario): Promise<RolloutReport> {
  const outputFor = toolOutputs(scenario, seed, rollout);
  await using client = await Client.connect({ url, design: design.name, client: design.client, transport });
  const requests = rolloutRequests(scenario, seed, rollout).map((request) => ({
    ...request,
    prompt_cache_key: 'conversation',
  }));
  return await playRollout(client, requests, {
    tool: ({ turn, index }) => Promise.resolve(outputFor(turn, index).text),
  });
}

async function count(arm: Arm, scenario: Scenario): Promise<DesignCounts> {
  await using server = await serverFor(scenario);
  const { url, engine } = server;
  const report = await play(url, arm, scenario);
  if (report.status !== 'completed') throw new Error(`a rollout in ${arm.name} ended as ${report.status}`);
  await Promise.all(engine.live().map((response) => response.settled));
  const { stageRuns } = engine;
  const runs = (stage: string): number => stageRuns[stage]?.runs ?? 0;
  const rendered = ['pre.render', 'append.render'];
  return {
    design: arm.name,
    pre: runs('pre.validate'),
    append: runs('append.validate'),
    post: runs('post.bill'),
    classify: runs('pre.classify') + runs('append.classify') + runs('post.classify'),
    render: rendered.reduce((sum, stage) => sum + runs(stage), 0),
    tokens_rendered: rendered.reduce((sum, stage) => sum + (stageRuns[stage]?.tokens ?? 0), 0),
    frames_up: report.framesUp,
    frames_down: report.framesDown,
    bytes_up: report.bytesUp,
    bytes_down: report.bytesDown,
  };
}

/** @throws Error where there is no such scenario, or a rollout does not complete. */
export async function run(options: CountsOptions = {}): Promise<CountsResult> {
  const scenario = options.scenario ?? builtinScenarios.get('claim-regime');
  if (scenario === undefined) throw new Error('there is no scenario to play');
  const designs: DesignCounts[] = [];
  for (const arm of spokenArms) {
    options.onProgress?.(arm.name);
    designs.push(await count(arm, scenario));
  }
  return { scenario: scenario.name, turns: turnsOf(rolloutOf(scenario, seed, rollout)).length, designs };
}

const columns: readonly (readonly [head: string, field: Exclude<keyof DesignCounts, 'design'>])[] = [
  ['pre', 'pre'],
  ['append', 'append'],
  ['post', 'post'],
  ['classify', 'classify'],
  ['render', 'render'],
  ['tokens rendered', 'tokens_rendered'],
  ['frames up', 'frames_up'],
  ['bytes up', 'bytes_up'],
  ['frames down', 'frames_down'],
  ['bytes down', 'bytes_down'],
];

export function print({ scenario, turns, designs }: CountsResult): string {
  const table = new Table({
    head: ['design', ...columns.map(([head]) => head)],
    style: { head: [], border: [], compact: true },
    colAligns: ['left', ...columns.map(() => 'right' as const)],
  });
  for (const design of designs)
    table.push([design.design, ...columns.map(([, field]) => design[field].toLocaleString('en'))]);
  return [
    `One rollout of ${scenario}, ${turns} turns: passages through the stages, runs of two of them, and what went over the wire`,
    table.toString(),
    '  Equal on every run: ids are counted, the clock stands still, a delta has one token.',
    '  Bytes: payload of frames on a socket; bodies over HTTP, with the framing of events, without HTTP headers.',
  ].join('\n');
}
