/** Tool outputs into responses that run: `response.inject`. */
import assert from 'node:assert/strict';

import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, checkStream, ofType } from '../testing/events.js';
import type { TPeer } from '../testing/peer.js';
import { overEveryWire, type Serving } from '../testing/wire.js';

/** One token a millisecond. */
const slow = { decodeTokensPerSecond: 1000, tickMs: 0, firstTokenMs: 5 };
const long = 'a'.repeat(40);
const asks = [turn(call('ls'), call('pwd'), say(long)), turn(say('done')), turn(say('more'))];
const designs = ['chain', 'replay', 'shim'];

function inject(peer: TPeer, id: string, ...input: readonly unknown[]): void {
  peer.send({ type: 'response.inject', response_id: id, input });
}

async function refused(peer: TPeer): Promise<string> {
  const { error } = await peer.until('response.inject.failed');
  assert.deepEqual(Object.keys(error), ['code', 'message']);
  return error.code;
}

/** A response that has made two calls and speaks on. */
async function asking(serving: Serving, peer: TPeer, fields: object = {}): Promise<[string, string[]]> {
  const id = await peer.create(fields);
  await serving.lab.clock.advance(8);
  await peer.rest();
  return [id, callIds(peer.received)];
}

for (const design of designs)
  overEveryWire(`${design}: a response whose calls are answered while it runs goes on`, async (wire) => {
    await using serving = await wire.serve(asks, slow);
    await using peer = await serving.connect({ design });
    const [id, [ls, pwd]] = await asking(serving, peer, { stream_id: 'a' });
    inject(peer, id, output(pwd, '/'), output(ls, 'bin'));
    const { sequence_number, ...created } = await peer.until('response.inject.created');
    assert.deepEqual(created, { type: 'response.inject.created', response_id: id, stream_id: 'a' });
    assert.ok(sequence_number > 1);
    await serving.lab.clock.advance(1000);
    const { response } = await peer.until('response.completed');
    assert.equal(response.id, id);
    assert.deepEqual(
      response.output.map(({ type }) => type),
      ['function_call', 'function_call', 'message', 'message'],
    );
    checkStream(peer.received.filter(({ type }) => !/inject|error/.test(type)));
    assert.deepEqual(serving.lab.prompt.slice(-2), ['tool: bin', 'tool: /']);
    assert.equal(serving.lab.turns.length, 2);
  });

for (const design of designs)
  overEveryWire(`${design}: what is answered early need not be answered again (P75)`, async (wire) => {
    await using serving = await wire.serve(asks, slow);
    await using peer = await serving.connect({ design });
    const [id, [ls, pwd]] = await asking(serving, peer);
    inject(peer, id, output(ls, 'bin'), output('call_9', 'x'));
    assert.equal(await refused(peer), 'unknown_call_id');
    inject(peer, id, output(ls, 'bin'));
    await peer.until('response.inject.created');
    peer.send({ type: 'response.steer', previous_response_id: id, input: 'faster' });
    await peer.until(design === 'replay' ? 'response.steer.failed' : 'response.steer.accepted');
    await serving.lab.clock.advance(1000);
    await peer.until('response.completed');
    if (design === 'replay') return;
    const { required_input } = await peer.until('response.steer.pending');
    assert.deepEqual(
      required_input.map(({ call_id }) => call_id),
      [pwd],
    );
    // With other settings the shim starts a rollout on what was kept.
    for (const instructions of [undefined, 'be brief']) {
      await peer.create({ previous_response_id: id, input: [output(pwd, '/')], instructions });
      await serving.lab.clock.advance(1000);
      await peer.until('response.completed');
      const read = serving.lab.prompt.filter((block) => /^(tool|user: f)/.test(block));
      assert.deepEqual(read, [
        'tool: bin',
        'tool: /',
        ...(instructions === undefined ? ['user: faster'] : []),
      ]);
    }
  });

for (const design of designs)
  overEveryWire(`${design}: the same answer twice is the same as once (P77)`, async (wire) => {
    await using serving = await wire.serve(asks, slow);
    await using peer = await serving.connect({ design });
    const [id, [ls, pwd]] = await asking(serving, peer);
    inject(peer, id, output(ls, 'bin'));
    inject(peer, id, output(ls, 'bin'), output(pwd, '/'));
    inject(peer, id, output(ls, 'bin'), output(pwd, '/'));
    for (let count = 0; count < 3; count++) await peer.until('response.inject.created');
    inject(peer, id, output(ls, 'other'));
    assert.equal(await refused(peer), 'call_already_answered');
    await serving.lab.clock.advance(10);
    assert.equal(serving.lab.turns.length, 2);
    inject(peer, id, output(ls, 'bin'));
    await peer.until('response.inject.created');
    await serving.lab.clock.advance(1000);
    await peer.until('response.completed');
    assert.equal(serving.lab.turns.length, 2);
  });

overEveryWire(
  'an inject after the end is given back as it came, and so is one for a stranger (P76)',
  async (wire) => {
    await using serving = await wire.serve(asks, { ...slow, keys: ['k1', 'k2'] });
    await using peer = await serving.connect({ design: 'shim', key: 'k1' });
    await using other = await serving.connect({ design: 'shim', key: 'k1' });
    await using foreign = await serving.connect({ design: 'shim', key: 'k2' });
    const [id, [ls, pwd]] = await asking(serving, peer, { stream_id: 'a' });
    const input = [{ ...output(ls, 'bin'), x_unknown: [1, null] }];
    for (const stranger of [other, foreign]) {
      inject(stranger, id, ...input);
      assert.equal(await refused(stranger), 'response_not_found');
    }
    await serving.lab.clock.advance(1000);
    const { sequence_number } = await peer.until('response.completed');
    peer.send({ type: 'response.inject', event_id: 'e1', response_id: id, input });
    assert.deepEqual(await peer.until('response.inject.failed'), {
      type: 'response.inject.failed',
      sequence_number,
      event_id: 'e1',
      response_id: id,
      input,
      error: {
        code: 'response_already_completed',
        message: `Response ${id} has already ended; send a create that continues it.`,
      },
      stream_id: 'a',
    });
    assert.equal(serving.lab.turns.length, 1, 'the suspended rollout is not resumed');
    const next = { previous_response_id: id, input: [output(ls, 'bin'), output(pwd, '/')], stream_id: 'a' };
    await peer.create(next);
    await serving.lab.clock.advance(1000);
    await peer.until('response.completed');
  },
);

overEveryWire('an inject that cannot be read is a plain error and the end of its socket', async (wire) => {
  await using serving = await wire.serve(asks, slow);
  for (const wrong of [
    { input: [] },
    { input: 'text' },
    { input: [message('no output')] },
    { input: [{ type: 'function_call_output', call_id: 'call_1' }] },
    { input: [output('call_1', 'x')], response_id: undefined },
    { input: [output('call_1', 'x')], stream_id: 'a' },
  ]) {
    await using peer = await serving.connect({ design: 'chain' });
    peer.send({ type: 'response.inject', event_id: 'e1', response_id: 'resp_1', ...wrong });
    const { status, error, event_id } = await peer.until('error');
    assert.deepEqual([status, error.type, event_id], [400, 'invalid_request_error', 'e1']);
    assert.equal((await peer.closed).code, 1008);
  }
});

overEveryWire('an inject is taken while creates wait behind its response (P74)', async (wire) => {
  await using serving = await wire.serve(asks, slow);
  await using peer = await serving.connect({ design: 'chain' });
  const [id, [ls, pwd]] = await asking(serving, peer);
  peer.send({ type: 'response.create', model: 'm', input: 'waits' });
  inject(peer, id, output(ls, 'bin'), output(pwd, '/'));
  await peer.until('response.inject.created');
  assert.equal(ofType(peer.received, 'response.created').length, 1);
});
