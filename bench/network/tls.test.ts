import { test } from 'node:test';
import assert from 'node:assert/strict';

import { Engine, o200kTokenizer, VirtualClock } from '../../engine/index.js';
import { rolloutRequest, scenarioModel, builtinScenarios, toolOutputs } from '../../scenarios/index.js';
import { Client, Keys, listen, Server } from '../../transport/index.js';
import { testCertificate } from './certificate.js';
import { openRelay } from './relay.js';

const scenario = builtinScenarios.get('single') ?? assert.fail('there is no such scenario');

/** A plain server, and a relay in front of it that speaks TLS. */
async function secured() {
  const clock = new VirtualClock();
  const tokenizer = o200kTokenizer(clock);
  const sampler = scenarioModel({ clock, scenarios: new Map([[scenario.name, scenario]]) });
  const engine = new Engine({ clock, tokenizer, sampler });
  const server = new Server({ engine, tokenizer, keys: new Keys([]) });
  const { frameBytesMax, sendBufferBytesMax } = engine.limits;
  const bounds = { host: '127.0.0.1', port: 0, frameBytesMax, sendBufferBytesMax, pingMs: Infinity };
  const listening = await listen('node', server, bounds, () => undefined);
  const relay = await openRelay({ to: { host: '127.0.0.1', port: listening.port }, rttMs: 0, tls: true });
  return {
    url: `https://127.0.0.1:${relay.port}`,
    async [Symbol.asyncDispose]() {
      await relay[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
      await listening.close();
    },
  };
}

for (const transport of ['ws', 'http'] as const)
  test(`a client over ${transport} runs a rollout through TLS where it is told whom to trust`, async () => {
    await using server = await secured();
    const ca = testCertificate.cert;
    await using client = await Client.connect({ url: server.url, design: 'append', transport, ca });
    const outputFor = toolOutputs(scenario, 1, 0);
    const report = await client.run({
      request: { ...rolloutRequest(scenario, 1, 0) },
      tool: ({ turn, index }) => Promise.resolve(outputFor(turn, index).text),
    });
    assert.equal(report.status, 'completed');
  });

for (const transport of ['ws', 'http'] as const)
  test(`a client over ${transport} refuses a certificate that nobody told it of`, async () => {
    await using server = await secured();
    await assert.rejects(
      Client.connect({ url: server.url, design: 'append', transport }),
      /self-signed certificate/,
    );
  });
