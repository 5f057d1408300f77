import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { startSpoken } from '../network/spoken-child.js';
import { measureAnswerSchema, type MeasureOrder } from '../schema/measuring.js';
import { networkCells } from './network-cells.js';

const order: MeasureOrder = {
  address: { url: 'http://127.0.0.1:1' },
  arm: 'append-ws',
  place: { seed: 1, rollout: 0, block: 0, order: 0 },
  pace: { decodeTokensPerSecond: 1000, prefillTokensPerSecond: 20_000, toolScale: 1 },
};

test('a process that measures says why a rollout could not be played, and takes the next order', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'long-response-'));
  try {
    const file = join(folder, 'scenario.json');
    writeFileSync(file, JSON.stringify(networkCells(1, 'quick')[0]?.scenario));
    await using child = startSpoken(new URL('./measure-child.js', import.meta.url), [file]);
    child.say({ ...order, arm: 'no-such-arm' });
    child.say(order);
    const answers = [await child.heard(), await child.heard()].map((word) => measureAnswerSchema.parse(word));
    const faults = answers.map((answer) => ('fault' in answer ? answer.fault : '')).toSorted();
    assert.match(faults.find((fault) => fault.includes('no-such-arm')) ?? '', /there are append-ws/);
    assert.match(faults.find((fault) => !fault.includes('no-such-arm')) ?? '', /127\.0\.0\.1:1/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
