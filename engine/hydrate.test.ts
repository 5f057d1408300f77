import { test } from 'node:test';
import assert from 'node:assert/strict';

import { MemoryStore } from './memory-store.js';
import { call, callIdsOf, Lab, output, say, turn } from './testing/lab.js';

const script = [turn(say('one')), turn(say('two')), turn(say('three'))];

test('a stored conversation is what it was, whole, with the calls that are owed (P42)', async () => {
  const lab = new Lab([turn(say('looking'), call('ls'), call('cat')), turn(say('done'))]);
  const response = await lab.create('hi', { handOff: 'complete' });
  const kept = await lab.engine.hydrate(response.id);
  assert.ok(kept);
  assert.deepEqual(kept.transcript.items(), response.kept.transcript.items());
  assert.equal(kept.transcript.tokens, response.kept.transcript.tokens);
  assert.deepEqual(kept.owed, callIdsOf(response));
  assert.equal(kept.countedTokens, 0, 'nobody holds its tokens any more');
  const answers = callIdsOf(response).map((callId) => output(callId, 'x'));
  await lab.create({ input: answers }, { kept });
  assert.deepEqual(lab.prompt.slice(-2), ['tool: x', 'tool: x']);
});

test('a chain of three is put together, oldest first (P42)', async () => {
  const lab = new Lab(script);
  let kept = null;
  const ids: string[] = [];
  for (const input of ['a', 'b', 'c']) {
    const response = await lab.create({ input }, { kept });
    ids.push(response.id);
    kept = await lab.engine.hydrate(response.id);
  }
  await lab.create({ input: 'd' }, { kept: await lab.engine.hydrate(ids[1] ?? '') });
  assert.deepEqual(lab.prompt, ['user: a', 'assistant: one', 'user: b', 'assistant: two', 'user: d']);
  assert.deepEqual(
    kept?.transcript.items().map((item) => item.type),
    Array.from({ length: 6 }, () => 'message'),
  );
});

test('of a rollout that went on after a fork, the fork has no more than it inherited', async () => {
  const lab = new Lab([turn(call('ls')), turn(say('done')), turn(say('more'))]);
  const line = await lab.create('hi');
  const answers = callIdsOf(line).map((callId) => output(callId, 'x'));
  const fork = await lab.create(
    { input: answers.map((answer) => ({ ...answer, output: 'y' })) },
    { kept: line.kept },
  );
  await lab.append(line, ...answers);
  await line.settled;
  const kept = await lab.engine.hydrate(fork.id);
  assert.deepEqual(kept?.transcript.items(), fork.kept.transcript.items());
  await lab.create({ input: 'and?' }, { kept });
  assert.deepEqual(lab.prompt, [
    'user: hi',
    'assistant to=ls: {}',
    'tool: y',
    'assistant: done',
    'user: and?',
  ]);
});

test('what is missing, failed, unstored or another’s is not found (P38, P43)', async () => {
  const fault = new Error('broken');
  const lab = new Lab(({ context }) =>
    context.transcript.length > 3
      ? { items: [say('x')], failAfterTokens: { tokens: 0, fault } }
      : turn(say('fine')),
  );
  const root = await lab.create('hi', { credential: 'alice' });
  const child = await lab.create('go on', { credential: 'alice', kept: root.kept });
  const failed = await lab.create('break', { credential: 'alice', kept: child.kept });
  const secret = await lab.create({ input: 'hi', store: false }, { credential: 'alice' });
  const { engine } = lab;
  assert.equal(await engine.hydrate(root.id, 'bob'), null);
  assert.equal(await engine.hydrate(root.id), null);
  assert.equal(await engine.hydrate(failed.id, 'alice'), null);
  assert.equal(await engine.hydrate(secret.id, 'alice'), null);
  assert.equal(await engine.hydrate('resp_gone', 'alice'), null);
  assert.notEqual(await engine.hydrate(child.id, 'alice'), null);
  await lab.store.remove(root.id, 'alice');
  assert.equal(await engine.hydrate(child.id, 'alice'), null, 'its beginning is gone');
});

test('a conversation of which a part was not stored is not found', async () => {
  const lab = new Lab(script);
  const root = await lab.create({ input: 'hi', store: false });
  const child = await lab.create('go on', { kept: root.kept });
  assert.equal(await lab.engine.hydrate(child.id), null);
});

test('a store that does not answer is waited for as long as any post stage', async () => {
  class Silent extends MemoryStore {
    override load(_id: string, _credential: string, signal?: AbortSignal): Promise<null> {
      return new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
      });
    }
  }
  const lab = new Lab(script, { engine: { store: new Silent(), limits: { postMsMax: 100 } } });
  const found = lab.engine.hydrate('resp_1');
  const refused = assert.rejects(found, { code: 'server_error' });
  await lab.clock.advance(100);
  await refused;
  assert.equal(lab.clock.pending, 0);
});

test('a context that was compacted or truncated comes back without what stood for nothing any more', async () => {
  const long = 'x'.repeat(100);
  const compacting = { context_management: [{ type: 'compaction', compact_threshold: 150 }] };
  for (const [fields, contextTokensMax] of [
    [compacting, 400_000],
    [{ truncation: 'auto' }, 450],
  ] as const) {
    const lab = new Lab(() => turn(say(long)), { contextTokensMax });
    let kept = null;
    let id = '';
    for (const input of ['a', 'b', 'c', 'd']) {
      const response = await lab.create({ input: `${input}${long}`, ...fields }, { kept });
      ({ kept, id } = response);
    }
    const hydrated = await lab.engine.hydrate(id);
    const items = hydrated?.transcript.items() ?? [];
    assert.deepEqual(items.slice(-2), kept?.transcript.items().slice(-2));
    const texts = items.map((item) => JSON.stringify('content' in item ? item.content : item));
    const asked = texts.filter((text) => /^"[a-d]x/.test(text));
    assert.equal(new Set(asked).size, asked.length, 'nothing comes back twice');
    if ('context_management' in fields) assert.equal(items.length, kept?.transcript.length);
  }
});
