import assert from 'node:assert/strict';

import { deferred, type Stage } from '../../engine/index.js';
import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { checkStream, ofType } from '../testing/events.js';
import { overEveryNetwork, overEveryWire, type Serving } from '../testing/wire.js';

const script = [turn(call('ls')), turn(say('done'))];

/** Turns of the loop until something is so. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}

function postRuns({ lab }: Serving): number {
  return lab.engine.stageRuns['post.bill']?.runs ?? 0;
}

/** A stage before inference that waits for the test. */
function gate() {
  const { promise, resolve } = deferred<void>();
  let passed = 0;
  const stage: Stage = {
    name: 'gate',
    phases: ['pre'],
    reads: 'new',
    refuses: true,
    critical: true,
    async run() {
      passed += 1;
      await promise;
      return {};
    },
  };
  return { open: resolve, stage, arrived: () => passed > 0 };
}

for (const stream of [false, true])
  for (const design of ['chain', 'replay', 'shim', 'append'] as const) {
    if (design === 'append' && !stream) continue;
    const shape = stream ? 'a stream' : 'JSON';

    overEveryWire(
      `${design}: the client of ${shape} goes while its create is being admitted (P48, P81)`,
      async (wire) => {
        const { open, stage, arrived } = gate();
        const engine = { stages: (standard: Stage[]) => [stage, ...standard] };
        await using serving = await wire.serve(script, { engine, limits: { graceMsMax: 5000 } });
        const dropped = new AbortController();
        const http = serving.http({ design });
        const asked = stream ? http.stream({}, dropped.signal) : http.create({}, dropped.signal);
        await until(arrived);
        dropped.abort();
        await assert.rejects(asked);
        for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
        open();
        const [rollout] = serving.lab.engine.live();
        assert.ok(rollout);
        await until(() => rollout.suspended || rollout.settlement !== null);
        if (design === 'shim' || design === 'append') {
          assert.equal(rollout.suspended, true, 'it goes on, for a client that may come back');
          await until(() => serving.server.host.holders.holderOf(rollout) === null);
          await serving.lab.clock.advance(4999);
          assert.equal(rollout.settlement, null);
          await serving.lab.clock.advance(1);
        }
        const { outcome } = await rollout.settled;
        assert.deepEqual(outcome, { status: 'cancelled', reason: 'disconnected' });
        await until(() => postRuns(serving) === 1);
        assert.equal(serving.lab.engine.liveCount, 0);
      },
    );

    overEveryWire(
      `${design}: the client of ${shape} goes while the model speaks (P48, P81, B110, B114)`,
      async (wire) => {
        await using serving = await wire.serve(script, {
          firstTokenMs: 10_000,
          limits: { graceMsMax: 5000 },
        });
        const dropped = new AbortController();
        const http = serving.http({ design });
        const events = stream ? await http.stream() : null;
        const asked = stream ? null : assert.rejects(http.create({}, dropped.signal));
        await events?.until('response.created');
        await until(() => serving.lab.turns.length === 1);
        const [rollout] = serving.lab.engine.live();
        assert.ok(rollout);
        await until(() => rollout.lastNumber >= 1);
        events?.stream.drop();
        dropped.abort();
        await asked;
        if (design === 'chain' || design === 'replay') {
          const { outcome } = await rollout.settled;
          assert.deepEqual(outcome, { status: 'cancelled', reason: 'disconnected' });
          assert.equal(serving.lab.model.stats.aborted, 1, 'the model stops in the same step');
        } else {
          await until(() => serving.server.host.holders.holderOf(rollout) === null);
          await serving.lab.clock.advance(4999);
          assert.equal(rollout.settlement, null);
          await serving.lab.clock.advance(1);
          await rollout.settled;
        }
        assert.deepEqual([postRuns(serving), serving.lab.engine.liveCount], [1, 0]);
      },
    );
  }

overEveryWire(
  'shim: a rollout whose client left goes on, and is adopted by its history over HTTP (P81, B23)',
  async (wire) => {
    await using serving = await wire.serve(script, { firstTokenMs: 1000 });
    const http = serving.http({ design: 'shim' });
    const events = await http.stream({ input: [message('hi')], prompt_cache_key: 'mine' });
    await events.until('response.created');
    const [rollout] = serving.lab.engine.live();
    assert.ok(rollout);
    events.stream.drop();
    await until(() => serving.server.host.holders.holderOf(rollout) === null);
    await serving.lab.clock.advance(1000);
    const again = await http.turn({ input: [message('hi')], prompt_cache_key: 'mine' });
    checkStream(again);
    const { output: items = [] } = ofType(again, 'response.completed')[0]?.response ?? {};
    const history = [message('hi'), ...items, output(String(items[0]?.['call_id']), 'x')];
    const [told] = await Promise.all([
      http.create({ input: history, prompt_cache_key: 'mine' }),
      until(() => serving.lab.turns.length === 2).then(() => serving.lab.clock.advance(1000)),
    ]);
    assert.equal(told.response.status, 'completed');
    assert.deepEqual([serving.lab.engine.stageRuns['pre.validate']?.runs, postRuns(serving)], [1, 1]);
  },
);

overEveryNetwork('a client that goes before its body is whole has asked for nothing', async (wire) => {
  await using serving = await wire.serve(script);
  const dropped = new AbortController();
  const asked = serving.listening.exchange(
    'POST',
    '/v1/responses?design=chain',
    { 'content-length': '1000' },
    '{"model":"m","input":"',
    dropped.signal,
  );
  await new Promise(setImmediate);
  dropped.abort();
  await assert.rejects(asked);
  assert.equal((await serving.http({ design: 'chain' }).create()).status, 200);
  assert.equal(serving.lab.turns.length, 1);
});
