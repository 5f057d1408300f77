import { test } from 'node:test';
import assert from 'node:assert/strict';

import { VirtualClock } from '../clock.js';
import { scriptedSampler, type SessionPolicy } from './scripted.js';
import {
  assistant,
  call,
  entry,
  openingOf,
  output,
  record,
  transcriptOf,
  turnOn,
  user,
} from './testing/turns.js';

function keeping(session: Partial<SessionPolicy> = {}) {
  const clock = new VirtualClock();
  const sampler = scriptedSampler({
    clock,
    script: () => ({ items: [] }),
    session: { policy: 'per-conversation', ...session },
  });
  /** Held and read, of one turn in a session of its own. */
  const prefill = async (turn: Parameters<typeof record>[2], conversation = 'one') => {
    const own = sampler.open(openingOf({}, conversation));
    const [first] = await record(clock, own, turn);
    own.release();
    const event = first?.[1];
    return event?.type === 'prefill' ? [event.held, event.read] : null;
  };
  return { clock, sampler, prefill };
}

const hello = [entry(user('hello'), 20)];
const calls = [entry(assistant('let me see'), 3), entry(call('a'), 5), entry(call('b'), 5)];
const outputs = [entry(output('a', 'x'), 7), entry(output('b', 'y'), 8)];
const goodbye = [entry(assistant('done'), 2), entry(user('thanks'), 4)];
const first = turnOn(transcriptOf(...hello));
const second = turnOn(transcriptOf(...hello, ...calls, ...outputs));
const third = turnOn(transcriptOf(...hello, ...calls, ...outputs, ...goodbye));

test('per turn, nothing is held and every turn reads its whole context', async () => {
  const { prefill } = keeping({ policy: 'per-turn' });
  assert.deepEqual(
    [await prefill(first), await prefill(second)],
    [
      [0, 30],
      [0, 58],
    ],
  );
});

test('per conversation, what was read and what was sampled are held, and only new input is read', async () => {
  const { prefill, sampler } = keeping();
  assert.deepEqual(
    [await prefill(first), await prefill(second), await prefill(third)],
    [
      [0, 30],
      [43, 15],
      [60, 4],
    ],
  );
  assert.deepEqual([sampler.stats.heldTokens, sampler.stats.readTokens], [103, 49]);
});

test('a turn that is sampled again reads nothing, and another conversation shares nothing', async () => {
  const { prefill } = keeping();
  await prefill(first);
  assert.deepEqual(await prefill(first), [30, 0]);
  assert.deepEqual(await prefill(second, 'two'), [0, 58]);
});

test('a fork is held up to where it left the line, and the line it left is given up', async () => {
  const { prefill } = keeping();
  for (const turn of [first, second, third]) await prefill(turn);
  const fork = turnOn(
    transcriptOf(...hello, ...calls, entry(output('a', 'else'), 30), entry(output('b', 'y'), 8)),
  );
  assert.deepEqual(await prefill(fork), [43, 38]);
  assert.deepEqual(await prefill(third), [43, 21]);
  assert.deepEqual(await prefill(turnOn(transcriptOf(entry(user('something else'), 9)))), [10, 9]);
});

test('another preamble holds nothing, though it be as long', async () => {
  const { prefill } = keeping();
  await prefill(first);
  const changed = new Uint32Array(10).fill(1);
  const { transcript, tokens } = second.context;
  assert.deepEqual(await prefill({ ...second, context: { preamble: changed, transcript, tokens } }), [0, 58]);
});

test('a conversation is forgotten its time to live after the last suspension or release', async () => {
  const { clock, sampler, prefill } = keeping({ ttlMs: 1000 });
  await prefill(first);
  await clock.advance(999);
  assert.deepEqual(await prefill(second), [43, 15]);
  await clock.advance(1000);
  assert.deepEqual(await prefill(third), [0, 64]);
  const suspended = sampler.open(openingOf());
  await clock.advance(999);
  suspended.suspend();
  await clock.advance(999);
  assert.deepEqual(await prefill(third), [64, 0]);
});

test('beyond the bound the conversation that was used longest ago is forgotten', async () => {
  const { prefill } = keeping({ conversationsMax: 2 });
  for (const name of ['one', 'two', 'one', 'three']) await prefill(first, name);
  assert.deepEqual(await prefill(first, 'one'), [30, 0]);
  assert.deepEqual(await prefill(first, 'two'), [0, 30]);
});

test('a turn that is aborted while it reads keeps nothing', async () => {
  const clock = new VirtualClock();
  const sampler = scriptedSampler({
    clock,
    script: () => ({ items: [] }),
    prefillTokensPerSecond: 10,
    session: { policy: 'per-conversation' },
  });
  const controller = new AbortController();
  clock.after(2000, () => controller.abort(new Error('enough')));
  await assert.rejects(record(clock, sampler, first, { signal: controller.signal }), /enough/);
  assert.deepEqual(await record(clock, sampler, first), [[2000, { type: 'prefill', held: 0, read: 30 }]]);
  assert.equal(clock.now(), 5000);
});
