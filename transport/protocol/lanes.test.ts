/** Lanes of the per-turn designs: names, order, how many at once, and what ends them. */
import assert from 'node:assert/strict';

import type { ServerEvent } from '../../engine/index.js';
import { call, say, turn, type Lab } from '../../engine/testing/lab.js';
import { checkStream, ofType, responseIn } from '../testing/events.js';
import { isTerminal, type TPeer } from '../testing/peer.js';
import { answers, checkNothingLeft, drop, idOf, work } from '../testing/turns.js';
import { overEveryWire, type Wire } from '../testing/wire.js';

/** Each test runs on both designs that have lanes and keep something between turns. */
function onLanes(name: string, body: (wire: Wire, design: string) => Promise<void>): void {
  for (const design of ['chain', 'shim']) overEveryWire(`${design}: ${name}`, (wire) => body(wire, design));
}

const slow = { firstTokenMs: 1000 };
const script = [turn(say('done')), turn(say('and done'))];

function send(peer: TPeer, stream_id: string | undefined, fields: object = {}): void {
  peer.send({ type: 'response.create', model: 'm', input: 'hi', store: false, stream_id, ...fields });
}

/** Takes events until so many responses have ended or been refused, and sorts them by lane. */
async function byLane(peer: TPeer, ends: number): Promise<Map<string | undefined, ServerEvent[]>> {
  const lanes = new Map<string | undefined, ServerEvent[]>();
  for (let left = ends; left > 0;) {
    const event = await peer.next();
    const lane = laneOf(event);
    lanes.set(lane, [...(lanes.get(lane) ?? []), event]);
    if (isTerminal(event) || event.type === 'error') left--;
  }
  return lanes;
}

function laneOf(event: ServerEvent): string | undefined {
  return 'stream_id' in event && typeof event['stream_id'] === 'string' ? event['stream_id'] : undefined;
}

function inputsOf(lab: Lab): (string | undefined)[] {
  return lab.turns.map(({ prompt }) => prompt.at(-1));
}

onLanes(
  'lanes run beside each other, and every event says whose it is (P22, P27, P28, B101)',
  async (wire, design) => {
    await using serving = await wire.serve(({ context }) => {
      const { item } = context.transcript.at(0);
      const blocked = 'content' in item && item.content === 'block';
      return blocked ? { items: [say('x')], stallAfterTokens: 0 } : turn(say('done'));
    });
    const peer = await serving.connect({ design });
    send(peer, 's1', { input: 'block' });
    send(peer, undefined, { input: 'block' });
    send(peer, 's2');
    const s2 = await peer.through(isTerminal);
    const own = s2.filter((event) => laneOf(event) === 's2');
    checkStream(own);
    assert.equal(own.length, s2.length - 4, 'the blocked ones have only begun');
    for (const response of serving.lab.engine.live()) response.cancel();
    const lanes = await byLane(peer, 2);
    assert.deepEqual(new Set(lanes.keys()), new Set(['s1', undefined]));
    await drop(serving, peer);
    await checkNothingLeft(serving);
  },
);

onLanes(
  'names are checked: none is empty, long or odd, and a refusal names none (P26)',
  async (wire, design) => {
    await using serving = await wire.serve(script);
    await using peer = await serving.connect({ design });
    for (const stream_id of ['', 'x'.repeat(257), 'a b', 'ä', 5, null, {}]) {
      peer.send({ type: 'response.create', event_id: 'e', model: 'm', input: 'hi', stream_id });
      const error = await peer.until('error');
      assert.deepEqual(
        [error.status, error.error.code, error.error.param, error.event_id, laneOf(error)],
        [400, 'invalid_stream_id', 'stream_id', 'e', undefined],
      );
    }
    for (const name of ['x'.repeat(256), 'A-z_0.9']) {
      send(peer, name);
      assert.deepEqual([...(await byLane(peer, 1)).keys()], [name]);
    }
  },
);

onLanes(
  'one lane is one at a time, in order, and its errors are its own (P20, P21)',
  async (wire, design) => {
    await using serving = await wire.serve(script, slow);
    await using peer = await serving.connect({ design });
    for (const input of ['1', '2'])
      for (const lane of ['a', 'b']) send(peer, lane, { input: `${lane}${input}` });
    send(peer, 'a', { model: undefined });
    send(peer, 'a', { input: 'a3' });
    await peer.rest();
    assert.deepEqual(inputsOf(serving.lab), ['user: a1', 'user: b1']);
    await serving.lab.clock.advance(1000);
    await serving.lab.clock.advance(1000);
    await serving.lab.clock.advance(1000);
    await peer.rest();
    assert.deepEqual(inputsOf(serving.lab), ['user: a1', 'user: b1', 'user: a2', 'user: b2', 'user: a3']);
    const events = peer.received.filter((event) => laneOf(event) === 'a');
    let open: string | null = null;
    for (const event of events) {
      const id = responseIn(event)?.id;
      if (event.type === 'response.created') assert.equal(open, null, 'P20: one at a time');
      if (event.type === 'response.created') open = id ?? null;
      else if (id !== undefined) assert.equal(id, open);
      if (isTerminal(event)) open = null;
    }
    const [error] = ofType(events, 'error');
    assert.deepEqual([error?.error.code, error?.error.param], ['missing_required_parameter', 'model']);
  },
);

onLanes('a seventeenth waits until one of sixteen ends (P29)', async (wire, design) => {
  await using serving = await wire.serve(script, slow);
  const peer = await serving.connect({ design });
  for (let lane = 1; lane <= 20; lane++)
    send(peer, lane === 20 ? undefined : `s${lane}`, { input: `${lane}` });
  send(peer, 's1', { input: 's1 again' });
  await peer.rest();
  assert.equal(serving.lab.turns.length, 16);
  assert.deepEqual(
    ofType(peer.received, 'error').filter(({ event_id }) => event_id === undefined),
    [],
  );
  await serving.lab.clock.advance(1000);
  await peer.rest();
  assert.deepEqual(
    inputsOf(serving.lab).slice(16),
    ['user: 17', 'user: 18', 'user: 19', 'user: 20', 'user: s1 again'],
    'in the order they came, over all lanes',
  );
  await serving.lab.clock.advance(1000);
  await peer.rest();
  assert.equal(peer.received.filter(isTerminal).length, 21);
  await drop(serving, peer);
  await checkNothingLeft(serving);
});

onLanes(
  'a thirty-third name is refused, the others go on, and the default lane is none (P30)',
  async (wire, design) => {
    await using serving = await wire.serve(script, { limits: { socketQueueMax: 100 } });
    await using peer = await serving.connect({ design });
    for (let lane = 1; lane <= 32; lane++) send(peer, `s${lane}`);
    send(peer, undefined);
    assert.equal((await byLane(peer, 33)).size, 33);
    send(peer, 's33', { event_id: 'e' });
    const error = await peer.until('error');
    assert.deepEqual(
      [error.status, error.error.code, error.error.param, laneOf(error)],
      [400, 'websocket_stream_limit_reached', 'stream_id', 's33'],
    );
    send(peer, 's32');
    send(peer, undefined);
    assert.equal((await byLane(peer, 2)).get('s32')?.at(-1)?.type, 'response.completed');
  },
);

onLanes(
  'a lane without a parent begins anew, and a fork to another lane goes on (P31, P32, P33)',
  async (wire, design) => {
    await using serving = await wire.serve([turn(say('one')), turn(say('two'))]);
    await using peer = await serving.connect({ design });
    send(peer, 'a');
    const one = (await byLane(peer, 1)).get('a') ?? [];
    send(peer, 'a', { input: 'anew' });
    await byLane(peer, 1);
    assert.deepEqual(serving.lab.prompt, ['user: anew'], 'P31');
    send(peer, 'b', { input: 'fork', previous_response_id: idOf(one) });
    await byLane(peer, 1);
    assert.deepEqual(serving.lab.prompt, ['user: hi', 'assistant: one', 'user: fork'], 'P32');
  },
);

onLanes(
  'a parent is looked up when its create starts, on whichever lane it waited (P33)',
  async (wire, design) => {
    await using serving = await wire.serve([turn(say('one')), turn(say('two'))], slow);
    await using peer = await serving.connect({ design });
    send(peer, 'a');
    const { response } = await peer.until('response.created');
    send(peer, 'a', { previous_response_id: response.id, input: 'next' });
    send(peer, 'b', { previous_response_id: response.id, input: 'too early' });
    const error = await peer.until('error');
    assert.deepEqual([error.error.code, laneOf(error)], ['previous_response_not_found', 'b']);
    await serving.lab.clock.advance(1000);
    await serving.lab.clock.advance(1000);
    const lanes = await byLane(peer, 2);
    assert.equal(lanes.get('a')?.at(-1)?.type, 'response.completed', 'P34: the parent was left alone');
    assert.deepEqual(serving.lab.prompt, ['user: hi', 'assistant: one', 'user: next']);
  },
);

onLanes('a fork that fails on another lane leaves the parent to its own (P34)', async (wire, design) => {
  await using serving = await wire.serve([turn(call('ls')), turn(say('two'))]);
  const peer = await serving.connect({ design });
  send(peer, 'a');
  const one = (await byLane(peer, 1)).get('a') ?? [];
  send(peer, 'b', { input: [], previous_response_id: idOf(one) });
  const error = await peer.until('error');
  assert.deepEqual([error.error.code, laneOf(error)], ['missing_tool_output', 'b']);
  send(peer, 'a', { input: answers(one), previous_response_id: idOf(one) });
  assert.equal((await byLane(peer, 1)).get('a')?.at(-1)?.type, 'response.completed');
  await serving.lab.settle();
  assert.equal(work(serving).pre, design === 'shim' ? 1 : 2);
  await drop(serving, peer);
  await checkNothingLeft(serving);
});

onLanes('more creates than may wait are refused, over all lanes together', async (wire, design) => {
  await using serving = await wire.serve(script, { ...slow, limits: { socketQueueMax: 2 } });
  await using peer = await serving.connect({ design });
  for (const lane of ['a', 'b']) send(peer, lane);
  for (const lane of ['a', 'b', 'b']) send(peer, lane, { event_id: lane });
  const error = await peer.until('error');
  assert.deepEqual([error.status, error.error.code, laneOf(error)], [429, 'rate_limit_exceeded', 'b']);
  await serving.lab.clock.advance(1000);
  await serving.lab.clock.advance(1000);
  assert.equal((await byLane(peer, 4)).size, 2);
});

onLanes(
  'on the way out what runs ends on its lane and what waits is refused on its own (B100)',
  async (wire, design) => {
    await using serving = await wire.serve(script, slow);
    const peer = await serving.connect({ design });
    for (const lane of ['a', 'b']) send(peer, lane);
    for (const lane of ['a', 'b', 'b']) send(peer, lane, { event_id: `${lane} waits` });
    await peer.rest();
    const drained = serving.server.drain();
    send(peer, 'c', { event_id: 'late' });
    const refusals = await byLane(peer, 4);
    for (const [lane, events] of refusals)
      for (const { error } of ofType(events, 'error')) assert.equal(error.code, 'server_shutting_down', lane);
    assert.deepEqual(
      ofType(refusals.get('b') ?? [], 'error').map((error) => error.event_id),
      ['b waits', 'b waits'],
    );
    await serving.lab.clock.advance(1000);
    const ended = await byLane(peer, 2);
    for (const lane of ['a', 'b']) assert.equal(ended.get(lane)?.at(-1)?.type, 'response.completed');
    await drained;
    assert.equal((await peer.closed).code, 1012);
    await checkNothingLeft(serving);
  },
);

onLanes(
  'a socket that closes with several lanes under way leaves one post each (P48)',
  async (wire, design) => {
    await using serving = await wire.serve(script, slow);
    const peer = await serving.connect({ design });
    for (const lane of ['a', 'b', undefined]) send(peer, lane);
    for (const lane of ['a', 'b', undefined]) send(peer, lane, { input: 'never' });
    await peer.rest();
    await drop(serving, peer);
    await checkNothingLeft(serving);
    assert.equal(work(serving).post, 3);
  },
);
