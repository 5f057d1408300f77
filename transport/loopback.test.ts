import { test } from 'node:test';
import assert from 'node:assert/strict';
import { LoopbackClient, loopback } from './loopback.js';
import { TApplication } from './testing/application.js';

async function openPair() {
  const application = new TApplication();
  const client = loopback(application).connect('/');
  assert.ok(client instanceof LoopbackClient);
  return { client, opening: await application.openings.next() };
}

test('a frame arrives in a microtask, never inside the call that sent it', async () => {
  const { client, opening } = await openPair();
  client.send('up');
  opening.socket.send(['down']);
  assert.deepEqual([opening.frames.received, client.frames.received], [[], []]);
  await Promise.resolve();
  assert.deepEqual([opening.frames.received, client.frames.received], [['up'], ['down']]);
});

test('waiting for a frame after the close rejects with its code, once all that came before is taken', async () => {
  const { client, opening } = await openPair();
  opening.socket.send(['one']);
  opening.socket.close(1013, 'full');
  await client.closed;
  assert.equal(await client.frames.next(), 'one');
  await assert.rejects(client.frames.next(), /closed with 1013 full/);
});

test('a paused client finds frames and close in order when it reads again', async () => {
  const { client, opening } = await openPair();
  client.pause();
  opening.socket.send(['one', 'two']);
  opening.socket.close(1000, 'done');
  assert.equal(await opening.codes.next(), 1000);
  assert.deepEqual(client.frames.received, []);
  client.resume();
  assert.deepEqual(await client.closed, { code: 1000, reason: 'done' });
  assert.deepEqual(client.frames.received, ['one', 'two']);
});

test('a break loses what was on its way to the client, not what it had sent; it sends no more', async () => {
  const { client, opening } = await openPair();
  client.send('sent');
  opening.socket.send(['lost']);
  client.drop();
  client.send('never sent');
  assert.deepEqual(await client.closed, { code: 1006, reason: '' });
  assert.equal(await opening.codes.next(), 1006);
  assert.deepEqual(opening.frames.received, ['sent']);
  assert.deepEqual(client.frames.received, []);
});
