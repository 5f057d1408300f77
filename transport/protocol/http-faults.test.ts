import assert from 'node:assert/strict';

import type { Stage } from '../../engine/index.js';
import { ProtocolError } from '../../engine/index.js';
import { say, turn } from '../../engine/testing/lab.js';
import { numbersOf, ofType } from '../testing/events.js';
import { overEveryWire, type Serving } from '../testing/wire.js';

const KiB = 1024;
const fault = new Error('/home/model/secret.ts:7 the GPU at 10.0.0.7 is on fire');
const generic = 'The server failed to process the request.';

function breaking(phase: 'pre' | 'post', thrown: Error): Stage {
  const run = (): never => {
    throw thrown;
  };
  return { name: 'broken', phases: [phase], reads: 'new', refuses: false, critical: true, run };
}

const script = [{ ...turn(say('abcdefghijklmnop')), failAfterTokens: { tokens: 3, fault } }];
const perTurn = ['chain', 'shim', 'replay'] as const;

function faultsTaken(serving: Serving): number {
  return serving.faults.splice(0).length;
}

for (const design of [...perTurn, 'append'] as const)
  overEveryWire(
    `${design}: a fault in the middle of a stream is told before its end, which is marked (P66, B57, B59, P67)`,
    async (wire) => {
      await using serving = await wire.serve(script, { deltaTokensMax: 1 });
      const http = serving.http({ design });
      const events = await http.turn();
      const types = events.map(({ type }) => type);
      assert.equal(types.filter((type) => type === 'response.output_text.delta').length, 3);
      const failed = events.at(-1);
      assert.ok(failed?.type === 'response.failed');
      assert.deepEqual(failed.response.error, { code: 'server_error', message: generic });
      assert.deepEqual(
        numbersOf(events),
        events.map((_, index) => index),
      );
      if (design === 'append') assert.ok(!types.includes('error'), 'the native stream is that of a socket');
      else {
        assert.equal(types.at(-2), 'error');
        const told = events.at(-2) as unknown as Record<string, unknown>;
        assert.deepEqual(
          [told['code'], told['message'], told['param']],
          ['server_error', generic, null],
          'flat',
        );
        assert.deepEqual(told['error'], {
          type: 'server_error',
          code: 'server_error',
          message: generic,
          param: null,
        });
      }
      assert.doesNotMatch(JSON.stringify(events), /secret|10\.0\.0|home/);
      const got = (await http.get(failed.response.id)).response;
      assert.deepEqual(got, failed.response);
      assert.deepEqual(await (await http.follow(failed.response.id)).rest(), events, 'read again, the same');
    },
  );

for (const design of perTurn)
  overEveryWire(
    `${design}: whoever waits for JSON gets a fault as an error, a socket exactly one of error and failed (P65, B57)`,
    async (wire) => {
      await using serving = await wire.serve(script, { deltaTokensMax: 1 });
      const told = await serving.http({ design }).create();
      assert.deepEqual(
        [told.status, told.error.type, told.error.code],
        [500, 'server_error', 'server_error'],
      );
      assert.equal(told.error.message, generic);
      await using peer = await serving.connect({ design });
      const events = [...(await peer.turn()), ...(await peer.rest())];
      assert.deepEqual([ofType(events, 'response.failed').length, ofType(events, 'error').length], [1, 0]);
      assert.equal(serving.lab.engine.stageRuns['post.bill']?.runs, 2);
    },
  );

overEveryWire(
  'before response.created a fault is the answer itself, on every route (B57, P65, P67)',
  async (wire) => {
    const engine = { stages: (standard: Stage[]) => [...standard, breaking('pre', fault)] };
    await using serving = await wire.serve(script, { engine });
    for (const design of [...perTurn, 'append'] as const) {
      const http = serving.http({ design });
      const told = [await http.refusedStream({}), ...(design === 'append' ? [] : [await http.create()])];
      for (const { status, error } of told)
        assert.deepEqual([status, error.code, error.message], [500, 'server_error', generic]);
      assert.equal(faultsTaken(serving), told.length, 'each is in the log, once');
      await using peer = await serving.connect({ design });
      peer.send({ type: 'response.create', model: 'm' });
      const { status, error } = await peer.until('error');
      assert.deepEqual([status, error.code, error.message], [500, 'server_error', generic]);
      assert.equal(faultsTaken(serving), 1);
    }
  },
);

overEveryWire('a quota has its status, and its hint as a header and in the body (P68, B58)', async (wire) => {
  const quota = new ProtocolError('rate_limit_exceeded', 'Come again.', { retryAfterSeconds: 7 });
  const engine = {
    stages: (standard: Stage[]) => [...standard, { ...breaking('pre', quota), refuses: true }],
  };
  await using serving = await wire.serve(script, { engine });
  for (const design of [...perTurn, 'append'] as const) {
    const told = await serving.http({ design }).refusedStream({});
    assert.deepEqual(
      [told.status, told.error.code, told.error.type],
      [429, 'rate_limit_exceeded', 'rate_limit_error'],
    );
    assert.equal(told.headers['retry-after'], '7');
    assert.deepEqual(told.error.headers, { 'retry-after': '7' });
  }
});

const piece = Buffer.alloc(30 * KiB, 'x');
const floods = (pieces: number) => () =>
  turn({
    type: 'message',
    text: Array.from({ length: pieces }, () => piece),
    tokens: new Uint32Array(pieces),
  });
const pace = { decodeTokensPerSecond: 100, deltaTokensMax: 1 };

overEveryWire(
  'a stream that is not read is sent what its buffer takes, then ends unmarked; others go on (B93, P80)',
  async (wire) => {
    await using serving = await wire.serve(floods(400), pace);
    const { clock } = serving.lab;
    const events = await serving.http({ design: 'append' }).stream();
    const { response } = await events.until('response.created');
    events.stream.pause();
    await clock.advance(10_000);
    const sent = serving.server.host.traffic.charactersOut;
    assert.ok(sent < (wire.name === 'loopback' ? 1100 : 8 * KiB) * KiB, `${sent} of 12 MB were sent`);
    assert.equal(
      serving.response(response.id).settlement?.outcome.status,
      'completed',
      'nor is the model slowed',
    );
    await clock.advance(60_000);
    events.stream.resume();
    await events.stream.ended.catch(() => undefined);
    assert.ok(!events.stream.chunks.received.join('').includes('[DONE]'));
    const again = await serving.http({ design: 'append' }).get(response.id);
    assert.equal(again.response.status, 'completed');
  },
);

overEveryWire(
  'a stream that is read again in time has missed nothing, and JSON misses nothing (B93)',
  async (wire) => {
    await using serving = await wire.serve(floods(100), { ...pace, limits: { logBytesMax: 64 * KiB * KiB } });
    const http = serving.http({ design: 'chain' });
    const events = await http.stream();
    await events.until('response.created');
    events.stream.pause();
    await serving.lab.clock.advance(10_000);
    events.stream.resume();
    const rest = await events.rest();
    assert.equal(ofType(rest, 'response.output_text.delta').length, 100);
    assert.deepEqual(
      numbersOf(events.taken),
      events.taken.map((_, index) => index),
    );

    await using small = await wire.serve(floods(100), { limits: { logBytesMax: 64 * KiB } });
    const { output } = (await small.http({ design: 'chain' }).create()).response;
    assert.equal(JSON.stringify(output).length > 100 * piece.length, true);
  },
);

overEveryWire(
  'on the way out what runs ends well, as JSON and as a stream, and nothing new begins (B100)',
  async (wire) => {
    await using serving = await wire.serve(() => turn(say('a'.repeat(80))), {
      decodeTokensPerSecond: 10,
      deltaTokensMax: 1,
    });
    const streams = await Promise.all(perTurn.map((design) => serving.http({ design }).stream()));
    for (const events of streams) await events.until('response.created');
    const waiting = perTurn.map((design) => serving.http({ design }).create());
    while (serving.lab.turns.length < 6) await new Promise(setImmediate);
    const drained = serving.server.drain().then(() => serving.listening[Symbol.asyncDispose]());
    for (const design of [...perTurn, 'append'] as const)
      assert.equal((await serving.http({ design }).refusedStream({})).error.code, 'server_shutting_down');
    await serving.lab.clock.advance(5000);
    await drained;
    for (const events of streams) assert.equal((await events.rest()).at(-1)?.type, 'response.completed');
    for (const told of await Promise.all(waiting)) assert.equal(told.response.status, 'completed');
  },
);

overEveryWire(
  'what the way out has no time for is told its end before its connection goes (B100)',
  async (wire) => {
    await using serving = await wire.serve(() => turn(say('done')), {
      firstTokenMs: 100_000,
      limits: { shutdownMsMax: 1000 },
    });
    const streams = await Promise.all(perTurn.map((design) => serving.http({ design }).stream()));
    for (const events of streams) await events.until('response.created');
    const waiting = perTurn.map((design) => serving.http({ design }).create());
    while (serving.lab.turns.length < 6) await new Promise(setImmediate);
    const drained = serving.server.drain().then(() => serving.listening[Symbol.asyncDispose]());
    await serving.lab.clock.advance(1000);
    await drained;
    for (const events of streams) {
      const [end] = ofType(await events.rest(), 'response.incomplete');
      assert.deepEqual(end?.response.incomplete_details, { reason: 'cancelled' });
    }
    for (const told of await Promise.all(waiting)) assert.equal(told.response.status, 'cancelled');
  },
);
