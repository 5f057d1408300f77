/** What a long rollout, and many of them, leave behind. */
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { MemoryStore } from '../memory-store.js';
import { call, callIdsOf, Lab, output, say, turn } from '../testing/lab.js';

test('over 500 turns the listeners on the signal and the timers stay as few as at the first (B125)', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on('warning', note);
  const sampling: number[] = [];
  const waiting: number[][] = [];
  const lab = new Lab(({ turn: number }) => {
    sampling.push(listeners());
    return number < 500 ? turn(call('ls')) : turn(say('done'));
  });
  function listeners(): number {
    const signal = lab.turns.at(-1)?.signal;
    assert.ok(signal);
    return getEventListeners(signal, 'abort').length;
  }
  const response = await lab.create();
  for (let number = 1; number < 500; number++) {
    waiting.push([listeners(), lab.clock.pending]);
    await response.append([output(`call_${number}`, `answer ${number}`)]);
    await lab.settle();
  }
  const { outcome, turns } = await response.settled;
  assert.deepEqual([outcome.status, turns], ['completed', 500]);
  assert.deepEqual([...new Set(sampling)], [1]);
  assert.deepEqual(waiting, Array(499).fill(waiting[0]));
  assert.deepEqual(waiting[0], [1, 1]);
  assert.deepEqual([listeners(), lab.clock.pending], [0, 0]);
  assert.equal(new Set(lab.turns.map(({ signal }) => signal)).size, 1);
  process.off('warning', note);
  assert.deepEqual(warnings, []);
});

test('ended Responses go, the oldest first, and suspended ones stay and still resume (B127)', async () => {
  const kept = 100;
  const lab = new Lab(
    ({ context }) =>
      turn(context.transcript.length === 1 && context.tokens > 15 ? call('wait') : say('done')),
    { engine: { limits: { endedResponsesMax: kept }, store: new MemoryStore({ responsesMax: kept }) } },
  );
  const suspended = [
    await lab.create('wait for me'),
    await lab.create('wait for me'),
    await lab.create('wait for me'),
  ];
  const ids: string[] = [];
  for (let count = 0; count < 500; count++) {
    const response = await lab.engine.create({ model: 'scripted', input: 'hi' });
    await response.settled;
    ids.push(response.id);
  }
  await lab.settle();
  assert.deepEqual([lab.engine.endedCount, lab.engine.liveCount], [kept, 3]);
  for (const [index, id] of ids.entries()) {
    const lives = index >= 500 - kept;
    assert.equal(lab.engine.get(id) !== null, lives);
    assert.equal((await lab.engine.store.load(id, '', new AbortController().signal)) !== null, lives);
  }
  for (const response of suspended) {
    await lab.append(response, output(callIdsOf(response)[0], 'thanks'));
    assert.equal((await response.settled).outcome.status, 'completed');
  }
});

test('ended Responses go by the bytes of their logs too', async () => {
  const lab = new Lab(() => turn(say('word '.repeat(200))), {
    engine: { limits: { endedResponsesBytesMax: 10_000 } },
  });
  const first = await lab.create();
  assert.ok(first.logBytes > 2500 && first.logBytes < 10_000);
  for (let count = 0; count < 10; count++) await lab.create();
  assert.equal(lab.engine.endedCount, Math.floor(10_000 / first.logBytes));
  assert.equal(lab.engine.get(first.id), null);
});
