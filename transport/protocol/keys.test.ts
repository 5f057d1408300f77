import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { call, output, say, turn } from '../../engine/testing/lab.js';
import { Keys, readKeys } from '../keys.js';
import { callIds, ofType } from '../testing/events.js';
import { isTerminal } from '../testing/peer.js';
import { overEveryWire } from '../testing/wire.js';

const script = [turn(say('done'))];

const three = ['alpha', 'beta', 'a-longer-key-than-the-others'];

test('a key is known by its whole text, wherever it stands in the list', () => {
  const keys = new Keys(three);
  assert.equal(keys.open, false);
  for (const key of three) assert.notEqual(keys.credentialFor(`Bearer ${key}`), null);
  for (const wrong of ['alph', 'alphaa', 'Alpha', 'alpha,beta', '#', 'x'.repeat(10_000)])
    assert.equal(keys.credentialFor(`Bearer ${wrong}`), null, wrong.slice(0, 20));
});

test('every key is compared whole, whichever one matches, so that the time taken tells nothing', () => {
  const { timingSafeEqual } = crypto;
  const compared: number[] = [];
  crypto.timingSafeEqual = (left, right) => {
    compared.push(left.byteLength);
    return timingSafeEqual(left, right);
  };
  syncBuiltinESMExports();
  try {
    const keys = new Keys(three);
    for (const key of [...three, 'wrong', 'x'.repeat(10_000)]) {
      keys.credentialFor(`Bearer ${key}`);
      assert.deepEqual(compared.splice(0), [32, 32, 32]);
    }
  } finally {
    crypto.timingSafeEqual = timingSafeEqual;
    syncBuiltinESMExports();
  }
});

test('an authorization of another form is no key', () => {
  const keys = new Keys(['alpha']);
  for (const header of [
    undefined,
    '',
    'alpha',
    'Basic alpha',
    'Bearer',
    'Bearer ',
    'Bearer alpha, Bearer alpha',
    'Bearer alpha x',
  ])
    assert.equal(keys.credentialFor(header), null, header);
  assert.notEqual(keys.credentialFor('bearer  alpha'), null, 'the scheme has no case');
});

test('a credential tells callers apart and does not tell their key', () => {
  const keys = new Keys(['alpha', 'beta']);
  const [alpha, beta] = ['alpha', 'beta'].map((key) => keys.credentialFor(`Bearer ${key}`));
  assert.match(alpha ?? '', /^[0-9a-f]{16}$/);
  assert.notEqual(alpha, beta);
  assert.equal(new Keys(['other', 'alpha']).credentialFor('Bearer alpha'), alpha, 'the same on every server');
  assert.doesNotMatch(JSON.stringify(keys), /alpha/);
});

test('without keys everybody is the same caller', () => {
  const keys = new Keys([]);
  assert.equal(keys.open, true);
  assert.deepEqual([keys.credentialFor(undefined), keys.credentialFor('Bearer x')], ['open', 'open']);
});

test('keys come from a file, one a line, and from a list; blank lines and remarks are skipped', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keys-'));
  try {
    const file = join(folder, 'keys');
    writeFileSync(file, '# ours\nalpha\n\n  beta  \r\n#gamma\n');
    assert.deepEqual(readKeys(file, 'delta, ,epsilon'), ['alpha', 'beta', 'delta', 'epsilon']);
    assert.deepEqual(readKeys(undefined, undefined), []);
    assert.throws(() => readKeys(join(folder, 'none'), undefined), /ENOENT/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

overEveryWire('a missing or wrong key is refused before the upgrade, with a JSON body (P2)', async (wire) => {
  await using serving = await wire.serve(script, { keys: ['alice'] });
  for (const key of [undefined, 'wrong', 'alice2']) {
    const answer = await serving.refused(key === undefined ? {} : { key });
    assert.equal(answer.status, 401);
    assert.match(answer.contentType, /^application\/json/);
    assert.deepEqual(JSON.parse(answer.body), {
      error: {
        type: 'authentication_error',
        code: 'invalid_api_key',
        message: 'Incorrect or missing API key; send authorization: Bearer <key>.',
        param: null,
      },
    });
  }
  await using peer = await serving.connect({ key: 'alice' });
  assert.equal((await peer.turn()).at(-1)?.type, 'response.completed');
  assert.equal(serving.server.host.sessions.size, 1);
});

overEveryWire('an unknown design is refused with the names of those there are', async (wire) => {
  await using serving = await wire.serve(script);
  for (const options of [
    { design: 'nonsense' },
    { design: null, headers: { 'x-response-design': 'nonsense' } },
    { design: '__proto__' },
    { design: '' },
  ]) {
    const answer = await serving.refused(options);
    const { error } = JSON.parse(answer.body);
    assert.deepEqual([answer.status, error.code, error.param], [400, 'invalid_value', 'design']);
    assert.match(error.message, /there are append, chain, shim, replay, replay-cached\./);
  }
});

overEveryWire('a design is chosen by query, or by header, or by default', async (wire) => {
  await using serving = await wire.serve(script, { server: { defaultDesign: 'append' } });
  for (const [options, native] of [
    [{ design: 'append' }, true],
    [{ design: 'chain' }, false],
    [{ design: null, headers: { 'x-response-design': 'chain' } }, false],
    [{ design: 'append', headers: { 'x-response-design': 'chain' } }, true],
    [{ design: null }, true],
  ] as const) {
    await using peer = await serving.connect(options);
    const events = await peer.turn();
    assert.equal(
      events.some((event) => 'response_id' in event),
      native,
      JSON.stringify(options),
    );
  }
});

overEveryWire('sockets beyond the limit are refused, retryable, until one closes', async (wire) => {
  await using serving = await wire.serve(script, { limits: { socketsMax: 1 } });
  const first = await serving.connect();
  const answer = await serving.refused();
  assert.equal(answer.status, 429);
  assert.equal(JSON.parse(answer.body).error.headers['retry-after'], '1');
  first.close();
  await serving.closings.next();
  await using second = await serving.connect();
  assert.equal((await second.turn()).at(-1)?.type, 'response.completed');
});

overEveryWire(
  'a revoked key cuts its caller off: the socket closes, its Responses end with one bill, other callers go on (B122)',
  async (wire) => {
    await using serving = await wire.serve([turn(call('ls')), turn(say('done'))], { keys: ['a', 'b'] });
    await using gone = await serving.connect({ key: 'a' });
    await using stays = await serving.connect({ key: 'b' });
    const [lost, kept] = [await gone.turn(), await stays.turn()];
    const [lostId, keptId] = [lost, kept].map(
      (events) => ofType(events, 'response.created')[0]?.response.id ?? '',
    );
    serving.server.replaceKeys(['b', 'c']);
    assert.deepEqual(await gone.closed, { code: 1008, reason: 'the key was revoked' });
    await serving.lab.settle();
    assert.deepEqual(
      serving.lab.store.bills.map(({ response_id, status }) => [response_id, status]),
      [[lostId, 'cancelled']],
    );
    assert.equal((await serving.refused({ key: 'a' })).status, 401);
    stays.append(keptId ?? '', output(callIds(kept)[0], 'etc'));
    assert.equal((await stays.until(isTerminal)).type, 'response.completed');
    await using joined = await serving.connect({ key: 'c' });
    assert.equal((await joined.turn()).at(-1)?.type, 'response.done');
  },
);

test('keys are neither taken by an open server nor taken away to the last one', () => {
  assert.throws(() => new Keys([]).replace(['a']), /without keys/);
  assert.throws(() => new Keys(['a']).replace([]), /no key is left/);
});
