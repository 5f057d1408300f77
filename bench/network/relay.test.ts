import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { connect as connectTls } from 'node:tls';

import { deferred, VirtualClock, type Timer } from '../../engine/index.js';
import { testCertificate } from './certificate.js';
import { openRelay, type Relay, type RelayOptions } from './relay.js';
import { portOf } from './tls-front.js';

/** Says when a timer is set: then the relay has read what a socket sent, and time may move. */
class WatchedClock extends VirtualClock {
  #set = deferred<void>();

  override after(ms: number, callback: () => void): Timer {
    this.#set.resolve();
    return super.after(ms, callback);
  }

  /** To be asked for before what sets the timer. */
  nextSet(): Promise<void> {
    this.#set = deferred<void>();
    return this.#set.promise;
  }
}

/** Moves time on, a millisecond a step, until what sockets carry has settled the promise. */
async function moveUntil<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  const wait = { settled: false };
  const settle = (): void => {
    wait.settled = true;
  };
  promise.then(settle, settle);
  while (!wait.settled) await clock.advance(1);
  return promise;
}

/** What a socket says to its end. Iterating over it would close the other direction too. */
function wholeOf(socket: Socket): Promise<string> {
  const whole = deferred<string>();
  const pieces: Buffer[] = [];
  socket.on('data', (piece) => pieces.push(piece));
  socket.on('end', () => whole.resolve(String(Buffer.concat(pieces))));
  return whole.promise;
}

interface Bench extends AsyncDisposable {
  readonly clock: WatchedClock;
  readonly relay: Relay;
  readonly client: Socket;
  readonly server: Socket;
}

/** A client that is connected to a server through a relay of 50 ms, half of which have passed. */
async function benchOf(options: Partial<RelayOptions> = {}): Promise<Bench> {
  const clock = new WatchedClock();
  const origin = createServer({ allowHalfOpen: true });
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  const to = { host: '127.0.0.1', port: portOf(origin.address()) };
  const relay = await openRelay({ to, rttMs: 50, clock, ...options });
  const opened = clock.nextSet();
  const client = connect({ host: '127.0.0.1', port: relay.port, allowHalfOpen: true });
  client.on('error', () => undefined);
  await opened;
  const accepted = once(origin, 'connection');
  await clock.advance(25);
  const [server] = (await accepted) as [Socket];
  server.on('error', () => undefined);
  return {
    clock,
    relay,
    client,
    server,
    async [Symbol.asyncDispose]() {
      client.destroy();
      server.destroy();
      await relay[Symbol.asyncDispose]();
      origin.close();
      await once(origin, 'close');
    },
  };
}

test('a first request is sent a round trip after the connect, and each direction takes half of one', async () => {
  await using bench = await benchOf();
  const { clock, client, server } = bench;
  const asked = clock.nextSet();
  client.write('question');
  await asked;
  await clock.advance(49.9);
  assert.equal(clock.pending, 1);
  const question = once(server, 'data');
  await clock.advance(0.1);
  assert.deepEqual([String((await question)[0]), clock.now()], ['question', 75]);
  const answered = clock.nextSet();
  server.write('answer');
  await answered;
  const answer = once(client, 'data');
  await clock.advance(25);
  assert.deepEqual([String((await answer)[0]), clock.now()], ['answer', 100]);
});

test('an end travels behind the bytes, and the other direction stays open', async () => {
  await using bench = await benchOf();
  const { clock, client, server } = bench;
  const closed = once(client, 'close');
  client.end('all of it');
  assert.equal(await moveUntil(clock, wholeOf(server)), 'all of it');
  assert.ok(clock.now() >= 75);
  server.end('still here');
  assert.equal(await moveUntil(clock, wholeOf(client)), 'still here');
  assert.ok(clock.now() >= 100);
  await closed;
});

for (const [who, whom] of [
  ['client', 'server'],
  ['server', 'client'],
] as const)
  test(`a reset by the ${who} reaches the ${whom}`, async () => {
    await using bench = await benchOf();
    const { clock, relay } = bench;
    bench[whom].resume();
    const closed = new Promise<unknown>((resolve) => bench[whom].once('error', resolve));
    bench[who].resetAndDestroy();
    assert.match(String(await moveUntil(clock, closed)), /ECONNRESET/);
    assert.equal(relay.connections(), 0);
  });

test('a megabyte goes through unchanged at a rate, its last byte when the rate says', async () => {
  const sent = Buffer.from(Array.from({ length: 1_000_000 }, (_, index) => (index * 7) % 251));
  await using bench = await benchOf({ bytesPerSecond: 10_000_000 });
  const { clock, client, server } = bench;
  client.end(sent);
  assert.ok(sent.equals(await moveUntil(clock, buffer(server))));
  assert.ok(clock.now() >= 50 + 100 + 25, `it took ${clock.now()} ms`);
});

test('a source is not read above the bound, and is read on when half has gone', async () => {
  await using bench = await benchOf({ bytesMax: 100_000 });
  const { clock, client, server } = bench;
  const sent = Buffer.alloc(2_000_000, 'x');
  client.end(sent);
  assert.equal((await moveUntil(clock, buffer(server))).length, sent.length);
  // At most the bound and one read of 64 KiB leave in one delay of 25 ms.
  assert.ok(clock.now() >= (sent.length / 165_536) * 25, `it took ${clock.now()} ms`);
});

test('a server that nobody reaches is a reset for the client', async () => {
  const clock = new WatchedClock();
  const origin = createServer();
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  const port = portOf(origin.address());
  origin.close();
  await once(origin, 'close');
  await using relay = await openRelay({ to: { host: '127.0.0.1', port }, rttMs: 50, clock });
  const client = connect(relay.port, '127.0.0.1');
  client.resume();
  const fault = new Promise<unknown>((resolve) => client.once('error', resolve));
  assert.match(String(await moveUntil(clock, fault)), /ECONNRESET/);
  assert.ok(clock.now() >= 50);
});

test('a relay that ends leaves no timer and no connection behind', async () => {
  const bench = await benchOf();
  const { clock, client, relay } = bench;
  const asked = clock.nextSet();
  client.write('never arrives');
  await asked;
  assert.equal(relay.connections(), 1);
  await bench[Symbol.asyncDispose]();
  assert.deepEqual([clock.pending, relay.connections()], [0, 0]);
});

test('TLS 1.3 is spoken to the client and plain TCP to the server', async () => {
  const origin = createServer((socket) => socket.pipe(socket));
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  const to = { host: '127.0.0.1', port: portOf(origin.address()) };
  {
    await using relay = await openRelay({ to, rttMs: 0, tls: true });
    const client = connectTls({ host: '127.0.0.1', port: relay.port, ca: testCertificate.cert });
    await once(client, 'secureConnect');
    assert.deepEqual([client.authorized, client.getProtocol()], [true, 'TLSv1.3']);
    client.end('there and back');
    assert.equal(String(await buffer(client)), 'there and back');
  }
  origin.close();
  await once(origin, 'close');
});

for (const [wrong, what] of [
  [{ rttMs: -1 }, /no time/],
  [{ rttMs: Number.NaN }, /no time/],
  [{ rttMs: 1, bytesPerSecond: 0 }, /no rate/],
  [{ rttMs: 1, bytesMax: 0 }, /no bound/],
] as const)
  test(`a relay of ${JSON.stringify(wrong)} is refused`, async () => {
    await assert.rejects(openRelay({ to: { host: '127.0.0.1', port: 1 }, ...wrong }), what);
  });
