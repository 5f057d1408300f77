/** What the prototype gains over the shipped design, over the speed of the model: measured, and over what nobody has measured. */
import { idleWords, materialPercent, speedAxis, speeds, width, type Figure } from './figures-parts.js';
import { colours, config, titled } from './figures-style.js';
import type { Difference, FrontierSection } from './sections.js';

const residualsMax = 6;
const gainPercentMax = 30;

/** Gains are positive in figures: how much less time the prototype takes, in per cent of the shipped design's. */
function gainPoint({ engine, rtt_ms, tokens_per_second, ms_per_turn, ...one }: Difference) {
  const { mean, interval } = ms_per_turn;
  const share = -one.relative_at_true_tool_time;
  // The interval is that of the mean per turn; as a share it keeps its proportion to the mean.
  const asPercent = (value: number): number => (mean === 0 ? 0 : (value / mean) * share * 100);
  return {
    series: `bare, ${engine === 'real' ? 'measured' : 'virtual time'}, RTT ${rtt_ms} ms`,
    tokens_per_second,
    gain: share * 100,
    low: asPercent(interval?.high ?? mean),
    high: asPercent(interval?.low ?? mean),
  };
}

/** At most as many as a reader tells apart, from the smallest to the largest. */
function chosen(values: readonly number[]): number[] {
  const sorted = [...new Set(values)].sort((one, other) => one - other);
  if (sorted.length <= residualsMax) return sorted;
  const step = (sorted.length - 1) / (residualsMax - 1);
  return Array.from({ length: residualsMax }, (_, index) => sorted[Math.round(index * step)] ?? 0);
}

function sweptLines(sections: readonly FrontierSection[]) {
  const points = sections.flatMap(({ tokens_per_second, points: all }) =>
    all
      .filter(({ admission_ms }) => admission_ms === 0)
      .map((one) => ({
        tokens_per_second,
        residual_ms: one.residual_ms,
        gain: -one.relative_at_true_tool_time * 100,
      })),
  );
  // Lines that leave what was measured far below would hide it.
  const far = new Set(
    points.filter((one) => one.gain > gainPercentMax).map(({ residual_ms }) => residual_ms),
  );
  const near = points.filter(({ residual_ms }) => !far.has(residual_ms));
  const residuals = chosen((near.length > 0 ? near : points).map(({ residual_ms }) => residual_ms));
  return points.filter(({ residual_ms }) => residuals.includes(residual_ms));
}

/** Of sections of one scenario those of the first cell, at every speed. */
function oneCell(sections: readonly FrontierSection[]): FrontierSection[] {
  const [first] = sections;
  return sections.filter(
    (one) =>
      one.tool_scale === first?.tool_scale &&
      one.rtt_ms === first.rtt_ms &&
      one.restarts_after_idle === first.restarts_after_idle,
  );
}

/** One for each scenario that was measured; the first of those that were swept too has the plain name. */
export function gains(bare: readonly Difference[], frontier: readonly FrontierSection[]): Figure[] {
  const headline = bare.filter(({ left, right }) => left === 'append-ws' && right === 'chain-ws');
  const isSwept = (scenario: string): boolean => frontier.some((one) => one.scenario === scenario);
  const scenarios = [...new Set(headline.map(({ scenario }) => scenario))];
  return [...scenarios.filter(isSwept), ...scenarios.filter((one) => !isSwept(one))].map((scenario, index) =>
    gain(scenario, headline, frontier, index === 0 ? 'gain' : `gain-${scenario}`),
  );
}

function gain(
  scenario: string,
  headline: readonly Difference[],
  frontier: readonly FrontierSection[],
  name: string,
): Figure {
  const swept = oneCell(frontier.filter((one) => one.scenario === scenario));
  const measured = headline.filter((one) => one.scenario === scenario).map(gainPoint);
  const lines = sweptLines(swept);
  const title = `What the prototype gains over the shipped design (${scenario})`;
  const values = speeds([...measured, ...lines]);
  const x = { ...speedAxis, axis: { values, grid: false } };
  const y = {
    field: 'gain',
    type: 'quantitative',
    title: 'less time end to end, %',
  } as const;
  const cell = swept[0];
  const subtitle = [
    'Points: bare, with 95 % interval; engine, sockets and server are real where measured, model and tools simulated. Tools at their true time.',
    cell === undefined
      ? 'No swept axis in this result.'
      : `Lines: virtual time, RTT ${cell.rtt_ms} ms${idleWords(cell)}; an assumed cost of a create beyond an append.`,
  ];
  return {
    name,
    title,
    spec: {
      config,
      width,
      height: 300,
      title: titled(title, subtitle),
      layer: [
        {
          data: { values: [{ gain: materialPercent }] },
          mark: { type: 'rule', strokeDash: [4, 4], color: colours.faint.light },
          encoding: { y },
        },
        {
          data: { values: lines },
          mark: { type: 'line', color: colours.grey.light, strokeWidth: 1.5 },
          encoding: { x, y, detail: { field: 'residual_ms' } },
        },
        {
          data: { values: lines.filter((one) => one.tokens_per_second === values.at(-1)) },
          mark: { type: 'text', align: 'left', dx: 5, color: colours.faint.light },
          encoding: { x, y, text: { field: 'label' } },
          transform: [{ calculate: "datum.residual_ms + ' ms'", as: 'label' }],
        },
        {
          data: { values: measured },
          mark: { type: 'rule', strokeWidth: 2 },
          encoding: { x, y: { ...y, field: 'low' }, y2: { field: 'high' }, color: { field: 'series' } },
        },
        {
          data: { values: measured },
          mark: { type: 'point', filled: true, size: 60, opacity: 1 },
          encoding: { x, y, color: { field: 'series', title: null, legend: { orient: 'bottom' } } },
        },
      ],
    },
  };
}
