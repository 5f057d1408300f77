import { test, type TestContext } from 'node:test';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

import { fixedCostProfile, fixedCostText, measureFixedCost } from './fixed-cost.js';

interface Asked {
  readonly path: string;
  readonly key: string | undefined;
  readonly body: string;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

/** A server that answers as it is told, and remembers what it was asked over how many connections. */
async function serving(t: TestContext, answer: (response: ServerResponse) => void) {
  const asked: Asked[] = [];
  const sockets = new Set<unknown>();
  const server = createServer((request, response) => {
    sockets.add(request.socket);
    void bodyOf(request).then((body) => {
      asked.push({ path: request.url ?? '', key: request.headers.authorization, body });
      answer(response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return { url: `http://127.0.0.1:${address.port}`, asked, sockets };
}

function streams(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(': hello\n\n');
  response.write('event: response.created\ndata: {"type":"resp');
  response.end('onse.created"}\n\ndata: [DONE]\n\n');
}

test('small requests go over one connection, and the round trip is taken off the time of their first event', async (t) => {
  const { url, asked, sockets } = await serving(t, streams);
  const cost = await measureFixedCost({ url, key: 'k', model: 'm', requests: 3 });
  assert.equal(asked.length, 4, 'one opens the connection and does not count');
  assert.equal(sockets.size, 1);
  for (const { path, key, body } of asked) {
    assert.equal(path, '/v1/responses');
    assert.equal(key, 'Bearer k');
    assert.deepEqual(JSON.parse(body), {
      model: 'm',
      input: 'Say ok.',
      max_output_tokens: 16,
      stream: true,
      store: false,
    });
  }
  const { requests, kept, first_event_ms, rtt_ms, fixed_ms } = cost;
  assert.deepEqual([requests, kept], [3, true]);
  assert.ok(first_event_ms.low <= first_event_ms.median && first_event_ms.median <= first_event_ms.high);
  assert.equal(fixed_ms, Math.max(0, first_event_ms.median - rtt_ms));
  assert.match(fixedCostText(cost), /bounds the fixed work of a create from above/);
});

test('a server that keeps no connection is told of', async (t) => {
  const { url, sockets } = await serving(t, (response) => {
    response.setHeader('connection', 'close');
    streams(response);
  });
  const cost = await measureFixedCost({ url, requests: 2 });
  assert.deepEqual([sockets.size, cost.kept], [3, false]);
  assert.match(fixedCostText(cost), /over HTTP connections that the server did not keep/);
});

test('an address is taken with and without its path', async (t) => {
  const { url, asked } = await serving(t, streams);
  for (const path of ['', '/', '/v1', '/v1/', '/v1/responses', '/api/v1'])
    await measureFixedCost({ url: `${url}${path}`, requests: 1 });
  const paths = asked.map(({ path }) => path);
  assert.deepEqual([...new Set(paths)], ['/v1/responses', '/api/v1/responses']);
});

test('a refusal, an answer without events and an address where nobody is are told with the address', async (t) => {
  const refusing = await serving(t, (response) => response.writeHead(401).end('{"error":"no such key"}'));
  await assert.rejects(
    measureFixedCost({ url: refusing.url }),
    /127\.0\.0\.1:\d+\/v1\/responses: answered 401: \{"error":"no such key"\}/,
  );
  const silent = await serving(t, (response) => response.end('{"id":"resp_1"}'));
  await assert.rejects(measureFixedCost({ url: silent.url }), /answered without an event/);
  await assert.rejects(
    measureFixedCost({ url: 'http://127.0.0.1:1' }),
    /127\.0\.0\.1:1\/v1\/responses: connect ECONNREFUSED/,
  );
});

test('as a profile it costs a create so much and nothing else', () => {
  const { modules, admission } = fixedCostProfile(12, 'Made up.');
  assert.deepEqual(Object.keys(modules), ['residual']);
  assert.equal(modules.residual?.full.wait_ms, 12);
  assert.deepEqual(admission, { admit_ms: 0, resume_ms: 0 });
});
