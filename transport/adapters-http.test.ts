import { test } from 'node:test';
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { adapters, wireAdapters } from './testing/adapters.js';
import { TApplication, turn } from './testing/application.js';

const json = (status: number, code: string) => ({
  status,
  contentType: 'application/json',
  body: JSON.stringify({ error: { code } }),
});

for (const { name, start } of adapters) {
  test(`${name}: a refused upgrade has the status and the JSON body that admit gave`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    application.admit = ({ headers }) =>
      headers.get('authorization') === 'Bearer good'
        ? json(426, 'upgrade_required')
        : json(401, 'invalid_api_key');
    for (const [key, expected] of [
      ['bad', json(401, 'invalid_api_key')],
      ['good', json(426, 'upgrade_required')],
    ] as const) {
      const { status, contentType, body } = await server.refused('/', { authorization: `Bearer ${key}` });
      assert.deepEqual({ status, contentType, body }, expected);
    }
    application.admit = () => {
      throw new Error('a bug');
    };
    assert.equal((await server.refused('/')).status, 500);
    assert.equal(application.faults.length, 1);
    assert.deepEqual(application.openings.received, []);
  });

  test(`${name}: requests over HTTP are answered, now or later, and a fault is answered with 500`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    application.answer = async ({ method, path, query, headers }) => {
      await turn();
      if (path === '/fault') throw new Error('a bug');
      return {
        status: 207,
        contentType: 'text/plain',
        body: `${method} ${path} ${query.get('n')} ${headers.get('x-note')} é`,
      };
    };
    for (const method of ['GET', 'POST', 'DELETE']) {
      const answer = await server.exchange(method, '/health?n=1', { 'X-Note': 'hello' });
      assert.equal(answer.status, 207);
      assert.equal(answer.contentType, 'text/plain');
      assert.equal(answer.body, `${method} /health 1 hello é`);
    }
    const { status, body } = await server.exchange('GET', '/fault');
    assert.equal(status, 500);
    assert.doesNotMatch(body, /a bug/);
    assert.equal(application.faults.length, 1);
  });
}

for (const { name, start } of wireAdapters) {
  test(`${name}: a large body does not stop a short answer, HEAD has no body, headers are sent along`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    application.answer = () => ({ ...json(405, 'method_not_allowed'), headers: { allow: 'GET' } });
    const posted = await server.exchange('POST', '/v1/responses', {}, 'x'.repeat(300_000));
    assert.equal(posted.status, 405);
    assert.equal(posted.headers['allow'], 'GET');
    const head = await server.exchange('HEAD', '/health');
    assert.equal(head.body, '');
    assert.equal(head.headers['content-length'], String(json(405, 'method_not_allowed').body.length));
  });

  test(`${name}: an offer to upgrade to another protocol is declined by a plain answer`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    application.answer = () => json(200, 'fine');
    const headers = { connection: 'upgrade', upgrade: 'h2c' };
    assert.equal((await server.exchange('GET', '/health', headers)).status, 200);
  });

  test(`${name}: a header block of 12 KB is read whole, in two segments too`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    application.answer = ({ headers }) => ({
      status: 200,
      contentType: 'text/plain',
      body: String(headers.get('authorization')?.length),
    });
    const tcp = connect(server.listening.port, '127.0.0.1').setNoDelay();
    tcp.write(
      `GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: ${'a'.repeat(6_000)}`,
    );
    // A whole exchange on another connection: the first segment has been read by then.
    await server.exchange('GET', '/');
    tcp.write(`${'b'.repeat(6_000)}\r\n\r\n`);
    const chunks: string[] = [];
    for await (const chunk of tcp) chunks.push(String(chunk));
    assert.match(chunks.join(''), /^HTTP\/1\.1 200 OK[^]*\r\n12000$/);
  });
}
