import assert from 'node:assert/strict';

import { deferred } from '../../engine/clock.js';
import type { Stage } from '../../engine/index.js';
import { call, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, checkStream, ofType } from '../testing/events.js';
import { overEveryWire, type ServeOptions } from '../testing/wire.js';

const script = [turn(call('ls')), turn(say('done'))];
const create = { type: 'response.create', event_id: 'task 7', model: 'm', input: 'hi' };

/** A pre stage that waits for the test. */
function gated(): { readonly options: ServeOptions; readonly reached: Promise<void>; open(): void } {
  const reached = deferred<void>();
  const opened = deferred<void>();
  const gate: Stage = {
    name: 'gate',
    phases: ['pre'],
    reads: 'new',
    refuses: false,
    critical: true,
    async run() {
      reached.resolve();
      await opened.promise;
    },
  };
  const options = { engine: { stages: (standard: Stage[]) => [...standard, gate] } };
  return { options, reached: reached.promise, open: opened.resolve };
}

overEveryWire(
  'a create sent again on a new socket is the same rollout, from its first event',
  async (wire) => {
    await using serving = await wire.serve(script);
    const first = await serving.connect();
    first.send(create);
    const before = await first.through('response.done');
    first.drop();
    await using second = await serving.connect();
    second.send(create);
    assert.deepEqual(await second.through('response.done'), before);
    assert.equal(serving.lab.engine.stageRuns['pre.validate']?.runs, 1);
    second.append(ofType(before, 'response.created')[0]?.response.id ?? '', output(callIds(before)[0], 'x'));
    await second.until('response.completed');
    checkStream(second.received);
    second.send({ ...create, input: 'whatever it says now' });
    assert.deepEqual(
      await second.through('response.completed'),
      second.received.slice(0, second.received.length / 2),
    );
    assert.equal(serving.lab.engine.stageRuns['pre.validate']?.runs, 1);
  },
);

overEveryWire('two equal creates at once are one rollout, on one socket and on two', async (wire) => {
  const gate = gated();
  await using serving = await wire.serve(script, gate.options);
  await using first = await serving.connect();
  await using second = await serving.connect();
  first.sendTogether(create, create);
  await gate.reached;
  second.send(create);
  await second.rest();
  gate.open();
  const { response } = await second.until('response.created');
  await second.until('response.done');
  const [superseded] = ofType(await first.rest(), 'error');
  assert.deepEqual([superseded?.error.code, superseded?.response_id], ['superseded', response.id]);
  assert.equal(serving.lab.engine.liveCount, 1);
  assert.equal(serving.lab.engine.stageRuns['pre.validate']?.runs, 1);
});

overEveryWire(
  'a socket that dies before its create is admitted loses nothing to the next one (B131)',
  async (wire) => {
    const gate = gated();
    await using serving = await wire.serve(script, gate.options);
    const first = await serving.connect();
    first.send(create);
    await gate.reached;
    first.drop();
    await serving.closings.next();
    await using second = await serving.connect();
    second.send(create);
    await second.rest();
    gate.open();
    await second.until('response.done');
    await serving.lab.clock.advance(20 * 60_000);
    assert.equal(serving.lab.engine.suspendedCount, 1, 'no grace time runs');
  },
);

overEveryWire(
  'a Response whose socket died before it was admitted has its grace time, then ends (B131)',
  async (wire) => {
    const gate = gated();
    await using serving = await wire.serve(script, gate.options);
    const { clock, engine } = serving.lab;
    const peer = await serving.connect();
    peer.send(create);
    await gate.reached;
    peer.drop();
    await serving.closings.next();
    gate.open();
    await clock.advance(10 * 60_000 - 1);
    assert.equal(engine.suspendedCount, 1);
    await clock.advance(1);
    assert.deepEqual([engine.liveCount, engine.stageRuns['post.bill']?.runs], [0, 1]);
  },
);

overEveryWire('a refused create is forgotten, so that its event_id may be used again', async (wire) => {
  await using serving = await wire.serve(script);
  await using peer = await serving.connect();
  peer.send({ ...create, model: 'unserved' });
  const refused = await peer.until('error');
  assert.deepEqual([refused.event_id, refused.error.code], ['task 7', 'model_not_found']);
  peer.send(create);
  await peer.until('response.done');
});

overEveryWire('what was forgotten is not run a second time for a resend', async (wire) => {
  await using serving = await wire.serve([turn(say('done'))], { limits: { endedResponsesMax: 0 } });
  await using peer = await serving.connect();
  peer.send(create);
  const { response } = await peer.until('response.completed');
  await serving.lab.settle();
  peer.send(create);
  const refused = await peer.until('error');
  assert.deepEqual(
    [refused.error.code, refused.event_id, refused.response_id],
    ['response_not_found', 'task 7', response.id],
  );
  assert.equal(serving.lab.engine.stageRuns['pre.validate']?.runs, 1);
});

overEveryWire(
  'a resend for a Response whose first events are gone is refused and names it (B30)',
  async (wire) => {
    await using serving = await wire.serve([turn(say('x'.repeat(800)), call('ls'))], {
      decodeTokensPerSecond: 10,
      deltaTokensMax: 1,
      limits: { logBytesMax: 20_000 },
    });
    await using peer = await serving.connect();
    peer.send(create);
    await serving.lab.settle();
    await peer.until('response.created');
    await serving.lab.clock.advance(30_000);
    const { response_id } = await peer.until('response.done');
    const other = await peer.create();
    peer.send(create);
    const refused = await peer.until('error');
    assert.deepEqual([refused.error.code, refused.response_id], ['replay_expired', response_id]);
    peer.attach(response_id, refused.sequence_number);
    assert.equal((await peer.until('response.attached')).required_input.length, 1);
    await serving.lab.clock.advance(30_000);
    assert.equal(
      (await peer.until('response.done')).response_id,
      other,
      'the socket and its other Responses go on',
    );
  },
);

overEveryWire('only so many creates are remembered, the oldest are forgotten first', async (wire) => {
  await using serving = await wire.serve([turn(say('done'))], { limits: { eventIdsMax: 2 } });
  await using peer = await serving.connect();
  const idOf = async (event_id: string): Promise<string> => {
    peer.send({ ...create, event_id });
    return (await peer.until('response.completed')).response.id;
  };
  const [a, b, c] = [await idOf('a'), await idOf('b'), await idOf('c')];
  assert.equal(await idOf('b'), b);
  assert.equal(await idOf('c'), c);
  assert.notEqual(await idOf('a'), a);
});

overEveryWire('on a chain socket an event_id is echoed in errors and nothing more', async (wire) => {
  await using serving = await wire.serve([turn(say('done'))]);
  await using peer = await serving.connect({ design: 'chain' });
  peer.sendTogether(create, create, { ...create, model: 'unserved' });
  const ids = [];
  for (const _ of [1, 2]) ids.push((await peer.until('response.completed')).response.id);
  assert.equal(new Set(ids).size, 2);
  assert.equal((await peer.until('error')).event_id, 'task 7');
});
