/** Nothing is silent for long while somebody reads. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { serverEventSchema } from '../protocol/server-events.js';
import { call, eventsOf, Lab, message, output, read, say, turn, typesOf } from '../testing/lab.js';

const secondMs = 1000;
const limits = { keepaliveMs: 30 * secondMs };
const oneCall = [turn(call('ls')), turn(say('done'))];

function countOf(events: readonly { type: string }[]): number {
  return events.filter(({ type }) => type === 'response.in_progress').length;
}

test('while the model is silent, response.in_progress is repeated until it speaks (B95)', async () => {
  const lab = new Lab([turn(say('at last'))], { firstTokenMs: 330 * secondMs, engine: { limits } });
  const response = await lab.create();
  const reader = read(response);
  for (let seconds = 30; seconds <= 300; seconds += 30) {
    await lab.clock.advance(30 * secondMs - 1);
    const before = countOf(reader.events);
    await lab.clock.advance(1);
    assert.equal(countOf(reader.events), before + 1, `at ${seconds} s`);
  }
  await lab.clock.runToIdle();
  await reader.ended;
  assert.equal((await response.settled).outcome.status, 'completed');
  assert.equal(countOf(reader.events), 1 + 10);
});

test('while the Response is suspended, response.in_progress is repeated, and an answer still resumes it (B96)', async () => {
  const lab = new Lab(oneCall, { engine: { limits } });
  const response = await lab.create();
  const reader = read(response);
  await lab.clock.advance(300 * secondMs);
  assert.equal(countOf(reader.events), 1 + 10);
  assert.equal(response.suspended, true);
  await lab.append(response, output('call_1', 'bin'));
  await reader.ended;
  assert.equal(reader.events.at(-1)?.type, 'response.completed');
});

test('a keepalive is numbered, kept and of a type that clients know (B52)', async () => {
  const lab = new Lab(oneCall, { engine: { limits } });
  const response = await lab.create();
  const reader = read(response);
  await lab.clock.advance(600 * secondMs);
  await lab.append(response, output('call_1', 'bin'));
  await reader.ended;
  for (const event of reader.events) assert.ok(serverEventSchema.safeParse(event).success);
  assert.deepEqual(
    reader.events.map((event) => event.sequence_number),
    reader.events.map((_, number) => number),
  );
  assert.deepEqual(reader.events, eventsOf(response));
  const repeated = reader.events.filter(({ type }) => type === 'response.in_progress').slice(1);
  assert.equal(repeated.length, 20);
  for (const event of repeated) {
    assert.ok(event.type === 'response.in_progress');
    assert.deepEqual([event.response.id, event.response.status], [response.id, 'in_progress']);
  }
});

test('the silence counts from the last event, whatever it was', async () => {
  const lab = new Lab(oneCall, { engine: { limits } });
  const response = await lab.create();
  const reader = read(response);
  for (let round = 0; round < 5; round++) {
    await lab.clock.advance(20 * secondMs);
    await lab.append(response, message('still there?'));
  }
  assert.equal(countOf(reader.events), 1);
  await lab.clock.advance(30 * secondMs);
  assert.equal(countOf(reader.events), 2);
});

test('several readers share one keepalive', async () => {
  const lab = new Lab(oneCall, { engine: { limits } });
  const response = await lab.create();
  const readers = [read(response), read(response), read(response, 3)];
  await lab.clock.advance(60 * secondMs);
  assert.deepEqual(
    readers.map(({ events }) => countOf(events)),
    [3, 3, 2],
  );
});

test('nobody reads, nothing is repeated; one who comes back late hears something at once', async () => {
  const lab = new Lab(oneCall, { engine: { limits } });
  const response = await lab.create();
  const { lastNumber } = response;
  await lab.clock.advance(600 * secondMs);
  assert.equal(response.lastNumber, lastNumber);
  const reader = read(response, lastNumber);
  await lab.clock.advance(1);
  assert.deepEqual(
    reader.events.map(({ type }) => type),
    ['response.in_progress'],
  );
});

test('after the end nothing is repeated and no timer is left', async () => {
  const lab = new Lab([turn(say('done'))], { engine: { limits } });
  const response = await lab.engine.create({ model: 'scripted', input: 'hi' });
  const reader = read(response);
  await lab.settle();
  await reader.ended;
  assert.equal(lab.clock.pending, 0);
  assert.equal(typesOf(response).at(-1), 'response.completed');
});
