import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';

import { Client } from '../transport/index.js';
import { arms } from './arms.js';
import { cli, ran } from './testing/command-line.js';

async function served(t: TestContext, ...words: string[]) {
  const child = spawn(process.execPath, [cli, 'serve', '--port', '0', ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  const log: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line));
  const lines: string[] = [];
  const out = createInterface({ input: child.stdout });
  out.on('line', (line) => lines.push(line));
  const [line] = await once(out, 'line');
  const url = /^listening (http:\/\/127\.0\.0\.1:\d+)$/.exec(String(line))?.[1];
  assert.ok(url !== undefined, String(line));
  return { child, url, log, lines };
}

test('--help answers, for the program and for each command', async () => {
  const program = await ran('--help');
  assert.equal(program.code, 0);
  for (const command of ['serve', 'compare', 'talk', 'scenarios', 'whatif']) {
    assert.match(program.stdout, new RegExp(command));
    const { code, stdout } = await ran(command, '--help');
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`Usage: long-response ${command}`));
  }
});

test('a wrong flag, a wrong number and an unknown command are refused with a sentence and exit code 1', async () => {
  for (const [words, sentence] of [
    [['serve', '--prot', '1'], /unknown option '--prot'/],
    [['serve', '--port', '70000'], /Expected a whole number from 0 to 65535, got "70000"/],
    [['compare', '--blocks', '0'], /Expected a whole number from 1 up|Expected a whole number from 1 to/],
    [['compare', '--tps', '-5'], /Expected a number above 0/],
    [['compare', '--server', 'nonsense'], /Expected an address such as/],
    [
      ['compare', '--scenario', 'no-such-file.json'],
      /no-such-file\.json: neither a file nor one of terminal, /,
    ],
    [['fly'], /unknown command 'fly'/],
  ] as const) {
    const { code, stderr } = await ran(...words);
    assert.equal(code, 1, words.join(' '));
    assert.match(stderr, sentence);
    assert.doesNotMatch(stderr, /at .*\.js:\d+/, 'no stack trace');
  }
});

test('serve without keys refuses a host that is not loopback', async () => {
  const { code, stderr } = await ran('serve', '--port', '0', '--host', '0.0.0.0');
  assert.equal(code, 1);
  assert.match(stderr, /refusing to serve 0\.0\.0\.0 without keys/);
});

test('serve prints one line when it is ready, answers, logs the settled rollout, and exits 0 on SIGTERM', async (t) => {
  const { child, url, log, lines } = await served(t, '--demo', '--tps', 'Infinity');
  const client = await Client.connect({ url, design: 'append', checked: true });
  const report = await client.run({
    request: { model: 'demo', input: 'hello', tools: [{ type: 'function', name: 'clock' }] },
    tool: () => Promise.resolve('a secret noon'),
  });
  assert.equal(report.status, 'completed');
  assert.equal(report.turns.length, 2);
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const [code] = await exited;
  assert.equal(code, 0);
  await client.closed;
  assert.deepEqual(lines, [`listening ${url}`]);
  const settled = log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'settled');
  assert.equal(settled.length, 1);
  assert.deepEqual(settled[0].outcome, { status: 'completed' });
  assert.equal(settled[0].stage_runs['post.bill'], 1);
  assert.ok(!log.join('\n').includes('secret'), 'no content in the log');
});

test('talk sends what is typed and prints what comes back', async (t) => {
  const { url } = await served(t, '--tps', 'Infinity');
  const child = spawn(process.execPath, [cli, 'talk', url], { stdio: ['pipe', 'pipe', 'inherit'] });
  const events: { type: string }[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => events.push(JSON.parse(line)));
  child.stdin.end('hello there\n');
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
  assert.equal(events[0]?.type, 'response.created');
  assert.equal(events.at(-1)?.type, 'response.completed');
});

test('talk ends when every line has been answered, refused appends and unknown events among them', async (t) => {
  const { url } = await served(t, '--tps', 'Infinity');
  const child = spawn(process.execPath, [cli, 'talk', url], { stdio: ['pipe', 'pipe', 'inherit'] });
  const events: { type: string; error?: { code: string } }[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => events.push(JSON.parse(line)));
  child.stdin.end(
    '{"type":"response.append","response_id":"resp_none","input":[]}\n{"type":"response.fly"}\n',
  );
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
  assert.deepEqual(
    events.map(({ type, error }) => [type, error?.code]),
    [
      ['response.append.failed', 'response_not_found'],
      ['error', 'unknown_event_type'],
    ],
  );
});

test('a refused upgrade is told in the words of the server', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'long-response-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'keys'), 'sk-right\n');
  const { url } = await served(t, '--keys-file', join(folder, 'keys'));
  await assert.rejects(
    Client.connect({ url, design: 'append', key: 'sk-wrong' }),
    /status 401: Incorrect or missing API key/,
  );
  await using client = await Client.connect({ url, design: 'append', key: 'sk-right' });
  assert.equal(client.open, true);
});

test('compare refuses a server that does not play scenarios', async (t) => {
  const { url } = await served(t, '--demo', '--tps', 'Infinity');
  const { code, stderr } = await ran(
    'compare',
    '--server',
    url,
    '--scenario',
    'claim-regime',
    '--blocks',
    '1',
  );
  assert.equal(code, 1);
  assert.match(stderr, /made 2 turns of a rollout of claim-regime that has 21; start it with --scenarios/);
});

test('compare on a small run prints the headline first and writes rows that agree with the designs', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'long-response-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'result.json');
  const words = [
    '--scenario',
    'single',
    '--blocks',
    '2',
    '--sparse-every',
    '1',
    '--tps',
    '100000',
    '--tool-scale',
    '0',
  ];
  const { code, stdout, stderr } = await ran('compare', ...words, '--json', file);
  assert.equal(code, 0, stderr);
  assert.match(stdout.split('\n')[0] ?? '', /^Comparing single: 2 blocks each/);
  assert.match(stdout, /append − chain, end to end:.*no interval under 12 blocks/);
  const result = JSON.parse(readFileSync(file, 'utf8'));
  assert.equal(result.version, 1);
  assert.equal(result.partial, false);
  assert.equal(result.rollouts.length, 2 * arms.length);
  for (const rollout of result.rollouts) {
    assert.equal(rollout.status, 'completed');
    const turns = rollout.turns.length;
    const suspends = ['append', 'shim'].includes(rollout.design);
    assert.equal(rollout.stage_runs['pre.render'].runs, suspends ? 1 : turns);
    assert.equal(rollout.stage_runs['post.store'].runs, suspends ? 1 : turns);
    assert.equal(rollout.stage_runs['append.render']?.runs ?? 0, suspends ? turns - 1 : 0);
  }
});
