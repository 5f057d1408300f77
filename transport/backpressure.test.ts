import { test } from 'node:test';
import assert from 'node:assert/strict';
import { Pulse } from './node.js';
import type { Socket } from './socket.js';
import { HandTurned, adapters, nodeAdapter, tBounds, wireAdapters } from './testing/adapters.js';
import { TApplication, turn } from './testing/application.js';

const frameBytes = 65_536;
/** 32 MiB: more than the kernel takes of one connection, over both its ends. */
const framesMax = 512;

const numbered = (index: number): string => `${index}:`.padEnd(frameBytes, '.');

/** Sends frame by frame until `send` says stop; gives the number of frames sent. */
function fill(socket: Socket): number {
  for (let index = 0; index < framesMax; index += 1) {
    if (!socket.send([numbered(index)])) return index + 1;
  }
  throw new Error(`The buffer took ${framesMax} frames without end.`);
}

/** Sends so much at once that the buffer stays over its bound, however much the kernel still takes. */
function flood(socket: Socket): void {
  assert.equal(socket.send(Array.from({ length: framesMax }, (_, index) => numbered(index))), false);
}

for (const { name, start } of adapters) {
  test(`${name}: a client that does not read stops the session, and wakes it by reading`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/');
    const { socket } = await application.openings.next();
    client.pause();
    flood(socket);
    let isAwake = false;
    const awake = socket.drained().then(() => {
      isAwake = true;
    });
    await turn();
    assert.equal(isAwake, false);
    client.resume();
    await awake;
    assert.equal(socket.send(['more']), true);
    for (let index = 0; index < framesMax; index += 1)
      assert.equal(await client.frames.next(), numbered(index));
    assert.equal(await client.frames.next(), 'more');
  });

  test(`${name}: of two stopped sockets each is woken by its own client`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const woken: string[] = [];
    const stop = async (label: string) => {
      const client = await server.connect('/');
      const { socket } = await application.openings.next();
      client.pause();
      flood(socket);
      return { client, awake: socket.drained().then(() => woken.push(label)) };
    };
    const first = await stop('first');
    const second = await stop('second');
    second.client.resume();
    await second.awake;
    await turn();
    assert.deepEqual(woken, ['second']);
    first.client.resume();
    await first.awake;
    assert.deepEqual(woken, ['second', 'first']);
  });

  test(`${name}: a stopped session is woken when its client goes, after it was told`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/');
    const { socket, codes } = await application.openings.next();
    client.pause();
    flood(socket);
    const waiting = socket.drained();
    client.drop();
    await waiting;
    assert.deepEqual(codes.received, [1006]);
  });

  test(`${name}: a session that sends on without waiting costs bounded memory, then 1013`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/');
    const { socket, codes } = await application.openings.next();
    client.pause();
    const sent = fill(socket);
    for (let index = sent; index < framesMax; index += 1) socket.send([numbered(index)]);
    assert.equal(await codes.next(), 1013);
    client.resume();
    const { code, reason } = await client.closed;
    assert.equal(code, 1013);
    assert.match(reason, /does not read/);
    const overrun = Math.ceil(tBounds.sendBufferBytesMax / frameBytes) + 1;
    const { received } = client.frames;
    assert.ok(received.length <= sent + overrun, `${received.length} frames after ${sent}`);
    received.forEach((frame, index) => assert.equal(frame, numbered(index)));
  });
}

for (const { name, start } of wireAdapters) {
  test(`${name}: a ping is answered behind a full buffer (B94)`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/');
    const { socket, frames } = await application.openings.next();
    client.pause();
    flood(socket);
    client.webSocket.ping('are you there');
    client.send('ping sent');
    await frames.next();
    client.resume();
    assert.equal(await client.pongs.next(), 'are you there');
  });

  test(`${name}: a client that pings and never reads is closed before its pongs fill the memory`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/');
    const { socket, codes } = await application.openings.next();
    client.pause();
    flood(socket);
    const closed = codes.next();
    // The kernel takes some more of the flood meanwhile, and the pongs must make up for it.
    for (let round = 0; round < framesMax && codes.received.length === 0; round += 1) {
      for (let ping = 0; ping < 1_000; ping += 1) client.webSocket.ping('p'.repeat(125));
      await turn();
    }
    assert.equal(await closed, 1013);
  });

  test(`${name}: every open socket is pinged at each tick, a closed one is not touched`, async () => {
    const application = new TApplication();
    const hand = new HandTurned();
    await using server = await start(application, {}, hand.every);
    const clients = [await server.connect('/'), await server.connect('/')] as const;
    const { socket, codes } = await application.openings.next();
    const { frames } = await application.openings.next();
    hand.tick();
    for (const client of clients) await client.pings.next();
    // The second client's pong has arrived, as the frame behind it has.
    clients[1].send('after the pong');
    await frames.next();
    socket.close(1000, '');
    await codes.next();
    for (let round = 0; round < 4; round += 1) {
      hand.tick();
      await clients[1].pings.next();
      clients[1].send('after the pong');
      await frames.next();
    }
    assert.equal(clients[0].pings.received.length, 1);
    assert.deepEqual(application.faults, []);
  });
}

test('node: a socket that answers no ping for two ticks is dropped', async () => {
  const application = new TApplication();
  const hand = new HandTurned();
  await using server = await nodeAdapter.start(application, {}, hand.every);
  const client = await server.connect('/', {}, false);
  const { codes } = await application.openings.next();
  for (let tick = 0; tick < 2; tick += 1) {
    hand.tick();
    await client.pings.next();
  }
  assert.deepEqual(codes.received, []);
  hand.tick();
  assert.equal(await codes.next(), 1006);
  assert.equal((await client.closed).code, 1006);
});

test('any byte that arrives between two pings is a sign of life, also inside a frame (B98)', () => {
  const slow = new Pulse();
  for (let bytes = 300; bytes < 3_000; bytes += 300) assert.equal(slow.beat(bytes), true);
  const silent = new Pulse();
  assert.deepEqual(
    [300, 300, 300].map((bytes) => silent.beat(bytes)),
    [true, true, false],
  );
  const late = new Pulse();
  assert.deepEqual(
    [300, 300, 301, 301, 301].map((bytes) => late.beat(bytes)),
    [true, true, true, true, false],
  );
});
