import assert from 'node:assert/strict';

import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { checkStream, ofType } from '../testing/events.js';
import type { HttpPeer, Told } from '../testing/http-peer.js';
import { overEveryWire, type Serving } from '../testing/wire.js';

const script = [turn(say('let me look'), call('ls')), turn(say('done'))];
const designs = ['append', 'chain', 'shim', 'replay'] as const;
const slow = { decodeTokensPerSecond: 10, deltaTokensMax: 1 };

function refusalOf(told: Told): unknown[] {
  const { code, param } = told.error;
  return [told.status, code, param];
}

const unknown = [404, 'response_not_found', 'response_id'];
const ended = [409, 'response_already_completed', 'response_id'];
const runs = [409, 'response_not_completed', 'response_id'];

function postRuns({ lab }: Serving): unknown {
  return lab.engine.stageRuns['post.bill']?.runs ?? 0;
}

for (const design of designs)
  overEveryWire(
    `${design}: a response that runs is cancelled by id, once, and its reader is told`,
    async (wire) => {
      await using serving = await wire.serve([turn(say('a'.repeat(400)))], slow);
      const http = serving.http({ design });
      const events = await http.stream();
      const { response } = await events.until('response.created');
      await serving.lab.clock.advance(1000);
      assert.deepEqual(refusalOf(await http.remove(response.id)), runs);
      const cancelled = (await http.cancel(response.id)).response;
      assert.deepEqual([cancelled.id, cancelled.status], [response.id, 'cancelled']);
      assert.deepEqual(cancelled.incomplete_details, { reason: 'cancelled' });
      const [last] = ofType(await events.rest(), 'response.incomplete');
      checkStream(events.taken);
      assert.deepEqual(last?.response.output, cancelled.output, 'what was said until then, in both');
      assert.equal(cancelled.output.length, 1);
      assert.deepEqual((await http.get(response.id)).response, last?.response);
      assert.deepEqual(refusalOf(await http.cancel(response.id)), ended);
      assert.deepEqual([serving.lab.engine.liveCount, postRuns(serving)], [0, 1]);
    },
  );

for (const design of ['chain', 'shim', 'replay'] as const)
  overEveryWire(`${design}: whoever waits for JSON gets the cancelled response`, async (wire) => {
    await using serving = await wire.serve([turn(say('a'.repeat(400)))], slow);
    const http = serving.http({ design });
    const waiting = http.create();
    const [turned] = await Promise.all([began(serving), serving.lab.clock.advance(1000)]);
    const cancelled = (await http.cancel(turned)).response;
    assert.equal(cancelled.status, 'cancelled');
    assert.deepEqual((await waiting).response, cancelled);
  });

/** The id of the one response that has begun. */
async function began(serving: Serving): Promise<string> {
  for (;;) {
    const [rollout] = serving.lab.engine.live();
    // The shim shows its first response under the id that it minted next.
    for (const id of rollout === undefined || rollout.lastNumber < 1 ? [] : [rollout.id, 'resp_2'])
      if (serving.server.host.turns.get(id, 'open') !== null) return id;
    await new Promise(setImmediate);
  }
}

overEveryWire(
  'a hand-off of the shim has ended; a suspended Response of the append design has not',
  async (wire) => {
    await using serving = await wire.serve(script);
    const shim = serving.http({ design: 'shim' });
    const { id } = (await shim.create()).response;
    assert.deepEqual(refusalOf(await shim.cancel(id)), ended);
    const append = serving.http({ design: 'append' });
    const events = await append.stream();
    const { response_id: suspended } = await events.until('response.done');
    assert.equal((await append.get(suspended)).response.status, 'in_progress');
    assert.deepEqual(refusalOf(await append.remove(suspended)), runs);
    const cancelled = (await append.cancel(suspended)).response;
    assert.deepEqual(cancelled.incomplete_details, { reason: 'cancelled' });
    assert.equal(cancelled.output[1]?.['status'], 'incomplete', 'a call that nobody answered (B107)');
    const [last] = ofType(await events.rest(), 'response.incomplete');
    assert.deepEqual(last?.response, cancelled);
  },
);

/** Asks every route about an id, and says what each answered, less the id. */
async function answers(http: HttpPeer, id: string): Promise<unknown[]> {
  const told = [
    await http.get(id),
    await http.ask('HEAD', `/v1/responses/${id}`),
    await http.ask('GET', `/v1/responses/${id}?stream=true`),
    await http.ask('GET', `/v1/responses/${id}?stream=true&starting_after=3`),
    await http.inputItems(id),
    await http.cancel(id),
    await http.append(id, message('x')),
    await http.remove(id),
    await http.create({ previous_response_id: id }),
    await http.refusedStream({ previous_response_id: id }),
    await http.ask('POST', '/v1/responses/input_tokens', { model: 'm', previous_response_id: id }),
    await http.ask('POST', '/v1/responses/compact', { model: 'm', previous_response_id: id }),
  ];
  return told.map(({ status, text, headers }) => {
    const { date: _, ...others } = headers;
    return [status, text.replaceAll(id, 'ID'), { ...others, 'content-length': '' }];
  });
}

const nobodys = 'resp_x';

for (const design of designs)
  overEveryWire(
    `${design}: what was deleted is unknown to every route, like an id that never was`,
    async (wire) => {
      await using serving = await wire.serve(() => turn(say('done')));
      serving.keepNoConnections();
      const http = serving.http({ design });
      const [created] = ofType(await http.turn(), 'response.created');
      const id = created?.response.id ?? '';
      const removed = await http.remove(id);
      assert.deepEqual([removed.status, removed.body], [200, { id, object: 'response', deleted: true }]);
      const asked = await answers(http, id);
      assert.deepEqual(asked, await answers(http, nobodys));
      for (const [status] of asked as [number][]) assert.ok(status === 404 || status === 400, String(status));
      assert.deepEqual(refusalOf(await http.remove(id)), unknown);
      assert.equal(serving.lab.store.size, 0, 'nothing of it is stored any more');
    },
  );

for (const design of designs)
  overEveryWire(
    `${design}: another caller's response and one that never was get equal bytes on every route (P43, B27, E2)`,
    async (wire) => {
      await using serving = await wire.serve([turn(call('ls')), turn(say('x'))], { keys: ['alice', 'bob'] });
      serving.keepNoConnections();
      const alice = serving.http({ design, key: 'alice' });
      const events = await alice.stream({ prompt_cache_key: 'shared' });
      const { response } = await events.until('response.created');
      if (design === 'append') await events.until('response.done');
      else await events.rest();
      const bob = serving.http({ design, key: 'bob' });
      assert.deepEqual(await answers(bob, response.id), await answers(bob, nobodys));
      const peer = serving.http({ design: 'append', key: 'bob' });
      assert.deepEqual(await answers(peer, response.id), await answers(peer, nobodys));
      assert.equal((await alice.get(response.id)).status, 200, 'and hers is as it was');
      const again = await serving.http({ design, key: 'eve' }).get(response.id);
      assert.deepEqual(refusalOf(again), [401, 'invalid_api_key', null]);
    },
  );

overEveryWire('a rollout of the shim goes with the newest of its responses', async (wire) => {
  await using serving = await wire.serve([turn(call('ls')), turn(call('ls')), turn(say('done'))]);
  const http = serving.http({ design: 'shim' });
  const ids: string[] = [];
  let fields = {};
  for (let count = 0; count < 3; count++) {
    const { id, output: items } = (await http.create(fields)).response;
    ids.push(id);
    fields = { previous_response_id: id, input: [output(String(items[0]?.['call_id']), 'x')] };
  }
  const [first = '', second = '', third = ''] = ids;
  await http.remove(first);
  assert.deepEqual(refusalOf(await http.get(first)), unknown);
  checkStream(await (await http.follow(second)).rest());
  assert.equal(serving.lab.store.size, 1);
  await http.remove(third);
  assert.equal(serving.lab.store.size, 0);
  assert.equal((await http.get(second)).response.status, 'completed');

  const suspended = (await http.create({ store: true })).response;
  assert.equal(serving.lab.engine.liveCount, 1);
  await http.remove(suspended.id);
  assert.deepEqual(
    [serving.lab.engine.liveCount, serving.lab.store.size],
    [0, 0],
    'what waited behind it ends',
  );
});
