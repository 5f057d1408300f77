import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import {
  builtinScenarios,
  parseScenario,
  rolloutOf,
  rolloutRequest,
  toolOutputs,
} from '../scenarios/index.js';
import { Client } from '../transport/index.js';

const cli = fileURLToPath(new URL('./cli.js', import.meta.url));

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'long-response-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

/** Serves scenarios, plays one rollout of `single` with a call in each design, and ends the server. */
async function played(t: TestContext, designs: readonly string[], ...words: string[]) {
  const child = spawn(
    process.execPath,
    [cli, 'serve', '--port', '0', '--scenarios', '--tps', 'Infinity', ...words],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  t.after(() => child.kill('SIGKILL'));
  const log: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line));
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const url = String(line).replace('listening ', '');
  const single = builtinScenarios.get('single');
  assert.ok(single);
  const index = [0, 1, 2, 3, 4, 5].find((each) => rolloutOf(single, 1, each).turns.length === 2) ?? 0;
  const outputFor = toolOutputs(single, 1, index);
  for (const design of designs) {
    await using client = await Client.connect({ url, design });
    const report = await client.run({
      request: { ...rolloutRequest(single, 1, index) },
      tool: async ({ turn, index: place }) => outputFor(turn, place).text,
    });
    assert.equal(report.status, 'completed');
  }
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const [code] = await exited;
  return { code: Number(code), log, rollout: rolloutOf(single, 1, index) };
}

test('serve --record: what it served is checked and imported as what was played', async (t) => {
  const path = folder(t);
  const file = join(path, 'served.jsonl');
  const { code, rollout } = await played(t, ['append', 'chain', 'replay'], '--record', file);
  assert.equal(code, 0);
  assert.doesNotMatch(readFileSync(file, 'utf8'), /"text":"/);
  const checked = await promisify(execFile)(process.execPath, [cli, 'scenarios', 'check', file]);
  assert.match(checked.stdout, /recording \S+ +3 \S+ +6 /);
  const out = join(path, 'again.json');
  await promisify(execFile)(process.execPath, [cli, 'scenarios', 'import', file, '--out', out]);
  const { rollouts = [] } = parseScenario(JSON.parse(readFileSync(out, 'utf8')));
  assert.equal(rollouts.length, 3);
  const timeless = ({ context_tokens, turns }: typeof rollout) => ({
    context_tokens,
    turns: turns.map(({ calls, ...turn }) => ({
      ...turn,
      calls: calls.map((call) => ({ ...call, tool_ms: 0 })),
    })),
  });
  for (const again of rollouts) assert.deepEqual(timeless(again), timeless(rollout));
});

test('serve --record where nothing can be written: one line about it, and rollouts as ever', async (t) => {
  const path = join(folder(t), 'file');
  writeFileSync(path, 'in the way');
  const { code, log } = await played(t, ['shim'], '--record', join(path, 'x.jsonl'), '--record-text');
  assert.equal(code, 0);
  const said = log.filter((line) => !line.startsWith('{'));
  assert.equal(said.length, 1, log.join('\n'));
  assert.match(said[0] ?? '', /^long-response: recording to .*x\.jsonl ended: ENOTDIR/);
});

test('--record-text without --record is refused', async () => {
  await assert.rejects(
    promisify(execFile)(process.execPath, [cli, 'serve', '--port', '0', '--record-text']),
    /--record-text goes with --record\./,
  );
});
