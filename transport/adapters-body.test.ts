import { test } from 'node:test';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { adapters, tBounds, wireAdapters } from './testing/adapters.js';
import { turn } from './testing/application.js';
import { THttpApplication, plain, untilGone } from './testing/streaming.js';

const limit = tBounds.frameBytesMax;

const tooLarge = {
  error: {
    type: 'invalid_request_error',
    code: 'body_too_large',
    message: 'The body is longer than the limit of 1048576 bytes.',
    param: null,
  },
};

/** 1 MiB that no cut of 64 KiB leaves between two characters. */
const long = 'x' + 'é🌍✓'.repeat(Math.floor((limit - 1) / 9));

function inPieces(text: string, bytesEach: number): Buffer[] {
  const bytes = Buffer.from(text);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.byteLength; at += bytesEach) pieces.push(bytes.subarray(at, at + bytesEach));
  return pieces;
}

for (const { name, start } of adapters) {
  test(`${name}: the body of a request arrives whole and intact, long after the request`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    application.reply = async ({ body, method }) => {
      await turn();
      return plain(`${method} ${body.toString()}`);
    };
    for (const method of ['POST', 'DELETE'])
      assert.equal((await server.exchange(method, '/', {}, 'çà 🌍')).body, `${method} çà 🌍`);
    assert.equal((await server.exchange('POST', '/')).body, 'POST ');
    assert.equal((await server.exchange('GET', '/')).body, 'GET ');
    assert.equal((await server.exchange('POST', '/', {}, long)).body, `POST ${long}`);
    assert.equal((await server.exchange('POST', '/', {}, inPieces(long, 65_536))).body, `POST ${long}`);
    const answers = ['a', 'b'].map((letter) => server.exchange('POST', '/', {}, letter.repeat(300_000)));
    assert.deepEqual(
      (await Promise.all(answers)).map(({ body }) => body),
      [`POST ${'a'.repeat(300_000)}`, `POST ${'b'.repeat(300_000)}`],
    );
  });

  test(`${name}: a body of exactly the limit passes, one byte more is answered with 413`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    application.reply = ({ body }) => plain(String(body.byteLength));
    const ask = (body: string | Buffer[]) => server.exchange('POST', '/', {}, body);
    for (const bytes of [limit - 1, limit]) {
      assert.equal((await ask('x'.repeat(bytes))).body, String(bytes));
      assert.equal((await ask(inPieces('x'.repeat(bytes), 65_536))).body, String(bytes));
    }
    const asked = application.exchanges.received.length;
    for (const body of ['x'.repeat(limit + 1), inPieces('x'.repeat(limit + 1), 65_536)]) {
      const answer = await ask(body);
      assert.equal(answer.status, 413);
      assert.equal(answer.contentType, 'application/json');
      assert.deepEqual(JSON.parse(answer.body), tooLarge);
    }
    assert.equal(application.exchanges.received.length, asked, 'the application was asked');
    assert.equal((await ask('still here')).body, '10');
  });

  test(`${name}: a client that goes before its answer is told by \`gone\`, and its answer is dropped`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    let settle = (): void => {};
    application.reply = () =>
      new Promise((resolve) => {
        settle = () => resolve(plain('too late'));
      });
    const dropped = new AbortController();
    const rejected = assert.rejects(server.exchange('POST', '/', {}, 'body', dropped.signal));
    const exchange = await application.exchanges.next();
    assert.equal(exchange.gone.aborted, false);
    dropped.abort();
    await rejected;
    await untilGone(exchange);
    settle();
    await turn();
    assert.deepEqual(application.faults, []);
    application.reply = () => plain('still here');
    assert.equal((await server.exchange('GET', '/')).body, 'still here');
  });

  test(`${name}: a stream whose client has gone is not opened`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    application.reply = async (exchange) => {
      await untilGone(exchange);
      return application.streamed();
    };
    const dropped = new AbortController();
    const rejected = assert.rejects(server.stream('POST', '/', {}, '', dropped.signal));
    const exchange = await application.exchanges.next();
    dropped.abort();
    await rejected;
    await untilGone(exchange);
    await turn();
    assert.deepEqual(application.openings.received, []);
  });
}

for (const { name, start } of wireAdapters) {
  test(`${name}: a body that its headers call too long is refused before it is sent`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    const tcp = connect(server.listening.port, '127.0.0.1');
    tcp.write(`POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${limit + 1}\r\n\r\n`);
    const [answer] = await once(tcp, 'data');
    assert.match(String(answer), /^HTTP\/1\.1 413 /);
    tcp.destroy();
    assert.deepEqual(application.exchanges.received, []);
  });

  test(`${name}: a connection goes on after a body that was refused`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    application.reply = ({ body }) => plain(`${body.toString()}, same connection`);
    const tcp = connect(server.listening.port, '127.0.0.1');
    tcp.write(`POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${limit + 1}\r\n\r\n`);
    await once(tcp, 'data');
    const bytes = 'x'.repeat(limit + 1);
    tcp.write(`${bytes}POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\nhello`);
    const [answer] = await once(tcp, 'data');
    assert.match(String(answer), /^HTTP\/1\.1 200 [^]*hello, same connection$/);
    tcp.destroy();
  });

  test(`${name}: a client that goes while its body uploads never reaches the application`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    application.reply = () => plain('');
    for (const framing of ['content-length: 10', 'transfer-encoding: chunked']) {
      const tcp = connect(server.listening.port, '127.0.0.1');
      tcp.write(`POST /half HTTP/1.1\r\nhost: localhost\r\n${framing}\r\n\r\n5\r\nhello`);
      // A whole exchange on another connection: the first half has been read by then.
      await server.exchange('GET', '/barrier');
      tcp.resetAndDestroy();
      await server.exchange('GET', '/barrier');
    }
    assert.deepEqual(
      application.exchanges.received.filter(({ path }) => path === '/half'),
      [],
    );
    assert.deepEqual(application.faults, []);
  });

  test(`${name}: a declined offer of another protocol keeps its body and may be answered by a stream`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    application.begin = ({ stream }) => {
      stream.send(['data: 1\n\n']);
      stream.end();
    };
    const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABk' };
    const answer = await server.stream('POST', '/v1?q=1', { ...headers, 'x-note': 'hi' }, 'the body');
    await answer.ended;
    assert.deepEqual(answer.chunks.received, ['data: 1\n\n']);
    const exchange = await application.exchanges.next();
    assert.equal(exchange.body.toString(), 'the body');
    assert.deepEqual([exchange.path, exchange.headers.get('x-note')], ['/v1', 'hi']);
  });

  test(`${name}: a second request before the first is answered cuts the connection, and the first is told`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    const tcp = connect(server.listening.port, '127.0.0.1');
    tcp.on('error', () => {});
    tcp.resume();
    tcp.write('GET /first HTTP/1.1\r\nhost: localhost\r\n\r\n');
    const { closings } = await application.openings.next();
    tcp.write('GET /second HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await once(tcp, 'close');
    await closings.next();
    assert.equal(application.exchanges.received.length, 1);
  });
}
