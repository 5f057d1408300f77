/**
 * What a rollout should take, by arithmetic alone: no engine, no clock, no events. Virtual time is held against it, and it
 * against real runs.
 *
 *   T = setup + Σ over turns [ network + machine + work + admission + read/π + (o − 1)/s + after + tool ]
 *
 *   network    RTT + bytes/rate + RTT·w, w the round trips that a request takes beyond the first where the window is small.
 *              It does not cancel between designs: a create carries instructions and tools at every turn and an append does
 *              not, so that after a pause that is long enough (uplink.ts) a create of 15 to 44 KB waits a round trip more.
 *              Where windows stay open it does cancel, but for the bytes themselves.
 *   work       the sum, over the pieces of work that the passage is bound to, of wait + CPU + µs a token of what it reads.
 *              A drawn wait counts with its mean.
 *   admission  for a place on the machine: asked for, or held.
 *   read/π     tokens that the model does not hold yet; o tokens come at s a second, the first with the end of reading.
 *   after      what a Response that ends waits for before its terminal event.
 *   tool       from the end of the turn until the last output is there. A tool starts when its call is whole.
 */
import { rolloutOf, type Rollout } from '../../scenarios/index.js';
import { downloadMs, setupMs, setupPerTurnMs } from '../network/model.js';
import { Uplink } from '../network/uplink.js';
import type { Bound } from '../service/obligations.js';
import { moduleNames, type Cost, type Profile } from '../service/profile.js';
import type { VirtualArm } from './arm.js';
import { itemBytes, requestBytes } from './bytes.js';
import { machineMs, type VirtualCell } from './cell.js';
import { countedRequest } from './counted.js';

/** Tokens that rendering puts around an item: three control tokens and the header, a token a letter. */
const framing = {
  user: 3 + 'user'.length,
  message: 3 + 'assistant'.length,
  call: 3 + 'assistant to=tool'.length,
  output: 3 + 'tool'.length,
  system: 3 + 'system'.length,
} as const;

/** How a tool without parameters is rendered. */
const noParameters = '{"type":"object","properties":{}}';

/** Milliseconds of one turn, by what they are spent on. */
export interface TurnTerms {
  readonly network: number;
  readonly machine: number;
  readonly work: number;
  readonly admission: number;
  readonly read: number;
  readonly decode: number;
  readonly after: number;
  readonly tool: number;
}

export interface PredictedTurn extends TurnTerms {
  /** Ready → first token, less the reading: as `overhead_ms` of a measured turn. */
  readonly overhead_ms: number;
  /** Ready → end of the turn. */
  readonly ms: number;
}

export interface PredictedRollout {
  readonly setup_ms: number;
  readonly e2e_ms: number;
  readonly turns: readonly PredictedTurn[];
}

function meanOf(wait: Cost['wait_ms']): number {
  if (typeof wait === 'number') return wait;
  const { p, v } = wait;
  const last = p.length - 1;
  let sum = ((p[0] ?? 0) * (v[0] ?? 0) + (100 - (p[last] ?? 100)) * (v[last] ?? 0)) / 100;
  for (let at = 1; at <= last; at++) {
    const width = (p[at] ?? 0) - (p[at - 1] ?? 0);
    sum += (width * ((v[at] ?? 0) + (v[at - 1] ?? 0))) / 200;
  }
  return sum;
}

/** What a passage works on, in tokens; a share of the history counts at a create alone. */
interface Reading {
  readonly fresh: number;
  readonly history: number;
  readonly share: number;
}

function workMs({ modules }: Profile, bound: Bound, { fresh, history, share }: Reading): number {
  let sum = 0;
  for (const name of moduleNames) {
    const [costs, obligation = 'absent'] = [modules[name], bound[name]];
    if (costs === undefined || obligation === 'absent' || obligation === 'overlapped') continue;
    const cost = obligation === 'cached' ? costs.cached : costs.full;
    const tokens =
      obligation === 'cached' ? 0 : obligation === 'full' ? fresh + history : fresh + share * history;
    if (cost !== undefined) sum += meanOf(cost.wait_ms) + cost.cpu_ms + (tokens * cost.us_per_token) / 1000;
  }
  return sum;
}

const sumOf = <T>(items: readonly T[], value: (item: T) => number): number =>
  items.reduce((sum, item) => sum + value(item), 0);

type Turn = Rollout['turns'][number];

/** Tokens that a turn writes. */
const writtenBy = ({ output_tokens, calls }: Turn): number =>
  output_tokens + sumOf(calls, ({ arguments_tokens }) => arguments_tokens);

/** Tokens that what a turn writes adds to the context. */
const sampledTokens = (turn: Turn): number =>
  writtenBy(turn) + turn.calls.length * framing.call + (turn.output_tokens > 0 ? framing.message : 0);
const outputTokens = ({ calls }: Turn): number =>
  sumOf(calls, ({ output_tokens }) => output_tokens + framing.output);
const outputBytes = ({ calls }: Turn): number => sumOf(calls, (call) => itemBytes.output(call.output_tokens));
const sampledBytes = ({ output_tokens, calls }: Turn): number =>
  (output_tokens > 0 ? itemBytes.message(output_tokens) : 0) +
  sumOf(calls, ({ arguments_tokens }) => itemBytes.call(arguments_tokens));

function preambleTokens(scenario: VirtualCell['scenario']): number {
  const { instructions, tools } = countedRequest(scenario);
  const toolTokens = sumOf(
    tools,
    ({ name, description }) => framing.system + [name, description, noParameters].join('\n').length,
  );
  return framing.system + instructions.length + toolTokens;
}

/** Where a rollout stands when a turn begins. */
interface Standing {
  readonly first: boolean;
  readonly last: boolean;
  /** Tokens that are new to the conversation, and all before them, preamble included. */
  readonly fresh: number;
  readonly history: number;
  /** Of the items that go up: their text in tokens, and their bytes. */
  readonly text: number;
  readonly bytes: number;
}

/** Turn by turn, what is new and what goes up; a design that keeps nothing sends all items again. */
function standingsOf(cell: VirtualCell, arm: VirtualArm, { context_tokens, turns }: Rollout): Standing[] {
  let history = 0;
  let fresh = preambleTokens(cell.scenario) + framing.user + context_tokens;
  const all = { text: context_tokens, bytes: itemBytes.user(context_tokens) };
  let own = { ...all };
  return turns.map((turn, at) => {
    const before = turns[at - 1];
    if (before !== undefined) {
      history += fresh + sampledTokens(before);
      fresh = outputTokens(before);
      own = { text: sumOf(before.calls, ({ output_tokens }) => output_tokens), bytes: outputBytes(before) };
      all.text += writtenBy(before) + own.text;
      all.bytes += sampledBytes(before) + own.bytes;
    }
    const { text, bytes } = arm.wire === 'history' ? all : own;
    return { first: at === 0, last: turn.calls.length === 0, fresh, history, text, bytes };
  });
}

function check(cell: VirtualCell, arm: VirtualArm, rollout: Rollout): void {
  const bounds = [arm.work.first, arm.work.later, arm.work.end];
  if (arm.earlyReturn || bounds.some((bound) => Object.values(bound).includes('ahead')))
    throw new RangeError(`${arm.name}: the formula knows neither an early return nor work done ahead`);
  if ((cell.session.ttlMs ?? Infinity) < Infinity)
    throw new RangeError('the formula knows no time to live of the model’s state');
  if ((rollout.follow_ups ?? []).length > 0)
    throw new RangeError('the formula knows rollouts of one request alone');
}

function admissionMs(
  { profile, session }: VirtualCell,
  { place, state }: VirtualArm,
  first: boolean,
): number {
  const holds =
    place === 'per-response'
      ? state === 'suspended'
      : place === 'per-conversation' && session.policy === 'per-conversation';
  return holds && !first ? profile.admission.resume_ms : profile.admission.admit_ms;
}

/** Of a turn that is ready at `readyAt`, on a connection that has carried the turns before it. */
function networkMs(
  { network, scenario }: VirtualCell,
  { wire, transport }: VirtualArm,
  { first, bytes }: Standing,
  uplink: Uplink,
  readyAt: number,
): number {
  const up = requestBytes(scenario, first && wire === 'append' ? 'create' : wire, bytes);
  const from = readyAt + (first ? 0 : setupPerTurnMs(network, transport));
  return uplink.send(up, from) - readyAt + downloadMs(network);
}

/** Of turns but the first and the last. */
function turnEndMs({ machine }: VirtualCell, { name }: VirtualArm, { first, last }: Standing): number {
  return first || last ? 0 : (machine?.[name]?.turn_end_ms ?? 0);
}

function termsOf(cell: VirtualCell, arm: VirtualArm, turn: Turn, at: Standing): Omit<TurnTerms, 'network'> {
  const { profile, session } = cell;
  const { state, work } = arm;
  const { first, last, fresh, history } = at;
  const share = first || state !== 'suspended' ? profile.history_share : 0;
  const held = session.policy === 'per-conversation' && !first;
  const written = writtenBy(turn);
  const end =
    state === 'suspended' && !last ? 0 : workMs(profile, work.end, { fresh: written, history: 0, share: 0 });
  const msPerToken = 1000 / cell.decodeTokensPerSecond;
  const decode = (written - 1) * msPerToken;
  let before = turn.output_tokens;
  const outputs = turn.calls.map(({ arguments_tokens, tool_ms }) => {
    before += arguments_tokens;
    return (before - 1) * msPerToken + tool_ms * cell.toolScale;
  });
  return {
    machine: first ? 0 : machineMs(cell, arm, at.text),
    work: workMs(profile, first ? work.first : work.later, { fresh, history, share }),
    admission: admissionMs(cell, arm, first),
    // What the model wrote itself it holds too.
    read: ((held ? fresh : fresh + history) * 1000) / cell.prefillTokensPerSecond,
    decode,
    after: end + turnEndMs(cell, arm, at),
    tool: Math.max(0, ...outputs.map((doneMs) => doneMs - decode - end)),
  };
}

function predicted(terms: TurnTerms): PredictedTurn {
  const overhead_ms = terms.network + terms.machine + terms.work + terms.admission;
  return { ...terms, overhead_ms, ms: overhead_ms + terms.read + terms.decode + terms.after };
}

/**
 * Rollout number `index` of the cell's scenario in a design without early return or work done ahead.
 * @throws RangeError for what it does not know: those two, a time to live of the model's state, follow-up requests.
 */
export function predictRollout(cell: VirtualCell, arm: VirtualArm, index: number): PredictedRollout {
  const rollout = rolloutOf(cell.scenario, cell.seed, index);
  check(cell, arm, rollout);
  const setup_ms = cell.cold ? setupMs(cell.network, arm.transport) : 0;
  const uplink = new Uplink(cell.network);
  const turns: PredictedTurn[] = [];
  let readyAt = setup_ms;
  for (const [at, standing] of standingsOf(cell, arm, rollout).entries()) {
    const turn = rollout.turns[at];
    if (turn === undefined) continue;
    const network = networkMs(cell, arm, standing, uplink, readyAt);
    const one = predicted({ network, ...termsOf(cell, arm, turn, standing) });
    turns.push(one);
    readyAt += one.ms + one.tool;
  }
  return { setup_ms, e2e_ms: readyAt, turns };
}
