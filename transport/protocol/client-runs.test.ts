/** What the typed client does beside running a rollout: early outputs, many at once, refusals. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { deferred, type ServerEvent } from '../../engine/index.js';
import { call, say, turn } from '../../engine/testing/lab.js';
import { Client } from '../client.js';
import { builtinDesigns, DesignRegistry } from '../designs.js';
import { nodeAdapter } from '../testing/adapters.js';
import { TApplication } from '../testing/application.js';
import { answer, itemsOf, request, script, spoken, transports } from '../testing/client-runs.js';
import { overEveryNetwork } from '../testing/wire.js';

overEveryNetwork(
  'an output that goes back early is accepted while its turn is still sampled',
  async (wire) => {
    await using serving = await wire.serve(script, { decodeTokensPerSecond: 1 });
    await using client = await Client.connect({ url: serving.url, design: 'append', checked: true });
    const accepted = deferred<void>();
    const types: string[] = [];
    client.onEvent = (event: ServerEvent) => {
      types.push(event.type);
      if (event.type === 'response.append.accepted') accepted.resolve();
    };
    const run = client.run({ request, tool: answer, outputs: 'early' });
    const created = deferred<void>();
    const listen = client.onEvent;
    client.onEvent = (event) => {
      listen(event);
      if (event.type === 'response.created') created.resolve();
    };
    await created.promise;
    await serving.lab.clock.advance(2000); // The message and the first call are written; the second has just begun.
    await accepted.promise;
    assert.equal(serving.lab.engine.suspendedCount, 0);
    assert.ok(!types.includes('response.done'));
    const report = await serving.lab.clock.runUntil(run);
    assert.equal(report.status, 'completed');

    await using other = await wire.serve(script);
    await using usual = await Client.connect({ url: other.url, design: 'append' });
    assert.deepEqual(itemsOf(report), itemsOf(await usual.run({ request, tool: answer })));
    assert.deepEqual(serving.lab.prompt, other.lab.prompt);
  },
);

for (const transport of transports)
  overEveryNetwork(
    `outputs that are early in every turn leave the items in order, over ${transport}`,
    async (wire) => {
      await using serving = await wire.serve(script);
      const reports = [];
      for (const outputs of ['early', 'hand_off'] as const) {
        await using client = await Client.connect({ url: serving.url, design: 'append', transport });
        reports.push(await client.run({ request, tool: answer, outputs }));
      }
      const [early, usual] = reports;
      assert.ok(early && usual);
      assert.deepEqual(itemsOf(early), itemsOf(usual));
      assert.ok(early.framesUp > usual.framesUp, 'an append for each output');
    },
  );

overEveryNetwork(
  'many rollouts run at once, but for those that share a socket and no append',
  async (wire) => {
    for (const { design, transport } of spoken) {
      await using serving = await wire.serve(script);
      await using client = await Client.connect({ url: serving.url, design, transport });
      let atOnce = 0;
      const reports = await Promise.all(
        [1, 2, 3].map(() =>
          client.run({
            request,
            tool: (called) => {
              atOnce = Math.max(atOnce, serving.lab.engine.liveCount);
              return answer(called);
            },
          }),
        ),
      );
      for (const report of reports) assert.deepEqual(itemsOf(report), itemsOf(reports[0] ?? report));
      assert.equal(
        new Set(reports.flatMap(({ responseIds }) => responseIds)).size,
        design === 'append' ? 3 : 9,
      );
      if (design !== 'append' && transport === 'ws') assert.ok(atOnce <= 1);
    }
  },
);

overEveryNetwork('a rollout that another socket takes over is rejected as superseded', async (wire) => {
  await using serving = await wire.serve(script);
  await using client = await Client.connect({ url: serving.url, design: 'append' });
  const called = deferred<void>();
  const run = client.run({
    request,
    tool: () => {
      called.resolve();
      return new Promise<string>(() => undefined);
    },
  });
  const rejected = assert.rejects(run, { code: 'superseded' });
  await called.promise;
  const [response] = serving.lab.engine.live();
  await using other = await serving.connect();
  other.attach(response?.id ?? '');
  await rejected;
});

for (const transport of transports)
  overEveryNetwork(
    `a wrong key and an unknown design reject the connect, over ${transport}`,
    async (wire) => {
      await using serving = await wire.serve(script, { keys: ['k'] });
      const { url } = serving;
      await assert.rejects(
        Client.connect({ url, design: 'append', transport, key: 'wrong' }),
        /401: Incorrect/,
      );
      await assert.rejects(
        Client.connect({ url, design: 'nonsense', transport, key: 'k' }),
        /400: Unknown design/,
      );
      await using client = await Client.connect({ url, design: 'append', transport, key: 'k' });
      assert.equal(client.open, true);
    },
  );

overEveryNetwork('a design of somebody else is spoken as its client says', async (wire) => {
  const [, chain] = builtinDesigns;
  assert.ok(chain);
  const own = { ...chain, name: 'own', title: 'own' };
  const designs = new DesignRegistry([...builtinDesigns, own]);
  for (const transport of transports) {
    await using serving = await wire.serve(script, { server: { designs } });
    const speaks = { url: serving.url, design: own.name, client: own.client, transport };
    await using client = await Client.connect(speaks);
    const report = await client.run({ request, tool: answer });
    const [, second] = report.responseIds;
    assert.equal(serving.response(second ?? '').snapshot().previous_response_id, report.responseIds[0]);
  }
});

overEveryNetwork('a failed response is a report over a socket and over HTTP alike', async (wire) => {
  const failing = [
    turn(call('a')),
    { items: [say('no')], failAfterTokens: { tokens: 1, fault: new Error('broken') } },
  ];
  for (const { design, transport } of spoken) {
    await using serving = await wire.serve(failing);
    await using client = await Client.connect({ url: serving.url, design, transport });
    const report = await client.run({ request, tool: answer });
    assert.equal(report.status, 'failed', `${design} over ${transport}`);
    serving.faults.length = 0;
  }
});

overEveryNetwork('an output that is no JSON rejects its own rollout alone', async (wire) => {
  const circular: object[] = [];
  circular.push({ circular });
  for (const { design, transport } of spoken) {
    await using serving = await wire.serve(script);
    await using client = await Client.connect({ url: serving.url, design, transport });
    const bad = client.run({ request, tool: async () => circular });
    const good = client.run({ request, tool: answer });
    await assert.rejects(bad, { code: 'unsendable' });
    assert.equal((await good).status, 'completed');
  }
});

for (const frame of ['nonsense', '7', '{"no":"type"}', 'null'])
  test(
    `a server that sends ${frame} loses its client, whose rollouts are rejected`,
    { timeout: 20_000 },
    async () => {
      const application = new TApplication();
      await using server = await nodeAdapter.start(application);
      const client = await Client.connect({ url: server.url('/').replace('ws', 'http'), design: 'append' });
      const { socket } = await application.openings.next();
      const run = client.run({ request, tool: answer });
      socket.send([frame]);
      await assert.rejects(run, { code: 'invalid_event' });
      await client.closed;
    },
  );
