/** The sampler over real sockets: connections, faults of servers, and time moved by hand. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { inspect } from 'node:util';
import assert from 'node:assert/strict';

import { deferred, systemClock, VirtualClock } from '../../clock.js';
import type { Clock } from '../../ports.js';
import { ProtocolError } from '../../protocol/errors.js';
import type { Sampler, SamplerEvent } from '../sampler.js';
import { firstTurn, openingOf } from '../testing/turns.js';
import { checkSampler } from '../conformance.js';
import { pooledHttp } from './http.js';
import { playing, recording, sse, type Recording } from './testing/recorded.js';
import { told } from './testing/sampling.js';
import * as streams from './testing/chat-streams.js';
import * as responseStreams from './testing/responses-streams.js';
import { upstreamSampler, type UpstreamOptions } from './upstream.js';

const oneToken = sse({ choices: [{ delta: { content: 'Hi' } }] });

async function sampled(options: Omit<UpstreamOptions, 'clock'> & { clock?: Clock }) {
  await using sampler = upstreamSampler({ clock: systemClock, retryMs: 0, ...options });
  const events: SamplerEvent[] = [];
  try {
    for await (const event of sampler.open(openingOf()).sample(firstTurn, new AbortController().signal))
      events.push(event);
    return { told: told(events), fault: null };
  } catch (fault) {
    return { told: told(events), fault };
  }
}

/** One turn, step by step. */
function stepped(sampler: Sampler, signal: AbortSignal): AsyncIterator<SamplerEvent> {
  return sampler.open(openingOf()).sample(firstTurn, signal)[Symbol.asyncIterator]();
}

test('recorded streams of every style come through a socket, in pieces', async (t) => {
  for (const [api, stream, count] of [
    ['chat', streams.openaiText, 4],
    ['chat', streams.openaiCalls, 9],
    ['chat', streams.vllmReasoning, 8],
    ['chat', streams.llamaText, 8],
    ['chat', streams.ollamaCalls, 6],
    ['chat', streams.studioCut, 4],
    ['responses', responseStreams.responsesAll, 17],
  ] as const) {
    const { url, requests } = await playing(t, { pieces: stream.split(/(?=content|delta)/) });
    const said = await sampled({ url, api, key: 'sk-test' });
    assert.equal(said.fault, null);
    assert.equal(said.told.length, count, said.told.join('\n'));
    const [request] = requests;
    assert.equal(request?.path, api === 'chat' ? '/v1/chat/completions' : '/v1/responses');
    assert.equal(request?.headers['authorization'], 'Bearer sk-test');
    assert.equal(request?.headers['content-type'], 'application/json');
    assert.equal(request?.headers['content-length'], String(Buffer.byteLength(request?.raw ?? '')));
  }
});

test('without a key no authorization is sent', async (t) => {
  const { url, requests } = await playing(t, recording(streams.openaiText));
  await sampled({ url });
  assert.equal(requests[0]?.headers['authorization'], undefined);
});

test('faults of a server are told, and those before the first token are tried again', async (t) => {
  const ok = recording(streams.openaiText);
  const json = { 'content-type': 'application/json' };
  for (const [first, requestCount, code] of [
    [{ status: 429, headers: { ...json, 'retry-after-ms': '1' }, pieces: ['{}'] }, 2, null],
    [{ status: 429, headers: json, pieces: ['{"error":{"message":"slow down"}}'] }, 2, null],
    [{ status: 500, headers: { 'content-type': 'text/html' }, pieces: ['<h1>no</h1>'] }, 2, null],
    [{ pieces: [], end: 'cut' }, 2, null],
    [{ pieces: [] }, 2, null],
    [{ pieces: [oneToken], end: 'cut' }, 1, 'server_error'],
    [{ pieces: [oneToken, 'data: {"choices":[{"del'], end: 'cut' }, 1, 'server_error'],
    [{ pieces: [oneToken, 'data: {"choices":[{"del'] }, 1, 'server_error'],
    [{ pieces: [oneToken, 'data: what?\n\n'] }, 1, 'server_error'],
    [{ headers: json, pieces: ['{"choices":[]}'] }, 1, 'server_error'],
    [
      { status: 400, headers: json, pieces: ['{"error":{"code":"context_length_exceeded"}}'] },
      1,
      'context_length_exceeded',
    ],
  ] satisfies [Recording, number, string | null][]) {
    const { url, requests } = await playing(t, first, ok);
    const { fault } = await sampled({ url });
    assert.equal(fault instanceof ProtocolError ? fault.code : fault, code);
    assert.equal(requests.length, requestCount);
  }
});

test('a refused connection is tried again, then told without its address', async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const { port } = address;
  await new Promise((closed) => server.close(closed));
  const { fault } = await sampled({ url: `http://127.0.0.1:${port}/v1`, key: 'sk-test' });
  assert.ok(fault instanceof ProtocolError);
  assert.equal(fault.code, 'server_error');
  const body = JSON.stringify(fault.toBody());
  assert.ok(!body.includes(String(port)), body);
  assert.ok(!inspect(fault, { depth: 10, showHidden: true }).includes('sk-test'));
});

test('turns one after another use one connection, whether or not their streams end with [DONE]', async (t) => {
  for (const [api, stream] of [
    ['chat', streams.openaiText],
    ['chat', streams.openaiText.replace('data: [DONE]\n\n', '')],
    ['chat', streams.ollamaCalls],
    ['responses', responseStreams.responsesAll],
  ] as const) {
    const { url, requests, seen } = await playing(t, recording(stream));
    // With one connection at most, a turn waits until the one before it has left it.
    await using sampler = upstreamSampler({ url, api, clock: systemClock, connectionsMax: 1 });
    const session = sampler.open(openingOf());
    for (let turn = 0; turn < 3; turn++) {
      for await (const _ of session.sample(firstTurn, new AbortController().signal)) continue;
      await requests[turn]?.over;
    }
    assert.equal(requests.length, 3);
    assert.equal(seen.connections, 1);
  }
});

test('whoever aborts or leaves a turn ends its request, and the server sees it', async (t) => {
  const reason = new Error('enough');
  const { url, requests } = await playing(t, { pieces: [oneToken], end: 'stay' });
  await using sampler = upstreamSampler({ url, clock: systemClock });
  const controller = new AbortController();
  const turn = stepped(sampler, controller.signal);
  for (let step = 0; step < 3; step++) await turn.next();
  const pending = turn.next();
  controller.abort(reason);
  await assert.rejects(pending, (fault) => fault === reason);
  await requests[0]?.over;
  for await (const event of sampler.open(openingOf()).sample(firstTurn, new AbortController().signal))
    if (event.type === 'delta') break;
  await requests[1]?.over;
});

test('a silence after the first token ends the turn on the clock, over a socket too', async (t) => {
  const { url, requests } = await playing(t, { pieces: [oneToken], end: 'stay' });
  const clock = new VirtualClock();
  await using sampler = upstreamSampler({ url, clock });
  const turn = stepped(sampler, new AbortController().signal);
  for (let step = 0; step < 3; step++) await turn.next();
  const pending = turn.next();
  const refused = assert.rejects(pending, /said nothing more for 300000 ms/);
  await clock.advance(300_000);
  await refused;
  await requests[0]?.over;
});

test('the connection itself is bounded on the clock', async (t) => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  // A clock on which the bound is over before any socket can connect.
  const hasty: Clock = {
    now: () => 0,
    unixSeconds: () => 0,
    sleep: () => deferred<void>().promise,
    breathe: () => Promise.resolve(),
    after(ms, callback) {
      if (ms === 77) queueMicrotask(callback);
      return { due: ms, [Symbol.dispose]() {} };
    },
  };
  await using http = pooledHttp({
    origin: `http://127.0.0.1:${address.port}`,
    path: '/',
    headers: {},
    clock: hasty,
    connectMsMax: 77,
    connectionsMax: 1,
  });
  await assert.rejects(
    http.post([Buffer.from('{}')], new AbortController().signal),
    /no connection within 77 ms/,
  );
});

test('disposal closes the connections, and a turn under way fails', async (t) => {
  const { url, requests } = await playing(t, { pieces: [oneToken], end: 'stay' });
  const sampler = upstreamSampler({ url, clock: systemClock });
  const turn = stepped(sampler, new AbortController().signal);
  for (let step = 0; step < 3; step++) await turn.next();
  const refused = assert.rejects(turn.next(), /connection .* failed/);
  await sampler[Symbol.asyncDispose]();
  await refused;
  await requests[0]?.over;
});

test('the sampler conforms over a socket', async (t) => {
  const { url } = await playing(t, { pieces: streams.openaiCalls.split(/(?<=\n\n)/) });
  const made: AsyncDisposable[] = [];
  t.after(() => Promise.all(made.map((sampler) => sampler[Symbol.asyncDispose]())));
  await checkSampler(() => {
    const sampler = upstreamSampler({ url, clock: systemClock });
    made.push(sampler);
    return sampler;
  });
});
