/**
 * A crowd of rollouts on one virtual clock, each as its seed says: what was seen of them, and when, as hashes. As a
 * worker it plays as many as `workerData` says: a test runner follows every promise, which makes a crowd slow.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';

import { ProtocolError } from '../protocol/errors.js';
import type { ScriptItem, ScriptTurn } from '../samplers/scripted.js';
import { call, customCall, Lab, say, turn } from './lab.js';

/** A small seeded generator (mulberry32): numbers from 0 up to `bound`. */
function random(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

function scriptOf(seed: number): (turnNumber: number) => ScriptTurn {
  const draw = random(seed);
  const words = (): string => 'word '.repeat(1 + draw(8));
  const kinds: (() => ScriptItem)[] = [
    () => say(words()),
    () => ({ type: 'reasoning', summary: words() }),
    () => call('ls', JSON.stringify({ path: words() })),
    () => customCall('patch', words()),
  ];
  const turns = Array.from({ length: draw(4) }, () => ({
    items: Array.from({ length: 1 + draw(3) }, () => kinds[draw(kinds.length)]?.() ?? say('x')),
    interleave: draw(2) === 0,
  }));
  return (turnNumber) => turns[turnNumber - 1] ?? turn(say('done'));
}

/** Runs one rollout as its seed says, answering each hand-off after a while; gives what was seen, and when. */
async function play(lab: Lab, seed: number): Promise<string> {
  const draw = random(seed + 1_000_000);
  const { signal } = new AbortController();
  await lab.clock.sleep(draw(5000), signal);
  const response = await lab.engine.create({
    model: 'scripted',
    input: `rollout ${seed}`,
    prompt_cache_key: `${seed}`,
  });
  const hash = createHash('sha256');
  for await (const event of response) {
    hash.update(`${lab.clock.now()} ${JSON.stringify(event)}\n`);
    if (event.type !== 'response.done') continue;
    const answers = event.required_input.map(({ type, call_id }) => ({
      type,
      call_id,
      output: `answer ${draw(1000)}`,
    }));
    void (async () => {
      for (const answer of draw(2) === 0 ? answers.toReversed() : answers) {
        await lab.clock.sleep(draw(300), signal);
        if (draw(40) === 0) response.cancel();
        await response.append([answer]).catch((fault: unknown) => assert.ok(fault instanceof ProtocolError));
      }
    })();
  }
  return hash.digest('hex');
}

/** What a crowd leaves behind. */
export interface Traces {
  readonly hashes: readonly string[];
  /** Sums over all stage runs. */
  readonly runs: string;
  readonly pending: number;
  readonly live: number;
}

async function playMany(count: number): Promise<Traces> {
  const scripts = Array.from({ length: count }, (_, seed) => scriptOf(seed));
  const lab = new Lab(
    ({ turn: number }, { request }) => scripts[Number(request.prompt_cache_key)]?.(number) ?? turn(),
    {
      prefillTokensPerSecond: 5000,
      decodeTokensPerSecond: 100,
      deltaTokensMax: 4,
      burstTokens: 2,
      tickMs: 500,
    },
  );
  const all = Promise.all(scripts.map((_, seed) => play(lab, seed)));
  const hashes = await lab.clock.runUntil(all);
  await lab.settle();
  const runs = JSON.stringify(lab.engine.stageRuns);
  return { hashes, runs, pending: lab.clock.pending, live: lab.engine.liveCount };
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
if (parentPort !== null) parentPort.postMessage(await playMany(Number(workerData)));
