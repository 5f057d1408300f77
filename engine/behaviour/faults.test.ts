/** Faults of stages, store, tokenizer and model: what the client is told, and that post-inference still runs. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { deferred } from '../clock.js';
import { MemoryStore } from '../memory-store.js';
import { ProtocolError } from '../protocol/errors.js';
import type { Stage } from '../stages.js';
import {
  call,
  callIdsOf,
  eventsOf,
  eventsOfType,
  Lab,
  output,
  postRuns,
  say,
  turn,
  typesOf,
} from '../testing/lab.js';

/** A stage of a test's own, which does nothing where the test says nothing else. */
function stage(name: string, phases: Stage['phases'], fields: Partial<Stage> = {}): Stage {
  return { name, phases, reads: 'new', refuses: false, critical: true, run: () => undefined, ...fields };
}

test('a store that fails to write fails the Response, which is never shown as completed (B36)', async () => {
  const store = new MemoryStore();
  store.save = () => Promise.reject(new Error('disk full at /var/db'));
  const lab = new Lab([turn(say('done'))], { engine: { store } });
  const response = await lab.create();
  const { outcome } = await response.settled;
  assert.ok(outcome.status === 'failed');
  assert.equal(outcome.code, 'server_error');
  assert.doesNotMatch(outcome.message, /disk/);
  const terminal = typesOf(response).filter((type) => /completed|failed|incomplete/.test(type));
  assert.deepEqual(terminal, ['response.failed']);
  assert.equal(lab.engine.get(response.id)?.snapshot().status, 'failed');
  assert.deepEqual(postRuns(response), [1, 1, 1]);
  assert.equal(store.bills[0]?.status, 'failed');
});

test('where a client asks not to store, nothing is stored', async () => {
  const lab = new Lab([turn(say('done')), turn(say('done'))]);
  const response = await lab.create({ store: false });
  assert.equal((await response.settled).outcome.status, 'completed');
  assert.deepEqual([lab.store.size, lab.store.bills.length], [0, 1]);
});

test('a fault of the model after response.created is one response.failed, and post-inference runs (B57)', async () => {
  for (const tokens of [0, 1]) {
    const fault = new Error('CUDA error at 0xdead');
    const lab = new Lab([{ items: [say('some words')], failAfterTokens: { tokens, fault } }]);
    const response = await lab.create();
    const events = eventsOf(response);
    const last = events.at(-1);
    assert.ok(last?.type === 'response.failed');
    assert.deepEqual(last.response.error, {
      code: 'server_error',
      message: 'The server failed to process the request.',
    });
    assert.equal(events.filter(({ type }) => type === 'response.output_text.delta').length, tokens);
    assert.deepEqual(postRuns(response), [1, 1, 1]);
    assert.deepEqual([lab.engine.liveCount, lab.model.stats.released], [0, 1]);
  }
});

test('a fault before response.created refuses the create, as an error that names no detail (B57)', async () => {
  const broken = stage('broken', ['pre'], {
    run: () => {
      throw new Error('no route to host');
    },
  });
  const lab = new Lab([turn(say('done'))], { engine: { stages: (all) => [...all, broken] } });
  await assert.rejects(lab.engine.create({ model: 'scripted' }), /no route to host/);
  assert.deepEqual([lab.engine.liveCount, lab.model.stats.opened], [0, 0]);
  assert.deepEqual(lab.store.bills, []);
});

test('a fault of an append stage refuses the append alone', async () => {
  let broken = true;
  const flaky = stage('flaky', ['append'], {
    run: () => (broken ? Promise.reject(new Error('timeout')) : undefined),
  });
  const lab = new Lab([turn(call('ls')), turn(say('done'))], {
    engine: { stages: (all) => [...all, flaky] },
  });
  const response = await lab.create();
  await assert.rejects(response.append([output('call_1', 'x')]), /timeout/);
  assert.equal(response.suspended, true);
  broken = false;
  await lab.append(response, output('call_1', 'x'));
  assert.equal((await response.settled).outcome.status, 'completed');
});

test('post stages all run, whatever one of them does, and the first fault that stays decides', async () => {
  const order: string[] = [];
  const note = (name: string, fault?: Error): Stage =>
    stage(name, ['post'], {
      refuses: fault instanceof ProtocolError,
      run: () => {
        order.push(name);
        if (fault !== undefined) throw fault;
      },
    });
  const stages = [
    note('refuse', new ProtocolError('invalid_prompt', 'no')),
    note('fail', new Error('broken')),
    note('last'),
  ];
  const lab = new Lab([turn(say('done'))], { engine: { stages: (all) => [...all, ...stages] } });
  const response = await lab.create();
  assert.equal((await response.settled).outcome.status, 'failed');
  assert.deepEqual(order, ['refuse', 'fail', 'last']);
});

test('post-inference has a bound of its own, at which the Response fails and the stages left still run', async () => {
  const unhandled: unknown[] = [];
  const note = (fault: unknown) => void unhandled.push(fault);
  process.on('unhandledRejection', note);
  const deaf = stage('deaf', ['post'], { run: () => deferred<void>().promise });
  const late = stage('late', ['post'], {
    run: async ({ signal }) => {
      await Promise.resolve();
      signal.throwIfAborted();
    },
  });
  const lab = new Lab([turn(say('done'))], {
    engine: { stages: (all) => [deaf, ...all, late], limits: { postMsMax: 1000 } },
  });
  const response = await lab.create();
  await lab.clock.advance(999);
  assert.equal(response.settlement, null);
  await lab.clock.advance(1);
  const { outcome } = await response.settled;
  assert.ok(outcome.status === 'failed');
  assert.match(outcome.message, /1000 ms/);
  assert.deepEqual(postRuns(response), [1, 1, 1]);
  assert.equal(lab.store.bills.length, 1);
  process.off('unhandledRejection', note);
  assert.deepEqual(unhandled, []);
});

test('a stage off the critical path runs after the terminal event and holds nobody up', async () => {
  const wait = deferred<void>();
  const slowBill = stage('ledger', ['post'], { critical: false, run: () => wait.promise });
  const lab = new Lab([turn(say('done'))], { engine: { stages: (all) => [...all, slowBill] } });
  const response = await lab.create();
  assert.equal(typesOf(response).at(-1), 'response.completed');
  assert.deepEqual([response.settlement?.outcome.status, lab.engine.liveCount], ['completed', 1]);
  wait.resolve();
  await lab.settle();
  assert.equal((await response.settled).outcome.status, 'completed');
  assert.deepEqual([lab.engine.liveCount, eventsOfType(response, 'response.completed').length], [0, 1]);
});

test('a tokenizer that breaks while a turn ends fails the Response, and post-inference still runs', async () => {
  let broken = false;
  const lab = new Lab(
    () => {
      broken = true;
      return turn(say('done'));
    },
    {
      engine: {
        tokenizer: {
          encode: (text) => {
            if (broken) throw new Error('out of memory');
            return new Uint32Array(text.length);
          },
        },
      },
    },
  );
  const response = await lab.create();
  assert.equal((await response.settled).outcome.status, 'failed');
  assert.deepEqual(postRuns(response), [1, 1, 1]);
  assert.deepEqual(callIdsOf(response), []);
  assert.equal(lab.model.stats.released, 1);
});
