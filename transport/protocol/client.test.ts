/** The typed client, in every design over both transports. */
import assert from 'node:assert/strict';

import { deferred, VirtualClock } from '../../engine/index.js';
import { call, say, turn } from '../../engine/testing/lab.js';
import { Client } from '../client.js';
import { RolloutError } from '../client-report.js';
import { builtinDesigns } from '../designs.js';
import { answer, request, script, spoken } from '../testing/client-runs.js';
import { overEveryNetwork } from '../testing/wire.js';

for (const { design, transport, name } of spoken) {
  for (const toolStart of ['item_done', 'hand_off'] as const)
    overEveryNetwork(`a rollout runs in ${name}, with tools that start at ${toolStart}`, async (wire) => {
      await using serving = await wire.serve(script);
      await using client = await Client.connect({ url: serving.url, design, transport, checked: true });
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

  overEveryNetwork(`the numbers of a report are those of its turns, in ${name}`, async (wire) => {
    await using serving = await wire.serve(script);
    await using client = await Client.connect({ url: serving.url, design, transport });
    const report = await client.run({ request, tool: answer });
    assert.equal(report.transport, transport);
    for (const field of ['framesUp', 'bytesUp', 'framesDown', 'bytesDown'] as const)
      assert.equal(
        report[field],
        report.turns.reduce((sum, one) => sum + one[field], 0),
      );
    for (const { readyAt, sentAt, firstEventAt, firstTokenAt, lastTokenAt, endedAt } of report.turns) {
      assert.deepEqual(
        [readyAt, sentAt, firstEventAt, firstTokenAt, lastTokenAt, endedAt].map((at) => at > 0),
        [true, true, true, true, true, true],
      );
      assert.ok(readyAt <= sentAt && sentAt <= firstEventAt && firstEventAt <= endedAt);
    }
    for (const { framesUp, bytesUp, framesDown, bytesDown } of report.turns)
      assert.ok(framesUp === 1 && bytesUp > 0 && framesDown > 0 && bytesDown > 0);
  });

  overEveryNetwork(`a tool that fails answers with its reason, in ${name}`, async (wire) => {
    await using serving = await wire.serve([turn(call('a')), turn(say('sorry'))]);
    await using client = await Client.connect({ url: serving.url, design, transport });
    await client.run({ request, tool: () => Promise.reject(new Error('no such file')) });
    assert.equal(serving.lab.prompt.at(-1), 'tool: The tool failed: no such file');
  });

  overEveryNetwork(`a refusal rejects its own run alone, in ${name}`, async (wire) => {
    await using serving = await wire.serve(script);
    await using client = await Client.connect({ url: serving.url, design, transport });
    const [refused, fine] = await Promise.allSettled([
      client.run({ request: { ...request, model: 'unserved' }, tool: answer }),
      client.run({ request, tool: answer }),
    ]);
    assert.ok(refused.status === 'rejected' && refused.reason instanceof RolloutError);
    assert.equal(refused.reason.code, 'model_not_found');
    assert.equal(refused.reason.event?.type, transport === 'ws' ? 'error' : undefined);
    assert.equal(refused.reason.status, transport === 'ws' ? null : 404);
    assert.match(refused.reason.message, /unserved/);
    assert.ok(fine.status === 'fulfilled');
    assert.equal(fine.value.status, 'completed');
  });

  overEveryNetwork(`a client that is closed rejects what runs on it, in ${name}`, async (wire) => {
    await using serving = await wire.serve(script);
    const client = await Client.connect({ url: serving.url, design, transport });
    const started = deferred<void>();
    const run = client.run({
      request,
      tool: () => {
        started.resolve();
        return new Promise<string>(() => undefined);
      },
    });
    const code = transport === 'ws' ? 'socket_closed' : 'client_closed';
    const rejected = assert.rejects(run, { code });
    await started.promise;
    await client[Symbol.asyncDispose]();
    await rejected;
    await client.closed;
    assert.equal(client.open, false);
    await assert.rejects(client.run({ request, tool: answer }), { code });
  });

  overEveryNetwork(`a server that falls silent in mid-turn is given up, in ${name}`, async (wire) => {
    await using serving = await wire.serve(script, { decodeTokensPerSecond: 1 });
    const clock = new VirtualClock();
    const silent = { silenceMsMax: 5_000, clock };
    await using client = await Client.connect({ url: serving.url, design, transport, ...silent });
    const created = deferred<void>();
    client.onEvent = (event) => {
      if (event.type === 'response.created') created.resolve();
    };
    const rejected = assert.rejects(client.run({ request, tool: answer }), { code: 'timeout' });
    await created.promise;
    await clock.advance(4_999);
    assert.equal(clock.pending, 1);
    await clock.advance(5_000);
    await rejected;
    assert.equal(clock.pending, 0);
  });
}

for (const { name: design } of builtinDesigns) {
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

  overEveryNetwork(
    `bytes and frames on a socket are those the server counted, in ${design}`,
    async (wire) => {
      await using serving = await wire.serve(script);
      await using client = await Client.connect({ url: serving.url, design });
      const report = await client.run({ request, tool: answer });
      const { traffic } = serving.server.host;
      assert.deepEqual(
        [report.framesUp, report.bytesUp, report.framesDown, report.bytesDown],
        [traffic.framesIn, traffic.charactersIn, traffic.framesOut, traffic.charactersOut],
      );
    },
  );

  overEveryNetwork(`bytes and frames over HTTP are those of bodies, in ${design}`, async (wire) => {
    await using serving = await wire.serve(script);
    await using client = await Client.connect({ url: serving.url, design, transport: 'http' });
    const report = await client.run({ request, tool: answer });
    const { traffic } = serving.server.host;
    const streams = report.responseIds.length;
    const appends = report.framesUp - streams;
    assert.equal(report.framesDown, traffic.framesOut + appends);
    // One of the servers begins each stream with an empty comment.
    const framing = streams * ('data: [DONE]\n\n'.length + (wire.name === 'uws' ? ':\n\n'.length : 0));
    if (appends === 0) assert.equal(report.bytesDown, traffic.charactersOut + framing);
    else assert.ok(report.bytesDown > traffic.charactersOut + framing);
  });
}
