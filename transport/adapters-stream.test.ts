import { test } from 'node:test';
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { adapters, wireAdapters } from './testing/adapters.js';
import { turn } from './testing/application.js';
import { THttpApplication, plain, untilGone } from './testing/streaming.js';

const event = (index: number): string => `event: n\ndata: ${index} é\n\n`;

for (const { name, start } of adapters) {
  test(`${name}: a stream opens with status 200 and its headers, before anything is sent`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    application.reply = () => application.streamed({ 'X-Request-Id': 'req_1' });
    const { status, headers } = await server.stream('POST', '/');
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'text/event-stream');
    assert.equal(headers['cache-control'], 'no-cache');
    assert.equal(headers['x-accel-buffering'], 'no');
    assert.equal(headers['x-request-id'], 'req_1');
    application.reply = () => application.streamed({ 'Cache-Control': 'no-store' });
    assert.equal((await server.stream('GET', '/')).headers['cache-control'], 'no-store');
  });

  test(`${name}: each text is one chunk, in order, whether sent together or apart (P6)`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    const { chunks, ended } = await server.stream('POST', '/');
    const { stream, closings } = await application.openings.next();
    const sent = Array.from({ length: 1_000 }, (_, index) => event(index));
    assert.equal(stream.send(sent.slice(0, 400)), true);
    for (const text of sent.slice(400, 600)) stream.send([text]);
    await turn();
    for (const text of sent.slice(600, 800)) stream.send([text, '']);
    stream.send([]);
    stream.send(sent.slice(800));
    stream.end();
    await ended;
    assert.deepEqual(chunks.received, sent);
    await closings.next();
  });

  test(`${name}: texts larger than any buffer of the library arrive in order`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    const { chunks, ended } = await server.stream('POST', '/');
    const { stream } = await application.openings.next();
    const sent = Array.from({ length: 300 }, (_, index) => `${index}:`.padEnd((index * 977) % 40_000, 'é'));
    for (let at = 0; at < sent.length; at += 7) {
      if (!stream.send(sent.slice(at, at + 7))) await stream.drained();
    }
    stream.end();
    await ended;
    assert.equal(chunks.received.join(''), sent.join(''));
  });

  test(`${name}: after its end a stream takes every call and does nothing; it is told once, outside the call`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    const { chunks, ended } = await server.stream('POST', '/');
    const exchange = await application.exchanges.next();
    const { stream, closings } = await application.openings.next();
    stream.send(['last words']);
    stream.end();
    assert.equal(stream.send(['too late']), true);
    stream.end();
    assert.deepEqual(closings.received, [], 'the closed callback must not run inside end()');
    await stream.drained();
    await ended;
    await closings.next();
    await turn();
    assert.deepEqual(chunks.received, ['last words']);
    assert.deepEqual(closings.received, ['closed']);
    assert.equal(exchange.gone.aborted, false);
  });

  test(`${name}: a client that drops aborts \`gone\`, and the stream is told once`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    const client = await server.stream('POST', '/');
    const exchange = await application.exchanges.next();
    const { stream, closings } = await application.openings.next();
    stream.send(['one']);
    assert.equal(await client.chunks.next(), 'one');
    client.drop();
    // The server has not been told yet.
    stream.send(['into the void']);
    await untilGone(exchange);
    await closings.next();
    assert.equal(stream.send(['a', 'b']), true);
    await stream.drained();
    stream.end();
    await turn();
    assert.deepEqual(closings.received, ['closed']);
    assert.deepEqual(application.faults, []);
    await assert.rejects(client.ended);
  });

  test(`${name}: a stream may end while it opens, and one that HEAD asks for is over at once`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    application.begin = ({ stream }) => {
      stream.send(['no room']);
      stream.end();
    };
    const answer = await server.stream('POST', '/');
    await answer.ended;
    assert.deepEqual(answer.chunks.received, ['no room']);
    await (await application.openings.next()).closings.next();
    const head = await server.stream('HEAD', '/');
    await head.ended;
    assert.equal(head.headers['content-type'], 'text/event-stream');
    assert.deepEqual(head.chunks.received, []);
    await (await application.openings.next()).closings.next();
  });

  test(`${name}: an application that throws as its stream opens ends it, and no other`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    const other = await server.stream('POST', '/');
    const { stream } = await application.openings.next();
    const fault = new Error('a bug');
    application.reply = () => ({
      contentType: 'text/event-stream',
      opened: (faulty) => {
        faulty.send(['started']);
        throw fault;
      },
    });
    const { status, chunks, ended } = await server.stream('POST', '/');
    await ended;
    assert.equal(status, 200);
    assert.deepEqual(chunks.received, ['started']);
    assert.deepEqual(application.faults, [fault]);
    stream.send(['still here']);
    assert.equal(await other.chunks.next(), 'still here');
    application.reply = () => Promise.reject(fault);
    assert.equal((await server.stream('POST', '/')).status, 500);
  });

  test(`${name}: a header that cannot be written is a fault of the application`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    application.reply = () => application.streamed({ 'x-echo': 'a\r\nset-cookie: b' });
    assert.equal((await server.exchange('POST', '/')).status, 500);
    application.reply = () => ({ ...plain('fine'), headers: { 'x-echo': 'a\r\n\r\nb' } });
    assert.equal((await server.exchange('POST', '/')).status, 500);
    assert.equal(application.faults.length, 2);
    assert.deepEqual(application.openings.received, []);
  });

  test(`${name}: 17 requests at once, plain, streamed, refused and over sockets, are all answered (P83)`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    application.reply = async ({ path, body }) => {
      await turn();
      if (path === '/plain') return plain(body.toString());
      const streamed = application.streamed();
      return path === '/streamed' ? streamed : { status: 400, contentType: 'text/plain', body: 'no' };
    };
    application.begin = async ({ stream }) => {
      stream.send(['first']);
      await turn();
      stream.send(['second', 'third']);
      stream.end();
    };
    const overSocket = async (text: string) => {
      const client = await server.connect('/');
      client.send(text);
      return `101 ${await client.frames.next()}`;
    };
    const overHttp = async (path: string, text: string) => {
      const { status, body } = await server.exchange('POST', path, {}, text);
      return `${status} ${body}`;
    };
    const kinds = ['/plain', '/streamed', '/refused', 'socket'];
    const asked = Array.from({ length: 17 }, (_, index) => ({
      kind: kinds[index % kinds.length] ?? '',
      text: `body ${index}`,
    }));
    const answers = asked.map(({ kind, text }) =>
      kind === 'socket' ? overSocket(text) : overHttp(kind, text),
    );
    const expected = ({ kind, text }: { kind: string; text: string }): string => {
      if (kind === '/streamed') return '200 firstsecondthird';
      if (kind === '/refused') return '400 no';
      return `${kind === 'socket' ? 101 : 200} ${text}`;
    };
    assert.deepEqual(await Promise.all(answers), asked.map(expected));
    assert.deepEqual(application.faults, []);
  });
}

for (const { name, start } of wireAdapters) {
  test(`${name}: 30 requests over one connection leave nothing behind on it`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    server.agent = agent;
    const warnings: Error[] = [];
    const warned = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', warned);
    application.reply = ({ body }) => (body.byteLength > 0 ? plain(body.toString()) : application.streamed());
    application.begin = ({ stream }) => {
      stream.send(['a', 'b']);
      stream.end();
    };
    const connections = new Set<unknown>();
    agent.on('free', (connection) => connections.add(connection));
    for (let index = 0; index < 15; index += 1) {
      assert.equal((await server.exchange('POST', '/', {}, `${index}`)).body, `${index}`);
      assert.equal((await server.exchange('POST', '/')).body, 'ab');
    }
    await turn();
    process.off('warning', warned);
    agent.destroy();
    assert.equal(connections.size, 1);
    assert.deepEqual(warnings, []);
    await server.listening.close();
    await turn();
    for (const { gone } of application.exchanges.received) assert.equal(gone.aborted, false);
    for (const { closings } of application.openings.received) assert.deepEqual(closings.received, ['closed']);
  });

  test(`${name}: closing the server cuts its open streams and tells them; until then they go on`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    const client = await server.stream('POST', '/');
    const exchange = await application.exchanges.next();
    const { stream, closings } = await application.openings.next();
    server.listening.stopAccepting();
    stream.send(['still here']);
    assert.equal(await client.chunks.next(), 'still here');
    await server.listening.close();
    await assert.rejects(client.ended);
    await closings.next();
    await untilGone(exchange);
  });
}
