import assert from 'node:assert/strict';

import type { Stage } from '../../engine/index.js';
import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { builtinDesigns } from '../designs.js';
import { callIds, checkStream, ofType } from '../testing/events.js';
import { overEveryWire } from '../testing/wire.js';

overEveryWire(
  'a hundred appends at once arrive whole and in order, however long each takes (B132)',
  async (wire) => {
    let waits = 0;
    const slow: Stage = {
      name: 'slow',
      phases: ['append'],
      reads: 'new',
      refuses: false,
      critical: true,
      async run() {
        for (let round = waits++ % 7; round > 0; round--) await new Promise(setImmediate);
      },
    };
    await using serving = await wire.serve([turn(call('ls')), turn(say('done'))], {
      contextTokensMax: 2_000_000,
      engine: { stages: (standard) => [...standard, slow] },
    });
    await using peer = await serving.connect();
    const id = await peer.create();
    const [callId] = callIds(await peer.through('response.done'));
    const payloads = Array.from({ length: 100 }, (_, index) =>
      `${index}:`.padEnd(10_000, String(index % 10)),
    );
    for (const payload of payloads) peer.append(id, message(payload));
    peer.append(id, output(callId, 'x'));
    await peer.until('response.completed');
    checkStream(peer.received);
    assert.equal(ofType(peer.received, 'response.append.accepted').length, 101);
    assert.deepEqual(serving.lab.prompt.slice(-101), [
      'tool: x',
      ...payloads.map((payload) => `user: ${payload}`),
    ]);
  },
);

overEveryWire('only so many appends may wait; one too many is given back', async (wire) => {
  await using serving = await wire.serve([turn(call('ls')), turn(say('done'))], {
    limits: { pendingAppendsMax: 2 },
    engine: {
      stages: (standard) => [
        ...standard,
        {
          name: 'slow',
          phases: ['append'],
          reads: 'new',
          refuses: false,
          critical: true,
          run: () => new Promise(setImmediate),
        },
      ],
    },
  });
  await using peer = await serving.connect();
  const id = await peer.create();
  await peer.until('response.done');
  peer.sendTogether(
    ...[1, 2, 3, 4].map((number) => ({
      type: 'response.append',
      response_id: id,
      input: [message(`${number}`)],
    })),
  );
  const answers = [];
  while (answers.length < 4) answers.push(await peer.next());
  const refused = ofType(answers, 'response.append.failed');
  for (const { error } of refused) {
    assert.equal(error.code, 'rate_limit_exceeded');
    assert.deepEqual(error.headers, { 'retry-after': '1' });
  }
  assert.equal(refused.length + ofType(answers, 'response.append.accepted').length, 4, 'each is answered');
  if (wire.name === 'loopback') assert.equal(refused.length, 2);
});

overEveryWire('seventeen sockets of every design at once are all served (P83)', async (wire) => {
  await using serving = await wire.serve([turn(say('done'))]);
  const peers = await Promise.all(
    Array.from({ length: 17 }, (_, index) =>
      serving.connect({ design: builtinDesigns[index % 4]?.name ?? '' }),
    ),
  );
  const streams = await Promise.all(peers.map((peer) => peer.turn()));
  for (const events of streams) checkStream(events);
  assert.equal(
    new Set(
      streams.flatMap((events) => ofType(events, 'response.created').map(({ response }) => response.id)),
    ).size,
    17,
  );
  for (const peer of peers) await peer[Symbol.asyncDispose]();
});

overEveryWire('an input text is one user message, and a create is flat (P16, P19)', async (wire) => {
  await using serving = await wire.serve([turn(say('done'))]);
  await using peer = await serving.connect();
  await peer.turn({ input: 'hi' });
  const { prompt } = serving.lab;
  await peer.turn({ input: [{ role: 'user', content: [{ type: 'input_text', text: 'hi' }] }] });
  assert.deepEqual(serving.lab.prompt, prompt);
  peer.send({ type: 'response.create', response: { model: 'm', input: 'hi' } });
  assert.equal((await peer.until('error')).error.param, 'model');
});

overEveryWire('when a socket and a server are gone, no timer is left of them (B131)', async (wire) => {
  const serving = await wire.serve([turn(call('ls')), turn(say('done'))]);
  const { clock } = serving.lab;
  for (const design of ['append', 'chain']) {
    const peer = await serving.connect({ design });
    await peer.turn();
    peer.drop();
    await serving.closings.next();
  }
  assert.equal(serving.lab.engine.liveCount, 1);
  await serving[Symbol.asyncDispose]();
  assert.equal(clock.pending, 0);
});
