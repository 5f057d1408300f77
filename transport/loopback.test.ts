import { test } from 'node:test';
import assert from 'node:assert/strict';
import { LoopbackClient, LoopbackStream, loopback } from './loopback.js';
import { TApplication } from './testing/application.js';
import { THttpApplication } from './testing/streaming.js';

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

async function openStream() {
  const application = new THttpApplication();
  const client = await loopback(application, { sendBufferBytesMax: 10 }).exchange('POST', '/', {}, 'body');
  assert.ok(client instanceof LoopbackStream);
  return { client, opening: await application.openings.next() };
}

test('a request reaches the application in microtasks, never inside the call that made it', async () => {
  const application = new THttpApplication();
  const asked = loopback(application).exchange('POST', '/?a=1', { 'X-Note': 'hi' }, [
    'bo',
    Buffer.from('dy'),
  ]);
  assert.deepEqual(application.exchanges.received, []);
  const { method, path, query, headers, body } = await application.exchanges.next();
  assert.deepEqual([method, path, query.get('a'), headers.get('x-note')], ['POST', '/', '1', 'hi']);
  assert.equal(body.toString(), 'body');
  assert.ok((await asked) instanceof LoopbackStream);
});

test('a text of a stream arrives in a microtask, never inside the call that sent it', async () => {
  const { client, opening } = await openStream();
  opening.stream.send(['one', 'two']);
  assert.deepEqual(client.texts.received, []);
  await Promise.resolve();
  assert.deepEqual(client.texts.received, ['one', 'two']);
});

test('all that a paused client of a stream is sent counts as the send buffer, and it finds it in order', async () => {
  const { client, opening } = await openStream();
  client.pause();
  assert.equal(opening.stream.send(['12345', '67890']), true);
  assert.equal(opening.stream.send(['1']), false);
  opening.stream.end();
  await opening.closings.next();
  assert.deepEqual(client.texts.received, []);
  client.resume();
  await client.ended;
  for (const text of ['12345', '67890', '1']) assert.equal(await client.texts.next(), text);
  await assert.rejects(client.texts.next(), /has ended/);
});

test('a dropped stream loses what was on its way, and its end rejects', async () => {
  const { client, opening } = await openStream();
  opening.stream.send(['lost']);
  client.drop();
  await opening.closings.next();
  await assert.rejects(client.ended, /dropped/);
  assert.deepEqual(client.texts.received, []);
});
