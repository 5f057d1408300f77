/** A comparison as text for a terminal. */
import { builtinDesigns } from '../transport/index.js';
import { arms } from './arms.js';
import type { Comparison, CompareParameters } from './compare.js';
import type { Manifest } from './manifest.js';
import { blocksMinForInterval, type Interval, type PairedDifference } from './statistics.js';
import type { Quantiles } from './metrics.js';
import type { Headline, Row, ScenarioSummary } from './summary.js';
import { plain } from './table.js';

function ms(value: number | null, digits = 2): string {
  return value === null ? '–' : value.toFixed(digits);
}

function both({ p50, p95 }: Quantiles, digits = 2): string {
  return `${ms(p50, digits)} / ${ms(p95, digits)}`;
}

function bytes(value: number): string {
  return value < 10_000 ? `${value.toFixed(0)} B` : `${(value / 1000).toFixed(1)} kB`;
}

function percent(share: number): string {
  return `${share > 0 ? '+' : ''}${(share * 100).toFixed(2)} %`;
}

function signed(value: number): string {
  return `${value > 0 ? '+' : ''}${value.toFixed(3)}`;
}

function difference({ mean, median, interval, blocks }: PairedDifference): string {
  const spread =
    interval === null
      ? `no interval under ${blocksMinForInterval} blocks`
      : `95 % interval ${signed(interval.low)} to ${signed(interval.high)}`;
  return `${signed(mean)} ms per turn (median ${signed(median)}; ${spread}; ${blocks} blocks)`;
}

function shareText(value: number, interval: Interval | null): string {
  if (interval === null) return percent(value);
  return `${percent(value)} (${percent(interval.low)} to ${percent(interval.high)})`;
}

function significanceText({ ms_per_turn: { p_value: p }, p_adjusted: adjusted }: Headline): string {
  if (p === null || adjusted === null) return `no p-value under ${blocksMinForInterval} blocks`;
  return `p = ${p.toPrecision(2)} by sign flips, ${adjusted.toPrecision(2)} after Holm's correction over the scenarios`;
}

function namesOf(sparse: boolean): string {
  return arms.flatMap((arm) => (arm.sparse === sparse ? arm.name : [])).join(', ');
}

/** Says what is about to run, before it runs. */
export function openingLine(parameters: CompareParameters): string {
  const { scenarios, blocks, sparseEvery, decodeTokensPerSecond, prefillTokensPerSecond, toolScale, seed } =
    parameters;
  return [
    `Comparing ${scenarios.join(', ')}: ${blocks} blocks each, seed ${seed}.`,
    `In every block: ${namesOf(false)}. In one of ${sparseEvery}: ${namesOf(true)}.`,
    `Simulated: the model, at ${decodeTokensPerSecond} tokens/s out and ${prefillTokensPerSecond} tokens/s in, ` +
      `and tools, at ${toolScale} of their true time.`,
  ].join('\n');
}

function headlineText({ scenario, headline }: ScenarioSummary, toolScale: number): string {
  if (headline === null) return `${scenario}: nothing to compare`;
  const detectable = headline.smallest_detectable_ms_per_turn;
  const asRun = shareText(headline.relative, headline.relative_interval);
  const atTrueToolTime = shareText(
    headline.relative_at_true_tool_time,
    headline.relative_at_true_tool_time_interval,
  );
  return [
    `append − chain, end to end:  ${difference(headline.ms_per_turn)}`,
    `append − chain, overhead:    ${difference(headline.overhead_ms_per_turn)}`,
    `as a share of end to end:    ${asRun} at ${toolScale} of true tool time, ${atTrueToolTime} at true tool time`,
    `test of no difference:       ${significanceText(headline)}`,
    `smallest detectable effect:  ${detectable === null ? `unknown under ${blocksMinForInterval} blocks` : `${detectable.toFixed(3)} ms per turn, from the A-A arm`}`,
    `verdict:                     ${verdictLine(headline)}`,
  ].join('\n');
}

function verdictLine({
  verdict,
  ms_per_turn,
  smallest_detectable_ms_per_turn: detectable,
}: Headline): string {
  const small = detectable !== null && Math.abs(ms_per_turn.mean) < detectable;
  return small ? `${verdict} (and smaller than this run can detect reliably)` : verdict;
}

const timeHead = [
  'design',
  'rollouts',
  'end to end ms',
  'ratio to replay',
  'turn overhead ms',
  'first event ms',
  'first token ms',
];
const costHead = [
  'design',
  'up / turn',
  'down / turn',
  'frames up · down',
  'server CPU ms',
  'client CPU ms',
  'tokens rendered',
  'render ms',
];

function timeCells(row: Row): string[] {
  return [
    row.arm,
    String(row.rollouts),
    both(row.e2e_ms, 1),
    ms(row.e2e_ratio, 3),
    both(row.turn_overhead_ms),
    both(row.turn_first_event_ms),
    both(row.turn_first_token_ms),
  ];
}

function costCells(row: Row): string[] {
  return [
    row.arm,
    bytes(row.bytes_up),
    bytes(row.bytes_down),
    `${row.frames_up.toFixed(1)} · ${row.frames_down.toFixed(1)}`,
    ms(row.server_cpu_ms),
    ms(row.client_cpu_ms),
    row.tokens_rendered.toFixed(0),
    ms(row.render_ms, 1),
  ];
}

const stageOrder = ['validate', 'admit', 'resolve', 'classify', 'render', 'format', 'store', 'bill'];

function stageCells(row: Row): string[] {
  const cell = (phase: string, stage: string): string =>
    row.stage_runs[`${phase}.${stage}`]?.toFixed(1) ?? '·';
  return [
    row.arm,
    ...stageOrder.map((stage) => ['pre', 'append', 'post'].map((phase) => cell(phase, stage)).join(' ')),
  ];
}

function scenarioText(summary: ScenarioSummary, toolScale: number): string {
  const rows = summary.rows.filter((row) => row.rollouts > 0);
  return [
    `── ${summary.scenario} ─ ${summary.question}`,
    headlineText(summary, toolScale),
    '',
    'Time (median / p95; overhead, event and token: turns after the first, from the moment the turn had all it needed)',
    plain(timeHead, rows.map(timeCells)),
    'Cost (means per turn; tokens rendered and render time: means per rollout)',
    plain(costHead, rows.map(costCells)),
    'Stage runs per rollout (pre append post)',
    plain(['design', ...stageOrder], rows.map(stageCells)),
    `Data: ${summary.source}`,
  ].join('\n');
}

/** What each design does when, over what: the second table of every comparison. */
export function obligationsText(): string {
  const modules = ['validate', 'classify', 'render', 'store', 'bill'] as const;
  const rows = builtinDesigns.map((design) => [
    design.title,
    design.transports.join(', '),
    `${design.passages.pre} · ${design.passages.append} · ${design.passages.post}`,
    design.stateBetweenTurns,
    ...modules.map((module) => design.obligations[module]),
  ]);
  return [
    'Obligations in a rollout of n turns (passages: pre · append · post; then over what each module runs in a passage)',
    plain(['design', 'over', 'passages', 'state between turns', ...modules], rows),
    'Equal in all rows: what safety, metering and storing look at (every new token once, or more), the sampler session',
    '(per conversation), tools started at output_item.done, outputs returned at hand-off.',
  ].join('\n');
}

export function machineText({ node, cpu, cores, memory_gib, kernel, commit }: Manifest): string {
  return `${cpu}, ${cores} cores, ${memory_gib} GiB; ${kernel}; Node ${node}; commit ${commit ?? 'unknown'}`;
}

export function report(comparison: Comparison): string {
  const { toolScale } = comparison.parameters;
  return [
    ...comparison.scenarios.map((summary) => scenarioText(summary, toolScale)),
    obligationsText(),
    '',
    'Real: engine, stages, tokeniser, sockets and HTTP (TCP over loopback: no round-trip time), server and client processes.',
    'Bytes: payload of frames on a socket; bodies over HTTP, with the framing of events, without HTTP headers.',
    'Simulated: the model (prefill and decode at the given speed) and the tools (their time, scaled; text made to size).',
    machineText(comparison.manifest),
    ...(comparison.partial ? ['Ended early: the figures are those of the rollouts that were measured.'] : []),
  ].join('\n\n');
}
