import { once } from 'node:events';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { Worker } from 'node:worker_threads';

import { deferred } from './clock.js';
import type { LiveResponse } from './live-response.js';
import { ProtocolError } from './protocol/errors.js';
import type { Stage } from './stages.js';
import type { Traces } from './testing/crowd.js';
import { call, callIdsOf, Lab, output, read, refusal, say, turn, typesOf } from './testing/lab.js';

/** Plays a crowd in a thread of its own. */
async function crowd(count: number): Promise<Traces> {
  const worker = new Worker(new URL('./testing/crowd.js', import.meta.url), { workerData: count });
  const [traces] = await once(worker, 'message');
  await worker.terminate();
  return traces;
}

test('a thousand rollouts side by side give the same logs at the same times, run for run', async () => {
  const [one, two] = await Promise.all([crowd(1000), crowd(1000)]);
  assert.deepEqual(one, two);
  assert.equal(new Set(one.hashes).size, 1000, 'and no two rollouts alike');
  assert.deepEqual([one.live, one.pending], [0, 0]);
});

const suspending = [turn(call('ls')), turn(say('done'))];

test('a create over the bound of live Responses is told when to come again, and nothing suspended is evicted (E1)', async () => {
  const lab = new Lab(suspending, { engine: { limits: { liveResponsesMax: 3 } } });
  const held = [await lab.create(), await lab.create(), await lab.create()];
  for (let attempt = 0; attempt < 3; attempt++) {
    const refused = await refusal(lab.create());
    assert.deepEqual([refused.code, refused.status], ['rate_limit_exceeded', 429]);
    assert.deepEqual(refused.toBody().headers, { 'retry-after': '1' });
  }
  assert.deepEqual([lab.engine.liveCount, lab.engine.suspendedCount, lab.model.stats.opened], [3, 3, 3]);
  const [first] = held;
  assert.ok(first !== undefined);
  await lab.append(first, output(callIdsOf(first)[0], 'x'));
  assert.equal((await first.settled).outcome.status, 'completed');
  const next = await lab.create();
  assert.equal(next.suspended, true, 'a slot that has become free is given again');
});

test('creates that are being admitted count, so that a burst does not pass the bound (E1)', async () => {
  const gate = deferred<void>();
  const slow: Stage = {
    name: 'slow',
    phases: ['pre'],
    reads: 'new',
    refuses: false,
    critical: true,
    run: () => gate.promise,
  };
  const lab = new Lab(suspending, {
    engine: { limits: { liveResponsesMax: 2 }, stages: (standard) => [slow, ...standard] },
  });
  const creates = Array.from({ length: 5 }, () => lab.engine.create({ model: 'scripted', input: 'hi' }));
  const settled = Promise.allSettled(creates);
  gate.resolve();
  const made = (await settled).filter(({ status }) => status === 'fulfilled').length;
  assert.ok(made <= 2, `${made} were made`);
  await lab.settle();
  assert.equal(lab.engine.liveCount, made);
  assert.equal((await lab.create()).suspended || made === 2, true);
});

test('a refused create takes no slot and runs nothing after it', async () => {
  const lab = new Lab(suspending);
  for (const request of [{ model: 'unserved' }, { model: 5 }, { input: 7 }, { background: true }])
    assert.ok((await refusal(lab.create(request))) instanceof ProtocolError);
  assert.deepEqual([lab.engine.liveCount, lab.engine.endedCount, lab.model.stats.opened], [0, 0, 0]);
  assert.deepEqual(
    Object.keys(lab.engine.stageRuns).filter((key) => key.startsWith('post')),
    [],
  );
});

test('a live Response and an ended one are found by their own credential, and by no other (E2, P43)', async () => {
  const lab = new Lab(suspending);
  const response = await lab.create('hi', { credential: 'mine' });
  assert.equal(lab.engine.get(response.id, 'mine'), response);
  for (const other of ['', 'yours']) assert.equal(lab.engine.get(response.id, other), null);
  assert.equal(lab.engine.get('resp_none', 'mine'), null);
  response.cancel();
  await response.settled;
  assert.equal(lab.engine.get(response.id, 'mine'), response);
  assert.equal(lab.engine.get(response.id, 'yours'), null);
});

async function endMany(lab: Lab, count: number): Promise<LiveResponse[]> {
  const ended: LiveResponse[] = [];
  for (let index = 0; index < count; index++) {
    const response = await lab.create();
    await response.settled;
    ended.push(response);
  }
  return ended;
}

test('ended Responses are kept up to their number, the oldest go first, and suspended ones stay (B127)', async () => {
  const lab = new Lab(({ context }) => turn(context.tokens > 10 ? call('ls') : say('done')), {
    engine: { limits: { endedResponsesMax: 3 } },
  });
  const suspended = await lab.create('a long enough request');
  assert.equal(suspended.suspended, true);
  const ended = await endMany(lab, 10);
  assert.equal(lab.engine.endedCount, 3);
  const found = ended.map(({ id }) => lab.engine.get(id) !== null);
  assert.deepEqual(found, [...Array.from({ length: 7 }, () => false), true, true, true]);
  assert.equal(lab.engine.get(suspended.id), suspended);
  assert.equal((await lab.append(suspended, output(callIdsOf(suspended)[0], 'x'))).required_input.length, 0);
});

test('ended Responses are kept up to their bytes, and one that is larger than that is not kept', async () => {
  const one = new Lab([turn(say('done'))]);
  const [sample] = await endMany(one, 1);
  const bytes = sample?.logBytes ?? 0;
  assert.ok(bytes > 0);
  const two = new Lab([turn(say('done'))], { engine: { limits: { endedResponsesBytesMax: 2 * bytes } } });
  await endMany(two, 5);
  assert.equal(two.engine.endedCount, 2);
  const none = new Lab([turn(say('done'))], { engine: { limits: { endedResponsesBytesMax: bytes - 1 } } });
  await endMany(none, 2);
  assert.equal(none.engine.endedCount, 0);
});

test('live Responses are listed from the oldest on', async () => {
  const lab = new Lab(suspending);
  const made = [await lab.create(), await lab.create(), await lab.create()];
  made[1]?.cancel();
  await lab.settle();
  assert.deepEqual(lab.engine.live(), [made[0], made[2]]);
});

test('an engine at the end of its scope cancels what lives and waits for it', async () => {
  const told: string[] = [];
  let response: LiveResponse;
  {
    const lab = new Lab(suspending, {
      engine: { onSettled: ({ id }, { outcome }) => void told.push(`${id} ${outcome.status}`) },
    });
    await using _engine = lab.engine;
    response = await lab.create();
    assert.equal(response.suspended, true);
  }
  assert.deepEqual(told, [`${response.id} cancelled`]);
  assert.equal(typesOf(response).at(-1), 'response.incomplete');
});

test('a Response at the end of its scope is cancelled, and has settled', async () => {
  const lab = new Lab(suspending);
  let kept: LiveResponse;
  {
    await using response = await lab.create();
    kept = response;
  }
  assert.equal(kept.settlement?.outcome.status, 'cancelled');
  await lab.settle();
  assert.deepEqual([lab.engine.liveCount, lab.clock.pending], [0, 0]);
});

test('an engine that ends while a create is being admitted refuses it and is not held up by it', async () => {
  const deaf: Stage = {
    name: 'deaf',
    phases: ['pre'],
    reads: 'new',
    refuses: false,
    critical: true,
    run: () => new Promise(() => undefined),
  };
  const lab = new Lab(suspending, { engine: { stages: (standard) => [deaf, ...standard] } });
  const refused = refusal(lab.engine.create({ model: 'scripted', input: 'hi' }));
  assert.equal(lab.engine.liveCount, 1);
  await lab.engine[Symbol.asyncDispose]();
  assert.equal((await refused).code, 'server_shutting_down');
  assert.deepEqual([lab.engine.liveCount, lab.clock.pending], [0, 0]);
});

test('each settled Response is told of once, with what it took', async () => {
  const told: [string, string, number][] = [];
  const lab = new Lab(suspending, {
    engine: {
      onSettled: (response, { outcome, turns }) => void told.push([response.id, outcome.status, turns]),
    },
  });
  const response = await lab.create();
  const { events, ended } = read(response);
  await lab.append(response, output(callIdsOf(response)[0], 'x'));
  await ended;
  await lab.settle();
  response.cancel();
  await lab.settle();
  assert.deepEqual(told, [[response.id, 'completed', 2]]);
  assert.equal(events.length, response.lastNumber + 1);
});

test('limits of one create bind that rollout alone, and one that is no limit is refused', async () => {
  const lab = new Lab(suspending);
  const [short, long] = [await lab.create('hi', { limits: { suspensionMsMax: 1000 } }), await lab.create()];
  await lab.clock.advance(1000);
  assert.deepEqual([short.settlement?.outcome.status, long.suspended], ['incomplete', true]);
  await assert.rejects(lab.create('hi', { limits: { suspensionMsMax: -1 } }), RangeError);
  assert.equal(lab.engine.liveCount, 1);
});
