/** A caller that leaves, and an engine that is disposed of. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { deferred } from '../clock.js';
import type { Stage } from '../stages.js';
import { call, eventsOf, eventsOfType, Lab, postRuns, refusal, say, turn } from '../testing/lab.js';

const slow = { firstTokenMs: 100, decodeTokensPerSecond: 1000, tickMs: 0 };

test('no event of a cancelled Response comes after another one has begun, and all name theirs (B109)', async () => {
  const lab = new Lab([turn(say('one two three four'))], slow);
  const first = await lab.create();
  await lab.clock.advance(101);
  first.cancel();
  await first.settled;
  const { lastNumber } = first;
  const second = await lab.create();
  await lab.clock.runToIdle();
  assert.equal(first.lastNumber, lastNumber);
  const ids = [first, second].map((response) =>
    eventsOf(response).map((event) => {
      const named = event as { response?: { id: string }; item?: { id: string }; item_id?: string };
      return named.response?.id ?? named.item?.id ?? named.item_id ?? null;
    }),
  );
  assert.equal(ids.flat().includes(null), false);
  assert.deepEqual(
    ids[0]?.filter((id) => ids[1]?.includes(id)),
    [],
  );
});

test('a client that leaves between the last delta and the end is billed once, and post-inference runs (B114)', async () => {
  const lab = new Lab([{ items: [say('all that is said')], stallAfterTokens: 4 }], slow);
  const response = await lab.create();
  await lab.clock.advance(500);
  assert.equal(
    eventsOfType(response, 'response.output_text.delta')
      .map(({ delta }) => delta)
      .join(''),
    'all that is said',
  );
  response.cancel('disconnected');
  await lab.settle();
  assert.deepEqual((await response.settled).outcome, { status: 'cancelled', reason: 'disconnected' });
  assert.deepEqual(postRuns(response), [1, 1, 1]);
  assert.deepEqual(
    lab.store.bills.map((bill) => [bill.uncached_input_tokens, bill.output_tokens]),
    [['<user<hi>'.length, 4]],
  );
  assert.equal(lab.model.stats.aborted, 1);
});

test('disposing of the engine ends what lives, what is suspended and what is still being admitted', async () => {
  const wait = deferred<void>();
  const gate: Stage = {
    name: 'gate',
    phases: ['pre'],
    reads: 'new',
    refuses: true,
    critical: true,
    run: ({ request }) => (request.metadata?.['gate'] === 'shut' ? wait.promise : undefined),
  };
  const lab = new Lab([turn(call('ls'))], { engine: { stages: (standard) => [...standard, gate] } });
  const response = await lab.create();
  const refused = refusal(lab.engine.create({ model: 'scripted', metadata: { gate: 'shut' } }));
  await lab.settle();
  assert.equal(lab.engine.liveCount, 2);
  await lab.engine[Symbol.asyncDispose]();
  assert.equal((await response.settled).outcome.status, 'cancelled');
  assert.equal((await refused).code, 'server_shutting_down');
  assert.equal(lab.engine.liveCount, 0);
  assert.equal(lab.store.bills.length, 1);
});
