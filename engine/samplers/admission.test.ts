import { test } from 'node:test';
import assert from 'node:assert/strict';

import { VirtualClock } from '../clock.js';
import { scriptedSampler, type AdmissionPolicy } from './scripted.js';
import {
  assistant,
  entry,
  firstTurn,
  openingOf,
  record,
  say,
  transcriptOf,
  turnOn,
  user,
} from './testing/turns.js';

const second = turnOn(
  transcriptOf(entry(user('hello'), 10), entry(assistant('hi'), 1), entry(user('more'), 5)),
);

/** How long two turns of one conversation wait for their first token: of one session, and of a session each. */
async function waits(held: AdmissionPolicy['held']): Promise<number[]> {
  const both: number[] = [];
  for (const sessions of ['one', 'two']) {
    const clock = new VirtualClock();
    const sampler = scriptedSampler({
      clock,
      script: () => ({ items: [say('abcd')] }),
      session: { policy: 'per-conversation' },
      admission: { admitMs: 10, resumeMs: 3, held },
    });
    const session = sampler.open(openingOf());
    await record(clock, session);
    if (sessions === 'two') session.release();
    const startedAt = clock.now();
    const told = await record(clock, sessions === 'one' ? session : sampler.open(openingOf()), second);
    both.push((told[1]?.[0] ?? NaN) - startedAt);
  }
  return both;
}

test('a place is waited for at every turn, unless its session or its conversation holds it', async () => {
  assert.deepEqual(await waits('per-turn'), [10, 10]);
  assert.deepEqual(await waits('per-response'), [3, 10]);
  assert.deepEqual(await waits('per-conversation'), [3, 3]);
});

test('the first turn of all is admitted, and reads what it has to after that', async () => {
  const clock = new VirtualClock();
  const sampler = scriptedSampler({
    clock,
    script: [{ items: [say('abcd')] }],
    prefillTokensPerSecond: 1000,
    admission: { admitMs: 10, resumeMs: 3, held: 'per-conversation' },
  });
  const told = await record(clock, sampler, firstTurn);
  assert.equal(told[1]?.[0], 30);
});

test('a time that cannot be is refused by name', () => {
  const admission = { admitMs: 1, resumeMs: -1, held: 'per-turn' } as const;
  assert.throws(
    () => scriptedSampler({ clock: new VirtualClock(), script: [], admission }),
    /admission\.resumeMs/,
  );
});
