import assert from 'node:assert/strict';
import { test } from 'node:test';

import { deferred, type ServerEvent } from '../../engine/index.js';
import { call, message, say, turn } from '../../engine/testing/lab.js';
import { Client } from '../client.js';
import { RolloutError, type ClientToolCall, type RolloutReport } from '../client-report.js';
import { builtinDesigns } from '../designs.js';
import { nodeAdapter } from '../testing/adapters.js';
import { TApplication } from '../testing/application.js';
import { anonymous } from '../testing/events.js';
import { overEveryNetwork } from '../testing/wire.js';

const request = { model: 'm', input: [message('hi')] };
const script = [
  turn(say('look'), call('a', '{"n":1}'), call('b', '{"n":2}')),
  turn(call('c')),
  turn(say('done')),
];
const answer = async ({ name, turn: number, index }: ClientToolCall): Promise<string> =>
  `${name} ${number} ${index}`;

/** The client's own account of a rollout, as items that hold in any run. */
function itemsOf(report: RolloutReport): unknown[] {
  return anonymous(report.items);
}

for (const { name: design } of builtinDesigns) {
  for (const toolStart of ['item_done', 'hand_off'] as const)
    overEveryNetwork(`a rollout runs in ${design}, with tools that start at ${toolStart}`, async (wire) => {
      await using serving = await wire.serve(script);
      await using client = await Client.connect({ url: serving.url, design, checked: true });
      const log: string[] = [];
      client.onEvent = (event) => {
        if (event.type === 'response.output_item.done') log.push(`${event.item.type} done`);
        if (/^response\.(done|completed)$/.test(event.type)) log.push('hand-off');
      };
      const report = await client.run({
        request,
        toolStart,
        tool: (called) => {
          log.push(`${called.name} starts`);
          return answer(called);
        },
      });
      assert.deepEqual(
        log.slice(0, 6),
        toolStart === 'item_done'
          ? ['message done', 'function_call done', 'a starts', 'function_call done', 'b starts', 'hand-off']
          : ['message done', 'function_call done', 'function_call done', 'hand-off', 'a starts', 'b starts'],
      );
      assert.deepEqual(
        report.items.map((item) => ('output' in item ? item.output : 'name' in item ? item.name : 'text')),
        ['text', 'a', 'b', 'a 1 0', 'b 1 1', 'c', 'c 2 0', 'text'],
      );
      assert.equal(report.status, 'completed');
      assert.deepEqual(
        report.turns.map(({ turn: number, calls }) => [number, calls]),
        [
          [1, 2],
          [2, 1],
          [3, 0],
        ],
      );
      assert.equal(report.responseIds.length, design === 'append' ? 1 : 3);
      assert.deepEqual(serving.lab.prompt.slice(-2), ['assistant to=c: {}', 'tool: c 2 0']);
    });

  overEveryNetwork(
    `the numbers of a report add up, and are those the server counted, in ${design}`,
    async (wire) => {
      await using serving = await wire.serve(script);
      await using client = await Client.connect({ url: serving.url, design });
      const report = await client.run({ request, tool: answer });
      const { traffic } = serving.server.host;
      assert.deepEqual(
        [report.framesUp, report.bytesUp, report.framesDown, report.bytesDown],
        [traffic.framesIn, traffic.charactersIn, traffic.framesOut, traffic.charactersOut],
      );
      for (const field of ['framesUp', 'bytesUp', 'framesDown', 'bytesDown'] as const)
        assert.equal(
          report[field],
          report.turns.reduce((sum, one) => sum + one[field], 0),
        );
      for (const { readyAt, sentAt, firstEventAt, firstTokenAt, lastTokenAt, endedAt } of report.turns)
        assert.deepEqual(
          [readyAt, sentAt, firstEventAt, firstTokenAt, lastTokenAt, endedAt].map((at) => at > 0),
          [true, true, true, true, true, true],
        );
      for (const { readyAt, sentAt, firstEventAt, endedAt } of report.turns)
        assert.ok(readyAt <= sentAt && sentAt <= firstEventAt && firstEventAt <= endedAt);
    },
  );

  overEveryNetwork(`a tool that fails answers with its reason, in ${design}`, async (wire) => {
    await using serving = await wire.serve([turn(call('a')), turn(say('sorry'))]);
    await using client = await Client.connect({ url: serving.url, design });
    await client.run({ request, tool: () => Promise.reject(new Error('no such file')) });
    assert.equal(serving.lab.prompt.at(-1), 'tool: The tool failed: no such file');
  });

  overEveryNetwork(
    `a socket that closes rejects what runs on it and what waits for it, in ${design}`,
    async (wire) => {
      await using serving = await wire.serve(script);
      const client = await Client.connect({ url: serving.url, design });
      const started = deferred<void>();
      const runs = [1, 2].map(() =>
        client.run({
          request,
          tool: () => {
            started.resolve();
            return new Promise<string>(() => undefined);
          },
        }),
      );
      const failures = Promise.all(runs.map((run) => run.then(undefined, (fault: unknown) => fault)));
      await started.promise;
      await serving.server.drain();
      for (const fault of await failures) {
        assert.ok(fault instanceof RolloutError);
        assert.match(fault.code, /^(socket_closed|server_shutting_down)$/);
      }
      await client.closed;
      assert.equal(client.open, false);
      await assert.rejects(client.run({ request, tool: answer }), { code: 'socket_closed' });
    },
  );

  overEveryNetwork(`a refusal rejects its own run alone, in ${design}`, async (wire) => {
    await using serving = await wire.serve(script);
    await using client = await Client.connect({ url: serving.url, design });
    const [refused, fine] = await Promise.allSettled([
      client.run({ request: { ...request, model: 'unserved' }, tool: answer }),
      client.run({ request, tool: answer }),
    ]);
    assert.ok(refused.status === 'rejected' && refused.reason instanceof RolloutError);
    assert.equal(refused.reason.code, 'model_not_found');
    assert.equal(refused.reason.event?.type, 'error');
    assert.ok(fine.status === 'fulfilled');
    assert.equal(fine.value.status, 'completed');
  });
}

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

overEveryNetwork('outputs that are early in every turn leave the items in order', async (wire) => {
  await using serving = await wire.serve(script);
  const reports = [];
  for (const outputs of ['early', 'hand_off'] as const) {
    await using client = await Client.connect({ url: serving.url, design: 'append' });
    reports.push(await client.run({ request, tool: answer, outputs }));
  }
  const [early, usual] = reports;
  assert.ok(early && usual);
  assert.deepEqual(itemsOf(early), itemsOf(usual));
  assert.ok(early.framesUp > usual.framesUp, 'an append for each output');
});

overEveryNetwork('in append many rollouts share a socket, elsewhere they take turns', async (wire) => {
  for (const { name: design } of builtinDesigns) {
    await using serving = await wire.serve(script);
    await using client = await Client.connect({ url: serving.url, design });
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
    if (design !== 'append') assert.ok(atOnce <= 1);
  }
});

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

overEveryNetwork('an upgrade that is refused rejects the connect', async (wire) => {
  await using serving = await wire.serve(script, { keys: ['k'] });
  await assert.rejects(Client.connect({ url: serving.url, design: 'append', key: 'wrong' }), /401/);
  await assert.rejects(Client.connect({ url: serving.url, design: 'nonsense', key: 'k' }), /400/);
  await using client = await Client.connect({ url: serving.url, design: 'append', key: 'k' });
  assert.equal(client.open, true);
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
