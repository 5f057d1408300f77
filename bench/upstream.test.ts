/** `serve --upstream`: the flags, and a rollout through the whole program to a server that stands for a real model. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Client } from '../transport/index.js';
import { keyFrom } from './options.js';

const cli = fileURLToPath(new URL('./cli.js', import.meta.url));

interface Seen {
  readonly path: string | undefined;
  readonly authorization: string | undefined;
  readonly body: { readonly model: string; readonly messages: readonly { readonly role: string }[] };
}

const sse = (...chunks: readonly object[]): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('') + 'data: [DONE]\n\n';

/** Calls a tool, then answers. */
async function model(t: TestContext) {
  const seen: Seen[] = [];
  const server = createServer((request, answer) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(pieces).toString()) as Seen['body'];
      seen.push({ path: request.url, authorization: request.headers.authorization, body });
      const last = body.messages.at(-1)?.role === 'tool';
      const call = { index: 0, id: 'c', function: { name: 'clock', arguments: '{}' } };
      const delta = last ? { content: 'It is noon.' } : { tool_calls: [call] };
      answer.writeHead(200, { 'content-type': 'text/event-stream' });
      answer.end(sse({ choices: [{ index: 0, delta, finish_reason: last ? 'stop' : 'tool_calls' }] }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return { seen, url: `http://127.0.0.1:${address.port}/v1` };
}

test('a rollout over the wire reaches the upstream under its own model name, with the key of the environment', async (t) => {
  const { seen, url } = await model(t);
  const words = ['--upstream', url, '--upstream-model', 'real', '--upstream-key-env', 'SOME_KEY'];
  const child = spawn(process.execPath, [cli, 'serve', '--port', '0', ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, SOME_KEY: 'sk-very-secret' },
  });
  t.after(() => child.kill('SIGKILL'));
  const log: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line));
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const client = await Client.connect({
    url: String(line).replace('listening ', ''),
    design: 'append',
    checked: true,
  });
  const report = await client.run({
    request: { model: 'asked', input: 'what time is it?', tools: [{ type: 'function', name: 'clock' }] },
    tool: () => Promise.resolve('noon'),
  });
  assert.equal(report.status, 'completed');
  assert.equal(report.turns.length, 2);
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual((await exited)[0], 0);
  assert.deepEqual(
    seen.map(({ path, authorization, body }) => [path, authorization, body.model, body.messages.length]),
    [
      ['/v1/chat/completions', 'Bearer sk-very-secret', 'real', 1],
      ['/v1/chat/completions', 'Bearer sk-very-secret', 'real', 3],
    ],
  );
  assert.ok(!log.join('\n').includes('very-secret'), 'no key in the log');
});

test('flags of the upstream that can’t be are refused with a sentence', async () => {
  for (const [words, sentence] of [
    [['--upstream', 'nonsense'], /upstream url: expected an address/],
    [['--upstream', 'http://h/v1', '--demo'], /cannot be used with option '--demo'/],
    [['--upstream-model', 'm'], /go with --upstream/],
    [['--upstream', 'http://h/v1', '--upstream-api', 'soap'], /Allowed choices are chat, responses/],
    [['--upstream', 'http://h/v1/responses', '--upstream-api', 'chat'], /that of the responses API/],
    [
      ['--upstream', 'http://h/v1', '--upstream-key-env', 'NO_SUCH_KEY'],
      /the environment has no NO_SUCH_KEY/,
    ],
  ] as const) {
    const stderr = await new Promise<string>((told) => {
      execFile(process.execPath, [cli, 'serve', '--port', '0', ...words], (_, __, text) => told(text));
    });
    assert.match(stderr, sentence);
    assert.doesNotMatch(stderr, /at .*\.js:\d+/, 'no stack trace');
  }
});

test('a key comes from the environment, and what is no name of a variable is not repeated', () => {
  const environment = { A_KEY: ' sk-1\n', EMPTY: '' };
  assert.equal(keyFrom(environment, 'A_KEY', true), 'sk-1');
  assert.equal(keyFrom(environment, 'EMPTY', false), undefined);
  assert.throws(() => keyFrom(environment, 'EMPTY', true), /has no EMPTY/);
  assert.throws(
    () => keyFrom(environment, 'sk-hush', true),
    (fault) => fault instanceof Error && !fault.message.includes('hush'),
  );
});
