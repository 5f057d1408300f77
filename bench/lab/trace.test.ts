import assert from 'node:assert/strict';
import { test } from 'node:test';

import { builtinScenarios } from '../../scenarios/index.js';
import { parseTrace } from '../schema/trace.js';
import { builtinProfiles } from '../service/profile.js';
import { virtualArm } from '../virtual/arm.js';
import { playVirtual, type VirtualCell } from '../virtual/rollout.js';
import { Spans } from '../virtual/spans.js';
import { sampleRollout, sampleTurn } from './testing/samples.js';
import { writeMeasuredTrace } from './traced.js';
import { chromeTrace, otlpTrace, spansOfTurns, type Span } from './trace.js';

const [scenario, profile] = [builtinScenarios.get('terminal'), builtinProfiles.get('hosted')];
assert.ok(scenario !== undefined && profile !== undefined);
const cell: VirtualCell = {
  scenario,
  seed: 1,
  network: {
    rttMs: 50,
    bytesPerSecond: Infinity,
    restartsAfterIdle: false,
    connection: 'kept',
    tls: false,
  },
  profile,
  decodeTokensPerSecond: 1000,
  prefillTokensPerSecond: 20_000,
  toolScale: 0.1,
  session: { policy: 'per-conversation' },
  cold: true,
};
const about = {
  engine: 'virtual',
  scenario: 'terminal',
  profile: 'hosted',
  tokens_per_second: 1000,
  rtt_ms: 50,
  rollout: 0,
} as const;

async function traced(arm: string) {
  const spans = new Spans();
  const played = await playVirtual(cell, virtualArm(arm), 0, spans);
  return { ...played, spans: spans.list };
}

const endOf = ({ start_ms, ms }: Span): number => start_ms + ms;

test('the spans of a rollout in virtual time leave no moment of it out and end with it', async () => {
  for (const name of ['replay-http', 'chain-ws', 'append-ws', 'append-ws early', 'chain-ws ahead']) {
    const { spans, e2e_ms, turns } = await traced(name);
    const inOrder = spans
      .filter(({ lane }) => lane !== 'overlapped')
      .toSorted((one, other) => one.start_ms - other.start_ms);
    let reached = 0;
    for (const span of inOrder) {
      assert.ok(span.start_ms <= reached + 1e-3, `${name}: a gap before ${span.name} of turn ${span.turn}`);
      reached = Math.max(reached, endOf(span));
    }
    assert.ok(Math.abs(reached - e2e_ms) < 1e-3, `${name} ends at ${e2e_ms}, its spans at ${reached}`);
    assert.equal(new Set(inOrder.map(({ turn }) => turn)).size, turns.length);
  }
});

test('work that is billed and stored beside the next turn stands beside it', async () => {
  const { spans } = await traced('chain-ws');
  const beside = spans.filter(({ lane, turn }) => lane === 'overlapped' && turn === 1);
  assert.deepEqual(
    beside.map(({ name }) => name),
    ['store', 'billing'],
  );
});

test('the spans of a measured rollout follow from its rows', () => {
  const later = { ...sampleTurn, turn: 2, ready_ms: 30 };
  const spans = spansOfTurns([sampleTurn, later]);
  assert.deepEqual(
    spans.slice(0, 5).map(({ name, start_ms, ms }) => [name, start_ms, ms]),
    [
      ['to first event', 0, 0.25],
      ['to first token', 0.25, 1.75],
      ['decode', 2, 9],
      ['to hand-off', 11, 0.5],
      ['tools', 11.5, 18.5],
    ],
  );
  assert.equal(spans.length, 9);
});

test("a trace in Chrome's format has a process for each arm, a thread for each who was at it, and times in µs", async () => {
  const { spans } = await traced('append-ws');
  const trace = parseTrace(JSON.parse(chromeTrace(about, [{ arm: 'append-ws', spans }])), 'trace.json');
  const [process, thread] = trace.traceEvents;
  assert.ok(process?.ph === 'M' && process.args.name === 'append-ws');
  assert.ok(thread?.ph === 'M' && thread.name === 'thread_name' && thread.args.name === 'client');
  const complete = trace.traceEvents.filter((event) => event.ph === 'X');
  assert.equal(complete.length, spans.length);
  const [first] = spans;
  assert.equal(complete[0]?.ts, Math.round((first?.start_ms ?? 0) * 1e6) / 1000);
});

test('a trace as OTLP has ids of their lengths, parents that exist, and whole nanoseconds', () => {
  const spans = spansOfTurns([sampleTurn]);
  const { resourceSpans } = JSON.parse(otlpTrace(about, [{ arm: 'append-ws', spans }], 1_000));
  const [{ resource, scopeSpans }] = resourceSpans;
  assert.deepEqual(resource.attributes, [{ key: 'service.name', value: { stringValue: 'append-ws' } }]);
  const all = scopeSpans[0].spans as {
    traceId: string;
    spanId: string;
    parentSpanId?: string;
    name: string;
    startTimeUnixNano: string;
  }[];
  assert.deepEqual(
    all.slice(0, 3).map(({ name }) => name),
    ['rollout', 'turn 1', 'to first event'],
  );
  const ids = new Set(all.map(({ spanId }) => spanId));
  assert.equal(ids.size, all.length);
  for (const { traceId, spanId, parentSpanId } of all) {
    assert.match(traceId, /^[0-9a-f]{32}$/);
    assert.match(spanId, /^[0-9a-f]{16}$/);
    assert.ok(parentSpanId === undefined || ids.has(parentSpanId));
  }
  assert.equal(all[0]?.startTimeUnixNano, '1000000000');
  assert.equal(all[3]?.startTimeUnixNano, '1000250000');
});

test('a block has a trace as it was measured, with a process for each arm', () => {
  const files = new Map<string, string>();
  const rows = {
    rollouts: ['append-ws', 'chain-ws'].map((arm) => ({
      unit: 'real/0',
      unit_rollouts: 2,
      ...sampleRollout,
      arm,
    })),
    turns: ['append-ws', 'chain-ws'].map((arm) => ({ unit: 'real/0', ...sampleTurn, arm })),
  };
  const store = {
    write: (name: string, content: string) => void files.set(name, content),
    rows: () => rows,
  };
  writeMeasuredTrace(store, 'real/0');
  writeMeasuredTrace(store, 'real/1');
  assert.deepEqual([...files.keys()], ['trace-measured.json']);
  const measured = parseTrace(JSON.parse(files.get('trace-measured.json') ?? ''), 'trace-measured.json');
  assert.equal(measured.otherData.engine, 'real');
  const arms = measured.traceEvents.flatMap((event) =>
    event.ph === 'M' && event.name === 'process_name' ? [event.args.name] : [],
  );
  assert.deepEqual(arms, ['append-ws', 'chain-ws']);
});
