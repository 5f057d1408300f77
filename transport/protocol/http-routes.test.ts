import assert from 'node:assert/strict';

import { say, turn } from '../../engine/testing/lab.js';
import { ofType } from '../testing/events.js';
import type { Told } from '../testing/http-peer.js';
import type { Body } from '../loopback.js';
import { overEveryWire, type Serving } from '../testing/wire.js';

function refusalOf(told: Told): unknown[] {
  const { code, param } = told.error;
  return [told.status, code, param];
}

const script = () => turn(say('done'));

overEveryWire(
  'where no sockets are served an upgrade gets 426 at once, and HTTP goes on (P8, B119)',
  async (wire) => {
    await using serving = await wire.serve(script, { server: { sockets: false } });
    for (const design of [null, 'chain', 'append']) {
      const { status, body, contentType } = await serving.refused({ design });
      assert.deepEqual([status, contentType], [426, 'application/json']);
      assert.equal(JSON.parse(body).error.code, 'websockets_disabled');
      assert.equal((await serving.http().create()).response.status, 'completed');
    }
    const plain = await serving.http().ask('GET', '/v1/responses');
    assert.deepEqual([plain.status, plain.headers['allow']], [405, 'POST'], 'nobody is sent to a socket');
    assert.equal(serving.server.host.sessions.size, 0);
  },
);

overEveryWire('an upgrade and POST share one path, and a POST needs no upgrade (P1, B119)', async (wire) => {
  await using serving = await wire.serve(script);
  await using peer = await serving.connect({ design: null });
  assert.equal((await peer.turn()).at(-1)?.type, 'response.completed');
  assert.equal((await serving.http().create()).response.status, 'completed');
  const plain = await serving.http().ask('GET', '/v1/responses');
  assert.deepEqual([plain.status, plain.headers['upgrade']], [426, 'websocket']);
  for (const design of ['append', 'chain', 'shim', 'replay']) {
    const byHeader = serving.http({ headers: { 'x-response-design': design } });
    assert.equal((await byHeader.turn()).at(-1)?.type, 'response.completed');
  }
});

overEveryWire('without a good key every route says 401, before it says anything else (P2)', async (wire) => {
  await using serving = await wire.serve(script, { keys: ['good'] });
  for (const headers of [
    {},
    { authorization: 'Bearer bad' },
    { authorization: 'good' },
    { authorization: 'Bearer good, Bearer bad' },
  ]) {
    const refused = await serving.refused({ headers: { ...headers } });
    assert.deepEqual([refused.status, refused.contentType], [401, 'application/json']);
    for (const [method, path, body] of [
      ['POST', '/v1/responses', ']'],
      ['GET', '/v1/responses/resp_1', ''],
      ['PATCH', '/v1/nothing', ''],
      ['GET', '/v1/models?design=none', ''],
    ] as const) {
      const told = await serving.http({ headers: { ...headers } }).ask(method, path, body);
      assert.deepEqual(refusalOf(told), [401, 'invalid_api_key', null]);
    }
  }
  assert.equal((await serving.http({ key: 'good' }).create()).status, 200);
  assert.equal(serving.lab.model.stats.turns, 1);
});

overEveryWire('models are listed, and one is shown by its name', async (wire) => {
  await using serving = await wire.serve(script, { server: { models: ['m', 'of/some one'] } });
  const http = serving.http();
  const { body } = await http.ask('GET', '/v1/models');
  const { object, data } = body as { object: string; data: { id: string; object: string }[] };
  assert.deepEqual(
    [object, data.map((model) => [model.id, model.object])],
    [
      'list',
      [
        ['m', 'model'],
        ['of/some one', 'model'],
      ],
    ],
  );
  for (const [path, model] of [
    ['/v1/models/m', data[0]],
    ['/v1/models/of%2Fsome%20one', data[1]],
  ] as const)
    assert.deepEqual((await http.ask('GET', path)).body, model);
  for (const name of ['x', '%', '%E0%A4%A'])
    assert.deepEqual(refusalOf(await http.ask('GET', `/v1/models/${name}`)), [
      404,
      'model_not_found',
      'model',
    ]);
  await using none = await wire.serve(script);
  assert.deepEqual((await none.http().ask('GET', '/v1/models')).body, { object: 'list', data: [] });
});

overEveryWire(
  'a path that nothing is served at is 404, a method that is not is 405 and says which are',
  async (wire) => {
    await using serving = await wire.serve(script);
    serving.keepNoConnections();
    const http = serving.http({ design: 'chain' });
    for (const path of [
      '/',
      '/v1',
      '/v1/',
      '/v1/responses/',
      '/v1/responses/a/b',
      '/v1/responses/a/cancel/x',
      '/v1/chat',
      '/v2/responses',
      '/v1/models/a/b',
      '//v1/responses',
      '/v1/Responses',
    ])
      for (const method of ['GET', 'POST', 'DELETE'])
        assert.deepEqual(refusalOf(await http.ask(method, path)), [404, 'not_found', null], path);
    for (const [path, methods, allow] of [
      ['/v1/responses', ['PUT', 'DELETE', 'PATCH', 'OPTIONS'], 'POST, GET'],
      ['/v1/responses/input_tokens', ['GET', 'DELETE', 'HEAD'], 'POST'],
      ['/v1/responses/compact', ['GET'], 'POST'],
      ['/v1/responses/resp_1', ['POST', 'PUT', 'PATCH'], 'GET, DELETE'],
      ['/v1/responses/resp_1/input_items', ['POST', 'DELETE'], 'GET'],
      ['/v1/responses/resp_1/cancel', ['GET', 'DELETE'], 'POST'],
      ['/v1/responses/resp_1/append', ['GET', 'PUT'], 'POST'],
      ['/v1/models', ['POST', 'DELETE'], 'GET'],
    ] as const)
      for (const method of methods) {
        const told = await http.ask(method, path);
        assert.deepEqual([told.status, told.headers['allow']], [405, allow], `${method} ${path}`);
        if (method === 'HEAD') continue;
        assert.equal(told.error.code, 'method_not_allowed');
        for (const name of allow.split(', ')) assert.ok(told.error.message.includes(name));
      }
    if (wire.name === 'loopback')
      for (const method of ['constructor', '__proto__', 'toString', 'get', 'x'.repeat(1000)])
        assert.equal(
          (await http.ask(method, '/v1/models')).status,
          405,
          'a method of every object is none of HTTP',
        );
  },
);

overEveryWire('HEAD is answered as GET without the body, and never takes a stream', async (wire) => {
  await using serving = await wire.serve(script);
  serving.keepNoConnections();
  const http = serving.http({ design: 'append' });
  const events = await http.turn();
  const { id } = ofType(events, 'response.created')[0]?.response ?? {};
  const got = await http.ask('GET', `/v1/responses/${id}`);
  for (const query of ['', '?stream=true']) {
    const head = await http.ask('HEAD', `/v1/responses/${id}${query}`);
    assert.deepEqual([head.status, head.text], [200, '']);
    if (wire.name !== 'loopback') assert.equal(head.headers['content-length'], String(got.text.length));
  }
  assert.equal((await http.ask('HEAD', '/v1/responses/resp_x')).status, 404);
});

async function statesOf(serving: Serving, body: Body, type = ''): Promise<unknown[]> {
  const http = serving.http({ design: 'chain', headers: type === '' ? {} : { 'content-encoding': type } });
  return refusalOf(await http.ask('POST', '/v1/responses', body));
}

overEveryWire(
  'a body that is no plain JSON is refused in words, and the next one is served',
  async (wire) => {
    await using serving = await wire.serve(script, { limits: { frameBytesMax: 4096 } });
    const good = { model: 'm', input: 'hi' };
    const padded = (bytes: number): string => {
      const text = JSON.stringify({ ...good, metadata: { a: '' }, pad: '' });
      return text.replace('"pad":""', `"pad":"${'x'.repeat(bytes - text.length)}"`);
    };
    const http = serving.http({ design: 'chain' });
    assert.equal(Buffer.byteLength(padded(4096)), 4096);
    assert.equal(
      (await http.ask('POST', '/v1/responses', padded(4096))).status,
      200,
      'as long as the bound (B66)',
    );
    const long = [413, 'body_too_large', null];
    assert.deepEqual(await statesOf(serving, padded(4097)), long);
    assert.deepEqual(await statesOf(serving, [padded(4090), 'x'.repeat(100)]), long, 'in pieces');
    const invalid = [400, 'invalid_json', null];
    for (const body of ['', ']', '{"a":', '{"model":"m"}}', 'NaN'])
      assert.deepEqual(await statesOf(serving, body), invalid);
    for (const body of ['null', '"x"', '[]', '7'])
      assert.deepEqual(await statesOf(serving, body), [400, 'invalid_frame', null]);
    const cut = Buffer.from(JSON.stringify({ ...good, input: '🦊' })).subarray(0, -4);
    for (const bytes of [
      [0xff, 0xfe],
      [...cut, 0x22, 0x7d],
      [0x22, 0xc0, 0xaf, 0x22],
      [0xed, 0xa0, 0x80],
    ])
      assert.deepEqual(await statesOf(serving, Buffer.from(bytes)), invalid);
    const deep = `{"model":"m","metadata":${'['.repeat(70)}${']'.repeat(70)}}`;
    assert.deepEqual(await statesOf(serving, deep), invalid);
    for (const encoding of ['gzip', 'br', 'gzip, identity'])
      assert.deepEqual(await statesOf(serving, JSON.stringify(good), encoding), [
        415,
        'unsupported_media_type',
        null,
      ]);
    const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(JSON.stringify(good))]);
    assert.equal(
      (await http.ask('POST', '/v1/responses', marked)).status,
      200,
      'a byte order mark is none of the text',
    );
    const identity = serving.http({ design: 'chain', headers: { 'content-encoding': 'Identity' } });
    assert.equal((await identity.create()).status, 200);
    const pieces = Array.from(JSON.stringify({ ...good, input: '🦊 one byte at a time' }), (piece) =>
      Buffer.from(piece),
    );
    assert.equal((await http.ask('POST', '/v1/responses', pieces)).status, 200);
    assert.equal(serving.lab.prompt.at(-1), 'user: 🦊 one byte at a time');
  },
);
