/** Many readers of one Response, from wherever they left off. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { call, callIdsOf, eventsOf, Lab, output, read, refusal, say, turn, typesOf } from '../testing/lab.js';

const slow = { decodeTokensPerSecond: 1000, tickMs: 0 };
const script = [turn(say('let me look'), call('ls')), turn(say('it is all there'))];
const types = (events: readonly { type: string }[]) => events.map(({ type }) => type);

test('readers that come at any time, from any number, see the same events to the same end', async () => {
  const lab = new Lab(script, slow);
  const response = await lab.create();
  const early = read(response);
  await lab.clock.advance(2);
  const midTurn = [read(response), read(response, 2), read(response, response.lastNumber)];
  await lab.clock.advance(100);
  const { lastNumber } = response;
  const suspended = [-1, 0, 3, lastNumber].map((number) => ({ number, reader: read(response, number) }));
  await lab.append(response, output('call_1', 'bin'));
  await lab.clock.runToIdle();
  const late = read(response);
  for (const reader of [early, ...midTurn, late, ...suspended.map(({ reader: one }) => one)])
    await reader.ended;
  const all = eventsOf(response);
  assert.deepEqual(early.events, all);
  assert.deepEqual(late.events, all);
  assert.deepEqual(midTurn[0]?.events, all);
  assert.deepEqual(midTurn[1]?.events, all.slice(3));
  for (const { number, reader } of suspended) assert.deepEqual(reader.events, all.slice(number + 1));
});

test('a replay from the start begins with response.created, one from a number has neither it nor a repetition (B29)', async () => {
  const lab = new Lab(script);
  const response = await lab.create();
  await lab.append(response, output('call_1', 'bin'));
  const whole = read(response);
  const rest = read(response, 4);
  await Promise.all([whole.ended, rest.ended]);
  assert.equal(whole.events[0]?.type, 'response.created');
  assert.equal(whole.events.at(-1)?.type, 'response.completed');
  assert.equal(types(rest.events).includes('response.created'), false);
  assert.equal(rest.events[0]?.sequence_number, 5);
  assert.deepEqual([...whole.events.slice(0, 5), ...rest.events], whole.events);
});

test('a reader at the end of an ended Response ends at once with nothing', async () => {
  const lab = new Lab([turn(say('done'))]);
  const response = await lab.create();
  const reader = read(response, response.lastNumber);
  await reader.ended;
  assert.deepEqual(reader.events, []);
});

test('a reader older than what is kept is told so by name, and the snapshot is still whole (B30)', async () => {
  const text = 'word '.repeat(200);
  const lab = new Lab([turn(say(text), call('ls')), turn(say('done'))], {
    deltaTokensMax: 1,
    engine: { limits: { logBytesMax: 4000 } },
  });
  const response = await lab.create();
  for (const startingAfter of [undefined, 0, 10]) {
    const refused = await refusal(read(response, startingAfter).ended);
    assert.deepEqual(
      [refused.code, refused.status, refused.param],
      ['replay_expired', 410, 'starting_after'],
    );
  }
  const [item] = response.snapshot().output;
  assert.deepEqual(item?.['content'], [{ type: 'output_text', text, annotations: [] }]);
  assert.deepEqual(
    response.requiredInput.map((stub) => stub.call_id),
    ['call_1'],
  );
  assert.ok(response.logBytes <= 4000);

  const reader = read(response, response.lastNumber);
  await lab.append(response, output('call_1', 'bin'));
  await reader.ended;
  assert.equal(reader.events.at(-1)?.type, 'response.completed');
  assert.equal((await refusal(read(response).ended)).code, 'replay_expired');
  assert.equal(lab.engine.get(response.id)?.snapshot().status, 'completed');
});

test('a reader that lags behind what is kept gets the same answer, and holds nobody up', async () => {
  const lab = new Lab([turn(say('word '.repeat(200)))], {
    deltaTokensMax: 1,
    engine: { limits: { logBytesMax: 4000 } },
  });
  const response = await lab.engine.create({ model: 'scripted', input: 'hi' });
  const slowReader = response.events();
  assert.equal((await slowReader.next()).value?.type, 'response.created');
  await lab.settle();
  assert.equal((await response.settled).outcome.status, 'completed');
  const drain = async () => {
    while ((await slowReader.next()).done !== true);
  };
  assert.equal((await refusal(drain())).code, 'replay_expired');
});

test('a resend whose acknowledgement is no longer kept is acknowledged all the same', async () => {
  const lab = new Lab([turn(call('ls')), turn(say('word '.repeat(200)), call('ls')), turn(say('done'))], {
    deltaTokensMax: 1,
    engine: { limits: { logBytesMax: 4000 } },
  });
  const response = await lab.create();
  const first = await lab.append(response, output('call_1', 'bin'));
  const again = await lab.append(response, output('call_1', 'bin'));
  assert.deepEqual([again.sequence_number, again.call_ids], [first.sequence_number, ['call_1']]);
  assert.deepEqual(
    again.required_input.map((stub) => stub.call_id),
    ['call_2'],
  );
});

test('a Response belongs to its credential, and to nobody else it exists', async () => {
  const lab = new Lab(script);
  const response = await lab.create('hi', { credential: 'key A' });
  assert.equal(lab.engine.get(response.id, 'key A'), response);
  for (const credential of ['key B', '', undefined])
    assert.equal(lab.engine.get(response.id, credential), null);
  await lab.append(response, output(callIdsOf(response)[0], 'bin'));
  await response.settled;
  assert.equal(lab.engine.get(response.id, 'key A'), response);
  assert.equal(lab.engine.get(response.id, 'key B'), null);
  assert.equal(await lab.store.load(response.id, 'key B'), null);
  assert.equal(typesOf(response).at(-1), 'response.completed');
});
