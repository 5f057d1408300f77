import { test } from 'node:test';
import assert from 'node:assert/strict';
import { adapters, tBounds, wireAdapters } from './testing/adapters.js';
import { TApplication, turn } from './testing/application.js';

for (const { name, start } of adapters) {
  test(`${name}: a frame reaches the session and its answer the client, beyond ASCII too`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/v1/responses');
    const { socket, frames } = await application.openings.next();
    client.send('hällo 🌍');
    assert.equal(await frames.next(), 'hällo 🌍');
    assert.equal(socket.send(['ça va ✓']), true);
    assert.equal(await client.frames.next(), 'ça va ✓');
  });

  test(`${name}: the handshake holds path, query and lower-case headers, long after the request`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    await server.connect('/v1/responses?design=append&q=a%20b&q=c', { Authorization: 'Bearer key' });
    const { handshake } = await application.openings.next();
    await turn();
    assert.equal(handshake.path, '/v1/responses');
    assert.equal(handshake.query.get('design'), 'append');
    assert.deepEqual(handshake.query.getAll('q'), ['a b', 'c']);
    assert.equal(handshake.headers.get('authorization'), 'Bearer key');
  });

  test(`${name}: 1,000 frames sent in one call arrive in order`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/');
    const { socket } = await application.openings.next();
    const sent = Array.from({ length: 1_000 }, (_, index) => `frame ${index}`);
    socket.send(sent);
    for (const frame of sent) assert.equal(await client.frames.next(), frame);
  });

  test(`${name}: a frame of exactly the limit passes, one byte more closes that socket alone with 1009`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/');
    const opening = await application.openings.next();
    const other = await server.connect('/');
    const otherOpening = await application.openings.next();
    const limit = tBounds.frameBytesMax;
    for (const frame of ['x'.repeat(limit - 1), 'x'.repeat(limit), 'é'.repeat(limit / 2)]) {
      client.send(frame);
      assert.equal(await opening.frames.next(), frame);
    }
    client.send('é'.repeat(limit / 2) + 'x');
    const { code, reason } = await client.closed;
    assert.equal(code, 1009);
    assert.match(reason, /\b1048576 bytes\b/);
    assert.equal(await opening.codes.next(), 1009);
    assert.equal(opening.frames.received.length, 3);
    other.send('still here');
    assert.equal(await otherOpening.frames.next(), 'still here');
  });

  test(`${name}: a binary frame is told as null, in its place`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/');
    const { frames } = await application.openings.next();
    client.send('before');
    client.sendBinary();
    client.send('');
    assert.deepEqual([await frames.next(), await frames.next(), await frames.next()], ['before', null, '']);
  });

  test(`${name}: 100 frames of 10 KB that are read a turn later are intact and in order`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/');
    const { frames } = await application.openings.next();
    const sent = Array.from({ length: 100 }, (_, index) => `${index}:`.padEnd(10_240, String(index % 10)));
    for (const frame of sent) client.send(frame);
    for (const frame of sent) {
      const arrived = await frames.next();
      await turn();
      assert.equal(arrived, frame);
    }
  });

  test(`${name}: the session's code and reason reach the client, after all that was sent before`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/');
    const { socket, codes } = await application.openings.next();
    socket.send(['last words']);
    socket.close(4001, 'é'.repeat(100));
    socket.send(['too late']);
    assert.deepEqual(codes.received, [], 'the closed callback must not run inside close()');
    assert.deepEqual(await client.closed, { code: 4001, reason: 'é'.repeat(61) });
    assert.deepEqual(client.frames.received, ['last words']);
    assert.equal(await codes.next(), 4001);
    await turn();
    assert.deepEqual(codes.received, [4001]);
  });

  test(`${name}: the client's code reaches the session, once`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/');
    const { codes, frames } = await application.openings.next();
    client.send('bye');
    client.close(4002, 'done');
    assert.equal(await codes.next(), 4002);
    assert.deepEqual(frames.received, ['bye']);
    assert.equal((await client.closed).code, 4002);
    assert.deepEqual(codes.received, [4002]);
  });

  test(`${name}: a connection that breaks is told once, as 1006`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/');
    const { codes } = await application.openings.next();
    client.drop();
    assert.equal(await codes.next(), 1006);
    await client.closed;
    await turn();
    assert.deepEqual(codes.received, [1006]);
  });

  test(`${name}: a socket whose peer has gone takes every call and does nothing`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/');
    const { socket, codes } = await application.openings.next();
    client.drop();
    // The server has not been told yet.
    socket.send(['into the void']);
    await codes.next();
    assert.equal(socket.send(['a', 'b']), true);
    await socket.drained();
    socket.close(1000, 'bye');
    socket.close(1000, 'bye again');
    await turn();
    assert.deepEqual(codes.received, [1006]);
    assert.deepEqual(application.faults, []);
  });

  test(`${name}: a session may close its socket while it opens`, async () => {
    const application = new TApplication();
    application.begin = ({ socket }) => {
      socket.send(['no room']);
      socket.close(1013, 'full');
    };
    await using server = await start(application);
    const client = await server.connect('/');
    assert.deepEqual(await client.closed, { code: 1013, reason: 'full' });
    const { codes } = await application.openings.next();
    assert.equal(await codes.next(), 1013);
    assert.deepEqual(client.frames.received, ['no room']);
  });

  test(`${name}: a session that throws loses its socket, with 1011, and no other`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/');
    const { socket, codes } = await application.openings.next();
    const other = await server.connect('/');
    const otherOpening = await application.openings.next();
    const fault = new Error('a bug');
    socket.onFrame = () => {
      throw fault;
    };
    client.send(']');
    assert.equal((await client.closed).code, 1011);
    assert.equal(await codes.next(), 1011);
    assert.deepEqual(application.faults, [fault]);
    other.send('still here');
    assert.equal(await otherOpening.frames.next(), 'still here');
  });
}

for (const { name, start } of wireAdapters) {
  test(`${name}: invalid UTF-8 ends that socket alone`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/');
    const { codes, frames } = await application.openings.next();
    const other = await server.connect('/');
    const otherOpening = await application.openings.next();
    client.webSocket.send(Buffer.from([0xff, 0xfe]), { binary: false });
    assert.equal(await codes.next(), 1006);
    await client.closed;
    assert.deepEqual(frames.received, []);
    other.send('still here');
    assert.equal(await otherOpening.frames.next(), 'still here');
  });
}
