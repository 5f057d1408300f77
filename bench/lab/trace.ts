/**
 * Where the time of single rollouts went, as files that other tools open: Chrome's trace format (Perfetto,
 * chrome://tracing) and OpenTelemetry's OTLP as JSON. A process is a rollout of one arm, a thread is who was at it. Pure.
 */
import { createHash } from 'node:crypto';

import type { Lane, Span } from '../virtual/spans.js';
import type { TurnRow } from './rows.js';
import type { EngineKind } from './sections.js';

export type { Lane, Span } from '../virtual/spans.js';

/** What all rollouts of one trace have in common. */
export interface TracedCell {
  readonly engine: EngineKind;
  readonly scenario: string;
  readonly profile: string;
  readonly tokens_per_second: number;
  readonly rtt_ms: number;
  readonly rollout: number;
}

export interface TracedRollout {
  readonly arm: string;
  readonly spans: readonly Span[];
}

export const lanes: readonly Lane[] = ['client', 'network', 'service', 'overlapped', 'model'];

/**
 * The spans of a measured rollout, from its rows: what its client saw. Which part of a wait was the network's and which the
 * server's, a client can't tell, so that both are the service's here.
 */
export function spansOfTurns(
  turns: readonly Pick<
    TurnRow,
    'turn' | 'ready_ms' | 'first_event_ms' | 'first_token_ms' | 'last_token_ms' | 'ms'
  >[],
): Span[] {
  return turns.flatMap(({ turn, ready_ms, first_event_ms, first_token_ms, last_token_ms, ms }, index) => {
    const span = (name: string, lane: Lane, from: number, to: number): Span[] =>
      to > from ? [{ name, lane, turn, start_ms: ready_ms + from, ms: to - from }] : [];
    const next = turns[index + 1];
    return [
      ...span('to first event', 'service', 0, first_event_ms),
      ...span('to first token', 'service', first_event_ms, first_token_ms),
      ...span('decode', 'model', first_token_ms, last_token_ms),
      ...span('to hand-off', 'service', last_token_ms, ms),
      ...(next === undefined ? [] : span('tools', 'client', ms, next.ready_ms - ready_ms)),
    ];
  });
}

function micros(ms: number): number {
  return Math.round(ms * 1e6) / 1e3;
}

function chromeRollout({ arm, spans }: TracedRollout, index: number): object[] {
  const pid = index + 1;
  const named = (name: string, tid: number, value: string): object => ({
    ph: 'M',
    name,
    pid,
    tid,
    args: { name: value },
  });
  return [
    named('process_name', 0, arm),
    ...lanes.map((lane, at) => named('thread_name', at + 1, lane)),
    ...spans.map(({ name, lane, turn, start_ms, ms }) => ({
      ph: 'X',
      name,
      cat: lane,
      pid,
      tid: lanes.indexOf(lane) + 1,
      ts: micros(start_ms),
      dur: micros(ms),
      args: { turn },
    })),
  ];
}

/** In the format of Chrome's trace viewer; times in it are microseconds since the rollout began. */
export function chromeTrace(cell: TracedCell, rollouts: readonly TracedRollout[]): string {
  const trace = { displayTimeUnit: 'ms', otherData: cell, traceEvents: rollouts.flatMap(chromeRollout) };
  return `${JSON.stringify(trace)}\n`;
}

type Attribute = readonly [key: string, value: string | number];

function attributes(pairs: readonly Attribute[]): object[] {
  return pairs.map(([key, value]) => ({
    key,
    value:
      typeof value === 'string'
        ? { stringValue: value }
        : Number.isInteger(value)
          ? { intValue: String(value) }
          : { doubleValue: value },
  }));
}

/** Of so many bytes, the same for the same words. */
function idOf(bytes: number, ...words: readonly (string | number)[]): string {
  return createHash('sha256')
    .update(words.join('/'))
    .digest('hex')
    .slice(0, bytes * 2);
}

const nanos = (startedAt: number, ms: number): string =>
  String(BigInt(startedAt) * 1_000_000n + BigInt(Math.round(ms * 1e6)));

/** Turns as parents of what happened in them, the rollout as theirs. */
function otlpSpans(cell: TracedCell, { arm, spans }: TracedRollout, startedAt: number): object[] {
  const traceId = idOf(16, cell.engine, cell.scenario, cell.profile, cell.rollout, arm);
  const kind = 1; // SPAN_KIND_INTERNAL
  const span = (
    id: string,
    parent: string,
    name: string,
    from: number,
    to: number,
    about: readonly Attribute[],
  ) => ({
    traceId,
    spanId: id,
    ...(parent === '' ? {} : { parentSpanId: parent }),
    name,
    kind,
    startTimeUnixNano: nanos(startedAt, from),
    endTimeUnixNano: nanos(startedAt, to),
    attributes: attributes(about),
  });
  const bounds = (inner: readonly Span[]): readonly [number, number] => [
    Math.min(...inner.map(({ start_ms }) => start_ms)),
    Math.max(...inner.map(({ start_ms, ms }) => start_ms + ms)),
  ];
  const root = idOf(8, traceId, 'rollout');
  const numbers = [...new Set(spans.map(({ turn }) => turn))].sort((one, other) => one - other);
  return [
    span(root, '', 'rollout', ...bounds(spans), Object.entries(cell)),
    ...numbers.flatMap((turn) => {
      const inner = spans.filter((one) => one.turn === turn);
      const parent = idOf(8, traceId, turn);
      return [
        span(parent, root, `turn ${turn}`, ...bounds(inner), [['turn', turn]]),
        ...inner.map(({ name, lane, start_ms, ms }, index) =>
          span(idOf(8, traceId, turn, index), parent, name, start_ms, start_ms + ms, [['lane', lane]]),
        ),
      ];
    }),
  ];
}

/**
 * As OTLP in JSON, for any OpenTelemetry collector: a resource for each rollout.
 * @param startedAt What the beginning of every rollout is taken for, in ms since 1970. Default 0: virtual time has no date.
 */
export function otlpTrace(cell: TracedCell, rollouts: readonly TracedRollout[], startedAt = 0): string {
  const resourceSpans = rollouts.map((rollout) => ({
    resource: { attributes: attributes([['service.name', rollout.arm]]) },
    scopeSpans: [{ scope: { name: 'long-response' }, spans: otlpSpans(cell, rollout, startedAt) }],
  }));
  return `${JSON.stringify({ resourceSpans })}\n`;
}
