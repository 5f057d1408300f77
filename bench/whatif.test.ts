import { test } from 'node:test';
import assert from 'node:assert/strict';

import { parseScenario, type Scenario } from '../scenarios/index.js';
import { fixedCostProfile } from './fixed-cost.js';
import { whatIfText } from './whatif-text.js';
import { whatIf, type WhatIf, type WhatIfOptions } from './whatif.js';

/** Rollouts of two to five turns, with a text in each. */
function scenario(rollouts: number, toolMs = 40): Scenario {
  return parseScenario({
    name: 'mine',
    question: 'What if?',
    source: 'Made up for tests.',
    instructions_tokens: 20,
    tools_count: 1,
    tools_bytes: 300,
    rollouts: Array.from({ length: rollouts }, (_, index) => ({
      context_tokens: 200 + index,
      context_text: { tokens: 2, text: 'our secret' },
      turns: [
        ...Array.from({ length: 1 + (index % 4) }, () => ({
          output_tokens: 10,
          calls: [{ arguments_tokens: 12, tool_ms: toolMs + index, output_tokens: 30 }],
        })),
        { output_tokens: 25 },
      ],
    })),
  });
}

/** No network to speak of: what is left between the designs is the work of a create. */
const here = { rttMs: 0, bandwidthMbit: Infinity } as const;

function predicted(rollouts: number, fixedMs: number, options: Partial<WhatIfOptions> = {}): Promise<WhatIf> {
  return whatIf({
    scenario: scenario(rollouts),
    profile: fixedCostProfile(fixedMs, 'Made up.'),
    ...here,
    ...options,
  });
}

function saving(result: WhatIf, arm: string, against: string) {
  const design = result.designs.find((one) => one.arm === arm);
  const found = design?.savings.find((one) => one.against === against);
  assert.ok(design && found, `${arm} against ${against}`);
  return { ...found, e2eMs: design.e2e_ms.value };
}

function near(left: number, right: number): void {
  assert.ok(Math.abs(left - right) < 1e-6, `${left} and ${right}`);
}

test('every design is predicted over the same rollouts, and a create costs what it is said to cost', async () => {
  const result = await predicted(4, 10);
  assert.deepEqual(
    result.designs.map(({ arm }) => arm),
    [
      'replay-http',
      'replay-http post-sprint',
      'chain-http',
      'chain-ws',
      'chain-ws ahead',
      'shim-ws',
      'append-ws',
      'append-ws early',
    ],
  );
  // Four rollouts of 2, 3, 4 and 5 turns: 10 of the 14 turns are no first ones.
  assert.deepEqual([result.rollouts, result.turns, result.calls, result.left_out], [4, 14, 10, 0]);
  assert.equal(result.tool_ms, 40 + 2 * 41 + 3 * 42 + 4 * 43);
  near(result.gain_per_fixed_ms, 10 / 14);
  near(saving(result, 'append-ws', 'chain-ws').ms_per_turn.value, (10 * 10) / 14);
  near(saving(result, 'shim-ws', 'chain-ws').ms_per_turn.value, (10 * 10) / 14);
  near(saving(result, 'chain-ws ahead', 'chain-ws').ms_per_turn.value, (10 * 10) / 14);
  near(saving(result, 'chain-ws', 'chain-ws').ms_per_turn.value, 0);
  const byName = new Map(result.factors?.shapley.map((one) => [one.factor, one.share]));
  near(byName.get('obligations') ?? 0, 1);
  assert.match(whatIfText(result), /"obligations" alone gives the shipped design 100\.0 %/);
});

test('a saving is the difference of the sums, its share that of the other design’s time, with and without tools', async () => {
  const result = await predicted(4, 10, { against: 'chain-http' });
  const { ms_per_turn, share, share_outside_tools, e2eMs } = saving(result, 'append-ws', 'chain-http');
  const chain = saving(result, 'chain-http', 'chain-ws').e2eMs;
  near(ms_per_turn.value, ((chain - e2eMs) * 4) / 14);
  near(share, (chain - e2eMs) / chain);
  near(share_outside_tools, ((chain - e2eMs) * 4) / (chain * 4 - result.tool_ms));
});

test('each further ms of fixed cost adds what the result says it adds, wherever it begins', async () => {
  const at = async (fixedMs: number) =>
    saving(await predicted(3, fixedMs, { rttMs: 50 }), 'append-ws', 'chain-ws');
  const [none, some] = [await at(0), await at(30)];
  const { gain_per_fixed_ms } = await predicted(3, 0);
  near(some.ms_per_turn.value - none.ms_per_turn.value, 30 * gain_per_fixed_ms);
});

test('where nothing costs anything the switches save nothing, and the text says so', async () => {
  const result = await predicted(2, 0);
  near(saving(result, 'append-ws', 'chain-ws').ms_per_turn.value, 0);
  assert.match(whatIfText(result), /The switches together save nothing here\./);
});

test('a create that is larger than a small window waits for it, unless windows stay open', async () => {
  const large = { ...scenario(2, 5000), tools_bytes: 40_000 };
  const at = async (restartsAfterIdle: boolean) =>
    saving(await predicted(2, 0, { scenario: large, rttMs: 50, restartsAfterIdle }), 'append-ws', 'chain-ws');
  near((await at(false)).ms_per_turn.value, 0);
  assert.ok((await at(true)).ms_per_turn.value > 20);
});

test('under 12 rollouts there is a range and no interval; from 12 on an interval that holds the value', async () => {
  const few = await predicted(11, 5);
  const [first] = few.designs;
  assert.equal(first?.e2e_ms.interval, null);
  assert.ok(first.e2e_ms.range.low < first.e2e_ms.value && first.e2e_ms.value < first.e2e_ms.range.high);
  assert.match(whatIfText(few), /No interval under 12 rollouts: the range is/);
  const many = await predicted(12, 5);
  for (const { e2e_ms } of many.designs) {
    assert.ok(e2e_ms.interval !== null);
    assert.ok(e2e_ms.interval.low < e2e_ms.value && e2e_ms.value < e2e_ms.interval.high);
  }
  assert.match(whatIfText(many), /95 % BCa bootstrap over 12 rollouts/);
});

test('the same seed gives the same, another one plays other rollouts of more', async () => {
  const figures = async (seed: number) => {
    const { designs, factors } = await predicted(9, 5, { rollouts: 3, seed });
    return { designs, factors };
  };
  assert.deepEqual(await figures(1), await figures(1));
  assert.notDeepEqual((await figures(1)).designs, (await figures(2)).designs);
});

test('nothing of what was said is in the result', async () => {
  assert.doesNotMatch(JSON.stringify(await predicted(2, 5)), /secret/);
});

test('whoever ends it early keeps what was played; before the first there is nothing to keep', async () => {
  const early = new AbortController();
  const result = await predicted(40, 5, { signal: early.signal, onProgress: () => early.abort() });
  assert.equal(result.partial, true);
  assert.equal(result.factors, null);
  assert.ok(result.rollouts >= 4);
  assert.match(whatIfText(result), /Ended before the switches were played\.$/);
  await assert.rejects(predicted(4, 5, { signal: AbortSignal.abort() }), /ended before a rollout was played/);
});

test('what is told against has to be a design', async () => {
  await assert.rejects(predicted(2, 5, { against: 'carrier-pigeon' }), /no arm "carrier-pigeon"/);
});
