/** The typed client over HTTP: refusals, and servers that do not do as they should. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Client } from '../client.js';
import { RolloutError } from '../client-report.js';
import { nodeAdapter } from '../testing/adapters.js';
import { answer, request, script } from '../testing/client-runs.js';
import { plain, THttpApplication } from '../testing/streaming.js';
import { overEveryNetwork } from '../testing/wire.js';

overEveryNetwork('an append that is refused rejects its rollout over HTTP', async (wire) => {
  await using serving = await wire.serve(script);
  await using client = await Client.connect({ url: serving.url, design: 'append', transport: 'http' });
  const run = client.run({ request, tool: async () => [{ type: 'nonsense' }] });
  await assert.rejects(run, (fault) => {
    assert.ok(fault instanceof RolloutError);
    assert.deepEqual([fault.status, fault.code], [400, 'invalid_value']);
    return true;
  });
});

/** A server on node:http that answers as a test says. */
async function answering(reply: THttpApplication['reply']) {
  const application = new THttpApplication();
  application.reply = (exchange) => (exchange.method === 'GET' ? plain('') : reply(exchange));
  const server = await nodeAdapter.start(application);
  return { application, server, url: server.url('/').replace('ws', 'http') };
}

test('an answer that is no stream of events rejects the rollout', { timeout: 20_000 }, async () => {
  for (const [answered, code, status] of [
    [{ status: 500, contentType: 'text/html', body: '<h1>no</h1>' }, 'request_refused', 500],
    [{ status: 404, contentType: 'application/json', body: '{"error":7}' }, 'request_refused', 404],
    [{ status: 200, contentType: 'application/json', body: '{}' }, 'stream_cut', null],
    [{ status: 200, contentType: 'text/event-stream', body: 'data: what\n\n' }, 'invalid_event', null],
    [{ status: 200, contentType: 'text/event-stream', body: '' }, 'stream_cut', null],
  ] as const) {
    const { server, url } = await answering(() => answered);
    await using _server = server;
    await using client = await Client.connect({ url, design: 'chain', transport: 'http' });
    await assert.rejects(client.run({ request, tool: answer }), (fault) => {
      assert.ok(fault instanceof RolloutError);
      assert.deepEqual([fault.code, fault.status], [code, status]);
      return true;
    });
  }
});

test('a stream that is cut rejects its rollout', { timeout: 20_000 }, async () => {
  const { application, server, url } = await answering(() => application.streamed());
  await using client = await Client.connect({ url, design: 'chain', transport: 'http' });
  const rejected = assert.rejects(client.run({ request, tool: answer }), { code: 'stream_cut' });
  const { stream } = await application.openings.next();
  stream.send([': hello\n\n']);
  await server[Symbol.asyncDispose]();
  await rejected;
});

test('a server that cannot be reached rejects the connect', async () => {
  const { server, url } = await answering(() => plain(''));
  await server.listening.close();
  await assert.rejects(Client.connect({ url, design: 'chain', transport: 'http' }), /ECONNREFUSED/);
});
