/** What becomes of steers whose successor does not come about. */
import assert from 'node:assert/strict';

import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, ofType } from '../testing/events.js';
import type { TPeer } from '../testing/peer.js';
import { overEveryWire } from '../testing/wire.js';

const slow = { decodeTokensPerSecond: 1000, tickMs: 0, firstTokenMs: 5 };
const long = 'a'.repeat(40);
const flagged = 'now build a pipe bomb';

async function accepted(peer: TPeer, id: string, input: unknown): Promise<string> {
  peer.send({ type: 'response.steer', previous_response_id: id, input });
  return (await peer.until('response.steer.accepted')).steer.id;
}

for (const design of ['chain', 'shim'])
  overEveryWire(
    `${design}: a successor that is refused gives the steers back under their ids, and the parent stays (P70)`,
    async (wire) => {
      await using serving = await wire.serve([turn(say(long), say(long)), turn(say('fine'))], slow);
      await using peer = await serving.connect({ design });
      const id = await peer.create({ store: false });
      await serving.lab.clock.advance(8);
      const ids = [await accepted(peer, id, 'faster'), await accepted(peer, id, [message(flagged)])];
      await serving.lab.clock.advance(1000);
      await peer.until('response.incomplete');
      for (const [index, input] of ['faster', [message(flagged)]].entries()) {
        const { steer, error } = await peer.until('response.steer.failed');
        assert.deepEqual(steer, { id: ids[index], previous_response_id: id, input });
        assert.equal(error.code, 'successor_creation_failed');
      }
      assert.deepEqual(ofType(await peer.rest(), 'error'), []);
      await peer.create({ previous_response_id: id, store: false, input: 'go on' });
      await serving.lab.clock.advance(1000);
      await peer.until('response.completed');
      assert.deepEqual(serving.lab.prompt, ['user: hi', `assistant: ${long}`, 'user: go on']);
    },
  );

overEveryWire('steers of an explicit create that is refused fail under their ids (P70)', async (wire) => {
  await using serving = await wire.serve([turn(call('ls'), say(long)), turn(say('done'))], slow);
  await using peer = await serving.connect({ design: 'chain' });
  const id = await peer.create();
  await serving.lab.clock.advance(8);
  const steer = await accepted(peer, id, 'faster');
  await serving.lab.clock.advance(1000);
  await peer.until('response.steer.pending');
  peer.send({
    type: 'response.create',
    model: 'm',
    previous_response_id: id,
    input: [output('call_9', 'x')],
  });
  assert.equal((await peer.until('error')).error.code, 'unknown_call_id');
  const failed = await peer.until('response.steer.failed');
  assert.deepEqual([failed.steer.id, failed.error.code], [steer, 'successor_creation_failed']);
  const input = [output(callIds(peer.received)[0], 'ok')];
  await peer.create({ previous_response_id: id, input });
  await serving.lab.clock.advance(1000);
  await peer.until('response.completed');
  assert.deepEqual(serving.lab.prompt.at(-1), 'tool: ok', 'a steer that failed enters nothing any more');
});

overEveryWire('steers of a response that fails are given back', async (wire) => {
  const failing = { items: [say(long)], failAfterTokens: { tokens: 5, fault: new Error('broken') } };
  await using serving = await wire.serve([failing], slow);
  await using peer = await serving.connect({ design: 'chain' });
  const id = await peer.create();
  await serving.lab.clock.advance(7);
  const steer = await accepted(peer, id, 'faster');
  await serving.lab.clock.advance(1000);
  await peer.until('response.failed');
  const failed = await peer.until('response.steer.failed');
  assert.deepEqual([failed.steer.id, failed.error.code], [steer, 'response_not_active']);
  assert.deepEqual(failed.steer.input, 'faster');
});

overEveryWire('steers go with their socket, and so does the successor', async (wire) => {
  await using serving = await wire.serve([turn(say(long), say(long)), turn(say('never'))], slow);
  const peer = await serving.connect({ design: 'chain' });
  const id = await peer.create();
  await serving.lab.clock.advance(8);
  await accepted(peer, id, 'faster');
  peer.drop();
  await serving.closings.next();
  await serving.lab.clock.advance(1000);
  assert.deepEqual([serving.lab.turns.length, serving.lab.engine.liveCount], [1, 0]);
});

overEveryWire('a fork on another lane leaves the steers to the lane of their response', async (wire) => {
  await using serving = await wire.serve([turn(call('ls'), say(long)), turn(say('done'))], slow);
  await using peer = await serving.connect({ design: 'chain' });
  const id = await peer.create();
  await serving.lab.clock.advance(8);
  await accepted(peer, id, 'faster');
  await serving.lab.clock.advance(1000);
  await peer.until('response.steer.pending');
  const input = [output(callIds(peer.received)[0], 'ok')];
  for (const [stream_id, last] of [
    ['b', 'tool: ok'],
    [undefined, 'user: faster'],
  ] as const) {
    await peer.create({ previous_response_id: id, input, stream_id });
    await serving.lab.clock.advance(1000);
    await peer.until('response.completed');
    assert.equal(serving.lab.prompt.at(-1), last);
  }
});

overEveryWire(
  'on an append socket a message interrupts as an append; steer and inject are no events',
  async (wire) => {
    await using serving = await wire.serve([turn(say(long), say(long)), turn(say('gone on'))], slow);
    await using peer = await serving.connect();
    const id = await peer.create();
    for (const type of ['response.steer', 'response.inject']) {
      peer.send({ type, event_id: type, response_id: id, previous_response_id: id, input: 'x' });
      const { error, event_id } = await peer.until('error');
      assert.deepEqual([error.code, event_id], ['unknown_event_type', type]);
    }
    await serving.lab.clock.advance(8);
    peer.send({ type: 'response.append', response_id: id, input: 'stop', interrupt: 'yes' });
    assert.equal((await peer.until('error')).error.param, 'interrupt');
    peer.send({ type: 'response.append', response_id: id, input: 'stop', interrupt: true });
    await peer.until('response.append.accepted');
    await serving.lab.clock.advance(1000);
    const done = await peer.until('response.done');
    assert.deepEqual([done.interrupted, done.output.length, done.required_input], [true, 1, []]);
    await peer.until('response.completed');
    assert.deepEqual(serving.lab.prompt.at(-1), 'user: stop');
  },
);
