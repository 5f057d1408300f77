import { AssertionError } from 'node:assert';
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { VirtualClock } from '../clock.js';
import { checkSampler, checkTurnEvents } from './conformance.js';
import type { Sampler, SamplerEvent, TurnRequest } from './sampler.js';
import { demoScript } from './demo.js';
import { scriptedSampler, type ScriptedOptions, type ScriptTurn } from './scripted.js';
import { delta, end, firstTurn, item, openingOf, prefill } from './testing/turns.js';

const everything: ScriptTurn = {
  items: [
    { type: 'reasoning', summary: 'I should look at the files.', encrypted_content: 'gAAA' },
    {
      type: 'reasoning',
      parts: [
        { part: 'summary', text: 'and think' },
        { part: 'reasoning_text', text: 'aloud' },
      ],
    },
    {
      type: 'message',
      phase: 'commentary',
      parts: [
        { part: 'text', text: 'As said', annotations: [{ type: 'file_citation' }] },
        { part: 'refusal', text: 'no' },
      ],
    },
    { type: 'message', text: 'Looking.' },
    { type: 'opaque', item: { type: 'web_search_call', opaque: true } },
    { type: 'opaque', item: { type: 'mcp_call', status: 'completed', opaque: true } },
    { type: 'function_call', name: 'ls', arguments: '{"path":"/"}' },
    { type: 'custom_tool_call', name: 'patch', input: '***' },
  ],
};

test('the scripted sampler conforms, at any speed, interleaved or not, whatever it keeps', async () => {
  const variants: Partial<ScriptedOptions>[] = [
    {},
    { script: () => ({ ...everything, interleave: true }), deltaTokensMax: 1 },
    { script: () => ({ ...everything, filterAfterTokens: 9, usage: { held: 0, output: 1, reasoning: 1 } }) },
    { decodeTokensPerSecond: 100, prefillTokensPerSecond: 1000, firstTokenMs: 50 },
    { decodeTokensPerSecond: 5000, burstTokens: 3, session: { policy: 'per-conversation' } },
  ];
  for (const variant of variants) {
    const clock = new VirtualClock();
    await checkSampler(() => scriptedSampler({ script: () => everything, clock, ...variant }), {
      drive: (step) => clock.runUntil(step),
    });
    assert.equal(clock.pending, 0);
  }
});

test('the demo script conforms, with tools and without', async () => {
  const clock = new VirtualClock();
  const make = () => scriptedSampler({ script: demoScript, clock });
  await checkSampler(make);
  await checkSampler(make, { opening: openingOf({ tools: [{ type: 'function', name: 'ls' }] }) });
});

test('sessions of a conforming run are released once each', async () => {
  const samplers: ReturnType<typeof scriptedSampler>[] = [];
  await checkSampler(() => {
    const sampler = scriptedSampler({ script: () => everything, clock: new VirtualClock() });
    samplers.push(sampler);
    return sampler;
  });
  assert.ok(samplers.every(({ stats }) => stats.released === stats.opened));
});

const reasoning: SamplerEvent = { type: 'item', key: 0, start: { type: 'reasoning' } };
const annotation: SamplerEvent = { type: 'annotation', key: 0, annotation: {} };

test('each breach of the order of events is found', () => {
  const breaches: [SamplerEvent[], RegExp][] = [
    [[], /prefill comes first/],
    [[item(0), prefill, end(0)], /prefill comes first/],
    [[prefill, prefill], /prefill comes once/],
    [[{ type: 'prefill', held: 1, read: 20 }], /the whole context/],
    [[{ type: 'prefill', held: -1, read: 21 }], /whole tokens/],
    [[prefill, item(0), end(0), item(0), end(0)], /key 0 was used/],
    [[prefill, delta(0, 'a', 1)], /a delta of item 0/],
    [[prefill, item(0), end(0), delta(0, 'a', 1)], /a delta of item 0/],
    [[prefill, item(0), delta(0, 'a', 0.5), end(0)], /0.5 tokens/],
    [[prefill, end(0)], /the end of item 0/],
    [[prefill, item(0)], /every item ends/],
    [[prefill, item(0), { type: 'cut' }, item(1)], /cut is the last/],
    [[prefill, { type: 'item', key: 0, start: { type: 'function_call', name: '' } }, end(0)], /has a name/],
    [[prefill, { type: 'part', key: 0, part: 'text' }], /a part of item 0/],
    [[prefill, item(0), { type: 'part', key: 0, part: 'summary' }], /C5: a summary part/],
    [[prefill, reasoning, { type: 'part', key: 0, part: 'refusal' }], /C5: a refusal part/],
    [[prefill, reasoning, annotation], /C5: a text part/],
    [[prefill, item(0), { type: 'part', key: 0, part: 'refusal' }, annotation], /C5: a text part/],
    [[prefill, annotation], /an annotation of item 0/],
    [[prefill, item(0), { type: 'item_end', key: 0, encrypted_content: 'x' }], /C5: only reasoning/],
    [[prefill, { type: 'usage', held: 0, output: 1, reasoning: 2 }], /part of the output/],
    [[prefill, { type: 'usage', held: 0, output: 0.5, reasoning: 0 }], /whole tokens/],
  ];
  for (const [events, message] of breaches)
    assert.throws(
      () => checkTurnEvents(events, firstTurn),
      (fault) => fault instanceof AssertionError && message.test(fault.message),
    );
  const long = [prefill, item(0), delta(0, 'ab', 2), end(0)];
  checkTurnEvents(long, firstTurn);
  checkTurnEvents([prefill, item(0), { type: 'cut' }], firstTurn);
  assert.throws(() => checkTurnEvents(long, { ...firstTurn, outputTokensMax: 1 }), /2 tokens of 1/);
});

type Sample = (turn: TurnRequest, signal: AbortSignal) => AsyncGenerator<SamplerEvent, void>;

function samplerOf(sample: Sample, release = () => {}): () => Sampler {
  return () => ({ contextTokensMax: 1000, open: () => ({ sample, suspend: () => {}, release }) });
}

/** Says five tokens; minds its bound, and its signal where it has one. */
async function* saying(
  { context: { tokens }, outputTokensMax }: TurnRequest,
  signal: AbortSignal | null,
): AsyncGenerator<SamplerEvent, void> {
  const told = Array.from({ length: Math.min(5, outputTokensMax) }, () => delta(0, 'a', 1));
  const last: SamplerEvent = outputTokensMax < 5 ? { type: 'cut' } : end(0);
  for (const event of [{ ...prefill, read: tokens }, item(0), ...told, last]) {
    if (signal?.aborted === true) return;
    yield event;
  }
}

test('a sampler that returns on an abort conforms as one that throws its reason', async () => {
  await checkSampler(samplerOf(saying));
});

test('a sampler that misses its abort, throws something else or leaves a listener is found', async () => {
  await assert.rejects(checkSampler(samplerOf((turn) => saying(turn, null))), /C1: still sampling/);
  const other = samplerOf(async function* (turn, signal) {
    for await (const event of saying(turn, null)) {
      if (signal.aborted) throw new Error('some other fault');
      yield event;
    }
  });
  await assert.rejects(checkSampler(other), /C1: an aborted turn throws the reason/);
  const leaving = samplerOf((turn, signal) => {
    signal.addEventListener('abort', () => {});
    return saying(turn, signal);
  });
  await assert.rejects(checkSampler(leaving), /a listener was left/);
});

test('a sampler that passes its token bound is found', async () => {
  const unbounded = samplerOf((turn, signal) => saying({ ...turn, outputTokensMax: Infinity }, signal));
  await assert.rejects(checkSampler(unbounded), /5 tokens of 1/);
});

test('sessions are released on every outcome', async () => {
  let released = 0;
  const broken = samplerOf(
    async function* () {
      yield item(0);
    },
    () => released++,
  );
  await assert.rejects(checkSampler(broken), AssertionError);
  assert.equal(released, 1);
});
