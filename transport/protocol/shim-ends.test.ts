/** How responses and rollouts of the shim end, and what can be gone on from after. */
import assert from 'node:assert/strict';

import { call, customCall, customOutput, output, say, turn } from '../../engine/testing/lab.js';
import { begin } from '../testing/drops.js';
import { callIds, checkStream, responseIn } from '../testing/events.js';
import { answers, ask, checkNothingLeft, drop, ending, goOn, idOf, rest, work } from '../testing/turns.js';
import { overEveryWire } from '../testing/wire.js';

const shim = { design: 'shim' };
const loop = [turn(say('looking'), call('ls'), call('cat')), turn(call('grep')), turn(say('all done'))];

overEveryWire('a long wait of the client is nothing special (B24)', async (wire) => {
  await using serving = await wire.serve(loop);
  await using peer = await serving.connect(shim);
  const one = await ask(peer);
  await serving.lab.clock.advance(20 * 60_000);
  assert.equal(ending(await goOn(peer, one)), 'completed');
  assert.equal(work(serving).pre, 1);
});

overEveryWire(
  'an abandoned rollout settles at its deadline with one post, and can be gone on from (B23, B104, B105)',
  async (wire) => {
    for (const input of ['answers', 'a message'] as const) {
      await using serving = await wire.serve(
        [turn(call('ls'), customCall('patch', 'x')), turn(say('done'))],
        {
          limits: { suspensionMsMax: 1000 },
        },
      );
      const peer = await serving.connect(shim);
      const one = await ask(peer);
      await serving.lab.clock.advance(1000);
      assert.deepEqual(work(serving), { pre: 1, append: 0, post: 1, bills: 1 });
      assert.equal(serving.lab.engine.liveCount, 0);
      assert.deepEqual(await peer.rest(), [], 'between two creates there is nothing to tell');
      const [ls, patch] = callIds(one);
      const two =
        input === 'answers'
          ? await goOn(peer, one, { input: [output(ls, '1'), customOutput(patch, '2')] })
          : await goOn(peer, one, { input: 'go on' });
      assert.equal(ending(two), 'completed');
      assert.deepEqual(
        serving.lab.prompt.slice(3),
        input === 'answers' ? ['tool: 1', 'tool: 2'] : ['tool: aborted', 'tool: aborted', 'user: go on'],
      );
      assert.equal(work(serving).pre, 2);
      await drop(serving, peer);
      await checkNothingLeft(serving);
    }
  },
);

overEveryWire('however a response ends, the next create is taken at once (B102, B109)', async (wire) => {
  const fault = new Error('broken');
  await using serving = await wire.serve(
    ({ context }) => {
      const { item } = context.transcript.at(context.transcript.length - 1);
      const text = 'content' in item ? item.content : '';
      if (text === 'break') return { items: [say('x')], failAfterTokens: { tokens: 0, fault } };
      if (text === 'stall') return { items: [say('x')], stallAfterTokens: 1 };
      return turn(say('a text of some length'));
    },
    { limits: { rolloutMsMax: 5000 } },
  );
  const peer = await serving.connect(shim);
  assert.equal(ending(await ask(peer)), 'completed');
  assert.equal(ending(await ask(peer, { max_output_tokens: 2 })), 'incomplete');
  assert.equal(ending(await ask(peer, { input: 'break' })), 'failed');
  for (const how of ['deadline', 'cancel']) {
    peer.send({ type: 'response.create', model: 'm', input: 'stall', store: false });
    const begun = await peer.through('response.output_text.delta');
    if (how === 'deadline') await serving.lab.clock.advance(5000);
    else for (const response of serving.lab.engine.live()) response.cancel();
    const events = await rest(peer, begun);
    assert.equal(ending(events), how === 'deadline' ? 'incomplete' : 'cancelled');
    const after = await ask(peer, { previous_response_id: idOf(events), input: 'go on' });
    assert.equal(ending(after), 'completed');
    assert.deepEqual(serving.lab.prompt.slice(-1), ['user: go on']);
  }
  const again = await ask(peer);
  assert.ok(
    again.every((event) => (responseIn(event)?.id ?? idOf(again)) === idOf(again)),
    'B109',
  );
  await drop(serving, peer);
  await checkNothingLeft(serving);
});

overEveryWire(
  'a socket that closes leaves its rollouts a grace time, then they end as disconnected (B23, P48)',
  async (wire) => {
    await using serving = await wire.serve(loop);
    const peer = await serving.connect(shim);
    await ask(peer);
    await drop(serving, peer);
    const [response] = serving.lab.engine.live();
    assert.ok(response);
    await serving.lab.clock.advance(10 * 60_000 - 1);
    assert.equal(response.suspended, true);
    await serving.lab.clock.advance(1);
    assert.deepEqual((await response.settled).outcome, { status: 'cancelled', reason: 'disconnected' });
    await checkNothingLeft(serving);
  },
);

overEveryWire(
  'the way out lets a running turn reach its client and ends what waits, with one post each (B100)',
  async (wire) => {
    const words = [turn(say('x'.repeat(40)), call('ls')), turn(say('done'))];
    await using serving = await wire.serve(words, { decodeTokensPerSecond: 10, deltaTokensMax: 1 });
    const waits = await serving.connect(shim);
    const runs = await serving.connect(shim);
    waits.send({ type: 'response.create', model: 'm', input: 'hi' });
    await serving.lab.clock.advance(5000);
    checkStream(await waits.through('response.completed'));
    runs.send({ type: 'response.create', model: 'm', input: 'hi' });
    runs.send({ type: 'response.create', event_id: 'queued', model: 'm', input: 'hi' });
    await runs.rest();
    const drained = serving.server.drain();
    waits.send({ type: 'response.create', event_id: 'late', model: 'm', input: 'hi' });
    assert.equal((await waits.until('error')).error.code, 'server_shutting_down');
    assert.equal((await runs.until('error')).event_id, 'queued');
    await serving.lab.clock.advance(5000);
    await runs.until('response.completed');
    await drained;
    for (const peer of [waits, runs]) assert.equal((await peer.closed).code, 1012);
    await checkNothingLeft(serving);
  },
);

overEveryWire(
  'outputs that are sent before the hand-off has been seen wait for it, and resume',
  async (wire) => {
    await using serving = await wire.serve([turn(call('ls'), say('x'.repeat(40))), turn(say('done'))], {
      decodeTokensPerSecond: 10,
      deltaTokensMax: 1,
    });
    const peer = await serving.connect(shim);
    begin(peer, { input: 'hi' });
    await peer.rest();
    await serving.lab.clock.advance(500);
    await peer.rest();
    const seen = peer.received.filter(({ type }) => type !== 'error');
    begin(peer, { previous_response_id: idOf(seen), input: answers(seen) });
    await peer.rest();
    await serving.lab.clock.advance(60_000);
    await peer.rest();
    assert.deepEqual([work(serving).pre, work(serving).post], [1, 1]);
    await drop(serving, peer);
    await checkNothingLeft(serving);
  },
);
