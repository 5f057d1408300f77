/** Messages into responses that run: `response.steer`. */
import assert from 'node:assert/strict';

import type { ServerEvent } from '../../engine/index.js';
import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, checkStream, ofType } from '../testing/events.js';
import { isTerminal, type EventOf, type TPeer } from '../testing/peer.js';
import { overEveryWire } from '../testing/wire.js';

/** One token a millisecond; ten to a word. */
const slow = { decodeTokensPerSecond: 1000, tickMs: 0, firstTokenMs: 5 };
const first = 'a'.repeat(40);
const second = 'b'.repeat(40);
const talk = [turn(say(first), say(second)), turn(say('gone on')), turn(say('and on'))];
const asks = [turn(call('ls'), call('pwd'), say(second)), turn(say('done'))];

type Failed = EventOf<'response.steer.failed'>;

function steer(peer: TPeer, id: string, input: unknown, more: object = {}): void {
  peer.send({ type: 'response.steer', previous_response_id: id, input, ...more });
}

async function accepted(peer: TPeer, id: string, input: unknown): Promise<string> {
  steer(peer, id, input);
  return (await peer.until('response.steer.accepted')).steer.id;
}

async function failed(peer: TPeer): Promise<[string, string | undefined, unknown]> {
  const { steer: about, error } = await peer.until('response.steer.failed');
  assert.deepEqual(Object.keys(error), ['type', 'code', 'message']);
  assert.equal(error.type, 'invalid_request_error');
  return [error.code, about.id, about.input];
}

function terminalOf(events: readonly ServerEvent[]): EventOf<'response.incomplete'>['response'] {
  const last = events.at(-1);
  assert.ok(last !== undefined && 'response' in last);
  return (last as EventOf<'response.incomplete'>).response;
}

for (const design of ['chain', 'shim'])
  overEveryWire(
    `${design}: a steered response ends with its item, and its successor goes on from it (P70, P71)`,
    async (wire) => {
      await using serving = await wire.serve(talk, slow);
      await using peer = await serving.connect({ design });
      const id = await peer.create({ instructions: 'be brief', store: false });
      await serving.lab.clock.advance(8);
      steer(peer, id, 'faster');
      const { steer: queued, sequence_number } = await peer.until('response.steer.accepted');
      assert.equal(queued.previous_response_id, id);
      assert.ok(sequence_number >= 1);
      await serving.lab.clock.advance(1000);
      const parent = terminalOf(await peer.through(isTerminal));
      assert.deepEqual([parent.status, parent.incomplete_details], ['incomplete', { reason: 'steered' }]);
      assert.equal(parent.output.length, 1);
      await serving.lab.clock.advance(1000);
      const successor = await peer.through('response.completed');
      checkStream(successor);
      const { response } = ofType(successor, 'response.created')[0] ?? assert.fail();
      assert.deepEqual([response.previous_response_id, response.instructions], [id, 'be brief']);
      assert.deepEqual(serving.lab.prompt, [
        'system: be brief',
        'user: hi',
        `assistant: ${first}`,
        'user: faster',
      ]);
      assert.deepEqual(ofType(peer.received, 'error'), []);
      steer(peer, id, 'too late');
      assert.deepEqual(await failed(peer), ['response_not_active', undefined, 'too late']);
      steer(peer, response.id, 'too late');
      assert.deepEqual(await failed(peer), ['response_already_completed', undefined, 'too late']);
      const next = await peer.create({ previous_response_id: response.id, store: false });
      assert.equal(next === response.id, false);
    },
  );

overEveryWire('a response that ends before its steer reaches it stays completed (P71)', async (wire) => {
  // A call that ran elsewhere is owed by nobody, but what has made a call is not cut.
  const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', opaque: true } as const;
  const script = [turn({ type: 'opaque', item: search }, say(first)), turn(say('gone on'))];
  await using serving = await wire.serve(script, slow);
  await using peer = await serving.connect({ design: 'chain' });
  const id = await peer.create();
  await serving.lab.clock.advance(8);
  await accepted(peer, id, [message('and'), message('tests')]);
  await serving.lab.clock.advance(1000);
  assert.equal(terminalOf(await peer.through(isTerminal)).status, 'completed');
  assert.equal((await peer.until('response.created')).response.previous_response_id, id);
  await serving.lab.clock.advance(1000);
  await peer.until('response.completed');
  assert.deepEqual(serving.lab.prompt.slice(-2), ['user: and', 'user: tests']);
});

for (const design of ['chain', 'shim'])
  overEveryWire(
    `${design}: with calls outstanding steers wait for the create that answers them, in order (P72)`,
    async (wire) => {
      await using serving = await wire.serve(asks, slow);
      await using peer = await serving.connect({ design });
      peer.send({ type: 'response.create', model: 'm', input: 'hi', stream_id: 'a' });
      const { id } = (await peer.until('response.created')).response;
      await serving.lab.clock.advance(8);
      const ids = [await accepted(peer, id, 'one'), await accepted(peer, id, [message('two')])];
      await serving.lab.clock.advance(1000);
      const events = await peer.through('response.completed');
      const owed = terminalOf(events).output.flatMap((item) => ('call_id' in item ? [item.call_id] : []));
      const pending = [
        await peer.until('response.steer.pending'),
        await peer.until('response.steer.pending'),
      ];
      assert.deepEqual(
        pending.map(({ steer: queued }) => queued),
        ids.map((queued) => ({ id: queued, previous_response_id: id })),
      );
      for (const { reason, required_input, stream_id, sequence_number } of pending) {
        assert.deepEqual([reason, stream_id], ['waiting_for_required_input', 'a']);
        assert.deepEqual(
          required_input.map(({ type, call_id, name }) => [type, call_id, name]),
          ['ls', 'pwd'].map((name, index) => ['function_call_output', owed[index], name]),
        );
        assert.equal(sequence_number, events.at(-1)?.sequence_number);
      }
      const answers = owed.map((callId) => output(String(callId), 'ok'));
      const create = { type: 'response.create', model: 'm', previous_response_id: id, stream_id: 'a' };
      peer.send({ ...create, input: [...answers, message('three')] });
      assert.equal((await peer.until('response.created')).response.previous_response_id, id);
      await serving.lab.clock.advance(1000);
      await peer.until('response.completed');
      assert.deepEqual(serving.lab.prompt.slice(-5), [
        'tool: ok',
        'tool: ok',
        'user: one',
        'user: two',
        'user: three',
      ]);
      assert.equal(ofType(peer.received, 'response.created').length, 2);
    },
  );

overEveryWire(
  'a create that waits already takes the steers, and pending is skipped (P73, P74)',
  async (wire) => {
    await using serving = await wire.serve(asks, slow);
    await using peer = await serving.connect({ design: 'chain' });
    const id = await peer.create();
    await serving.lab.clock.advance(8);
    await peer.rest();
    const owed = callIds(peer.received);
    const input = owed.map((callId) => output(callId, 'ok'));
    peer.send({ type: 'response.create', model: 'm', previous_response_id: id, input });
    await accepted(peer, id, 'one');
    await serving.lab.clock.advance(2000);
    await peer.until('response.completed');
    await serving.lab.clock.advance(2000);
    await peer.until('response.completed');
    assert.deepEqual(serving.lab.prompt.slice(-3), ['tool: ok', 'tool: ok', 'user: one']);
    assert.deepEqual(ofType(peer.received, 'response.steer.pending'), []);
  },
);

overEveryWire(
  'the successor of a steered response comes before creates that wait on its lane',
  async (wire) => {
    await using serving = await wire.serve(talk, slow);
    await using peer = await serving.connect({ design: 'chain' });
    const id = await peer.create();
    peer.send({ type: 'response.create', model: 'm', input: 'waits' });
    await serving.lab.clock.advance(8);
    const steers = ['one', 'two', 'three'];
    for (const words of steers) await accepted(peer, id, words);
    await serving.lab.clock.advance(1000);
    await peer.until('response.incomplete');
    for (const parent of [id, null]) {
      assert.equal((await peer.until('response.created')).response.previous_response_id, parent);
      await serving.lab.clock.advance(1000);
      await peer.until('response.completed');
    }
    assert.deepEqual(
      serving.lab.turns[1]?.prompt.slice(-3),
      steers.map((words) => `user: ${words}`),
    );
  },
);

overEveryWire('a steer that cannot be read or names no response is given back (P69, P78)', async (wire) => {
  await using serving = await wire.serve(talk, { ...slow, keys: ['k1', 'k2'] });
  await using peer = await serving.connect({ design: 'chain', key: 'k1' });
  await using other = await serving.connect({ design: 'chain', key: 'k1' });
  await using foreign = await serving.connect({ design: 'chain', key: 'k2' });
  const id = await peer.create();
  for (const stranger of [other, foreign]) {
    steer(stranger, id, [message('x')]);
    const { message: known } = (await stranger.until('response.steer.failed')).error;
    assert.equal(known, `No response "${id}" is known here.`);
  }
  steer(peer, 'resp_nope', 'x', { event_id: 'e1' });
  const unknown: Failed = await peer.until('response.steer.failed');
  assert.deepEqual(unknown, {
    type: 'response.steer.failed',
    sequence_number: 0,
    event_id: 'e1',
    steer: { previous_response_id: 'resp_nope', input: 'x' },
    error: {
      type: 'invalid_request_error',
      code: 'response_not_found',
      message: 'No response "resp_nope" is known here.',
    },
  });
  const assistant = { type: 'message', role: 'assistant', content: 'x' };
  for (const input of [
    undefined,
    '',
    [],
    7,
    ['x'],
    [assistant],
    [output('call_1', 'x')],
    [{ role: 'user' }],
  ]) {
    steer(peer, id, input);
    assert.deepEqual(await failed(peer), ['invalid_input', undefined, input ?? null]);
  }
  steer(peer, id, 'x', { stream_id: 'a' });
  assert.deepEqual(await failed(peer), ['invalid_input', undefined, 'x']);
  peer.send({ type: 'response.steer', input: 'x' });
  assert.deepEqual(await failed(peer), ['invalid_input', undefined, 'x']);
  await serving.lab.clock.advance(1000);
  assert.equal(terminalOf(await peer.through(isTerminal)).status, 'completed', 'nothing was interrupted');
});

overEveryWire('a steer is refused where the design or the response cannot take it (P79)', async (wire) => {
  await using serving = await wire.serve(talk, { ...slow, limits: { steersMax: 2 } });
  await using replay = await serving.connect({ design: 'replay' });
  steer(replay, await replay.create(), 'x');
  assert.deepEqual(await failed(replay), ['steering_not_supported', undefined, 'x']);
  await using peer = await serving.connect({ design: 'chain' });
  const compacts = { context_management: [{ type: 'compaction', compact_threshold: 1000 }], stream_id: 'a' };
  steer(peer, await peer.create(compacts), 'x');
  const refused = await peer.until('response.steer.failed');
  assert.deepEqual([refused.error.code, refused['stream_id']], ['steering_not_supported', 'a']);
  const id = await peer.create();
  await accepted(peer, id, 'one');
  await accepted(peer, id, 'two');
  steer(peer, id, 'three');
  assert.deepEqual(await failed(peer), ['too_many_pending_steers', undefined, 'three']);
});
