import assert from 'node:assert/strict';
import { test } from 'node:test';

import { pino } from 'pino';
import { WebSocket } from 'ws';

import { MemoryStore, VirtualClock } from '../../engine/index.js';
import { scriptedSampler } from '../../engine/samplers/scripted.js';
import { call, say, turn, unitTokenizer } from '../../engine/testing/lab.js';
import { Client } from '../client.js';
import { RolloutError } from '../client-report.js';
import { serve, type ServeOptions, type Serving } from '../serve.js';

interface Started extends AsyncDisposable {
  readonly serving: Serving;
  readonly store: MemoryStore;
  readonly lines: Record<string, unknown>[];
}

/** A server whose log is an array; disposing stops it. */
async function started(options: Omit<ServeOptions, 'engine'> = {}, level = 'info'): Promise<Started> {
  const clock = new VirtualClock();
  const store = new MemoryStore();
  const lines: Record<string, unknown>[] = [];
  const script = [turn(call('read', '{"path":"secret-path"}')), turn(say('secret-answer'))];
  const serving = await serve({
    ...options,
    engine: { sampler: scriptedSampler({ script, clock }), clock, store, tokenizer: unitTokenizer },
    log: pino({ level }, { write: (line: string) => lines.push(JSON.parse(line)) }),
  });
  return { serving, store, lines, [Symbol.asyncDispose]: () => serving.stop() };
}

const rollout = {
  request: { model: 'm', input: 'secret-question', instructions: 'secret-instructions' },
  tool: async () => 'secret-output',
};

for (const transport of ['node', 'auto'] as const)
  test(
    `a server on ${transport} has a url with a free port, its routes, and an end`,
    { timeout: 20_000 },
    async () => {
      await using one = await started({ transport, keys: ['key-of-alice'] });
      const { serving } = one;
      assert.equal(serving.url, `http://127.0.0.1:${serving.port}`);
      assert.ok(serving.port > 0);
      const ask = async (path: string, key?: string, method = 'GET') => {
        const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
        const answer = await fetch(`${serving.url}${path}`, { method, headers });
        return {
          status: answer.status,
          type: answer.headers.get('content-type'),
          body: await answer.text(),
          headers: answer.headers,
        };
      };
      const health = await ask('/healthz');
      assert.deepEqual([health.status, health.body], [200, 'ok\n']);
      assert.deepEqual((await ask('/readyz')).status, 200);
      for (const [path, key, method, status, code] of [
        ['/counters', undefined, 'GET', 401, 'invalid_api_key'],
        ['/counters', 'wrong', 'GET', 401, 'invalid_api_key'],
        ['/v1/responses', undefined, 'GET', 401, 'invalid_api_key'],
        ['/v1/responses', 'key-of-alice', 'GET', 426, 'upgrade_required'],
        ['/v1/responses', 'key-of-alice', 'DELETE', 405, 'method_not_allowed'],
        ['/', 'key-of-alice', 'GET', 404, 'not_found'],
        ['/v1/elsewhere?x=1', 'key-of-alice', 'POST', 404, 'not_found'],
      ] as const) {
        const answer = await ask(path, key, method);
        assert.deepEqual([answer.status, answer.type], [status, 'application/json'], path);
        const { error } = JSON.parse(answer.body);
        assert.deepEqual(Object.keys(error).sort(), ['code', 'message', 'param', 'type'], 'P63');
        assert.equal(error.code, code, path);
        if (status === 426) assert.equal(answer.headers.get('upgrade'), 'websocket');
      }
      await using client = await Client.connect({ url: serving.url, design: 'append', key: 'key-of-alice' });
      await client.run(rollout);
      const counters = JSON.parse((await ask('/counters', 'key-of-alice')).body);
      assert.equal(counters.stage_runs['pre.render'].runs, 1);
      assert.deepEqual([counters.live, counters.sockets], [0, 1]);
      assert.ok(counters.traffic.framesOut > 0 && counters.cpu_us > 0 && counters.rss_bytes > 0);
      const { body, type } = await ask('/metrics');
      assert.match(type ?? '', /^text\/plain/);
      for (const series of [
        'long_response_settled_total{status="completed",reason=""} 1',
        'long_response_live 0',
        'long_response_suspended 0',
        'long_response_ended_kept 1',
        'long_response_sockets 1',
        'long_response_frames_in 2',
        `long_response_frames_out ${counters.traffic.framesOut}`,
        'long_response_stage_runs{stage="pre.render"} 1',
        'long_response_stage_tokens{stage="append.render"}',
        'long_response_stage_ms{stage="post.store"}',
        'process_cpu_seconds_total',
      ])
        assert.ok(body.includes(series), series);
    },
  );

test(
  'no key, and nothing that anybody said, is in the log: one line for each settled rollout',
  { timeout: 20_000 },
  async () => {
    await using one = await started({ keys: ['key-of-alice', 'key-of-bob'] }, 'trace');
    const { serving, lines } = one;
    for (const key of ['key-of-alice', 'key-of-bob']) {
      await using client = await Client.connect({ url: serving.url, design: 'append', key });
      await client.run(rollout);
      await assert.rejects(
        client.run({ ...rollout, request: { ...rollout.request, model: '' } }),
        RolloutError,
      );
    }
    await assert.rejects(Client.connect({ url: serving.url, design: 'append', key: 'key-of-eve' }));
    await serving.stop();
    const settled = lines.filter(({ msg }) => msg === 'settled');
    assert.equal(settled.length, 2);
    assert.notEqual(settled[0]?.['credential'], settled[1]?.['credential']);
    const { response_id, model, outcome, turns, usage, stage_runs } = settled[0] ?? {};
    assert.match(String(response_id), /^resp_/);
    assert.deepEqual([model, outcome, turns], ['m', { status: 'completed' }, 2]);
    assert.ok(usage && stage_runs);
    assert.doesNotMatch(JSON.stringify(lines), /key-of-|secret-/);
  },
);

test('without keys only a loopback host is served', { timeout: 20_000 }, async () => {
  for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.com'])
    await assert.rejects(started({ host }), /refusing to serve .* without keys/);
  for (const host of ['127.0.0.1', 'localhost']) {
    await using one = await started({ host });
    await using client = await Client.connect({ url: one.serving.url, design: 'chain' });
    assert.equal((await client.run(rollout)).status, 'completed');
  }
});

test('an unknown default design is refused at the start', { timeout: 20_000 }, async () => {
  await assert.rejects(started({ defaultDesign: 'nonsense' }), RangeError);
});

test(
  'while it stops a server is alive and not ready; stopping again waits for the same end',
  { timeout: 20_000 },
  async () => {
    await using one = await started();
    const { serving } = one;
    const socket = new WebSocket(`${serving.url.replace('http', 'ws')}/v1/responses?design=append`);
    const events: string[] = [];
    const suspended = new Promise<void>((resolve) => {
      socket.on('message', (raw: Buffer) => {
        const { type } = JSON.parse(raw.toString());
        events.push(type);
        if (type === 'response.done') resolve();
      });
    });
    const closed = new Promise<number>((resolve) => socket.on('close', resolve));
    socket.on('open', () =>
      socket.send(JSON.stringify({ type: 'response.create', model: 'm', input: 'hi' })),
    );
    await suspended;
    const first = serving.stop();
    assert.equal(serving.stop(), first);
    await first;
    assert.equal(await closed, 1012);
    assert.deepEqual(events.slice(-2), ['error', 'response.incomplete']);
    assert.equal(one.store.billed.count, 1);
    await assert.rejects(fetch(`${serving.url}/healthz`));
  },
);

test('a port that is taken is an error', { timeout: 20_000 }, async () => {
  await using one = await started();
  await assert.rejects(started({ port: one.serving.port }));
});
