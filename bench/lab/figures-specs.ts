/** The figures that a summary has in it, as Vega-Lite specifications. Pure. */
import type { TopLevelSpec } from 'vega-lite';

import { colours, config, titled } from './figures-style.js';
import type { Difference, FactorSection, FrontierSection, LabSummary } from './sections.js';

export interface Figure {
  /** Of its file. */
  readonly name: string;
  readonly title: string;
  readonly spec: TopLevelSpec;
}

/** Share of end-to-end time from which a gain counts as material. */
const materialPercent = 5;
const residualsMax = 6;
const gainPercentMax = 30;
const residualTicks = [0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 2000];
const width = 620;

const speedAxis = {
  field: 'tokens_per_second',
  type: 'quantitative',
  title: 'speed of the model, tokens/s (simulated)',
  scale: { type: 'log', nice: false, padding: 24 },
} as const;

function speeds(rows: readonly { readonly tokens_per_second: number }[]): number[] {
  return [...new Set(rows.map(({ tokens_per_second }) => tokens_per_second))].sort(
    (one, other) => one - other,
  );
}

function idleWords(one: Pick<FrontierSection, 'restarts_after_idle'>): string {
  return one.restarts_after_idle ? ', idle windows restart' : '';
}

/** Gains are positive in figures: how much less time the prototype takes, in per cent of the shipped design's. */
function gainPoint({ engine, rtt_ms, tokens_per_second, relative, ms_per_turn }: Difference) {
  const { mean, interval } = ms_per_turn;
  // The interval is that of the mean per turn; as a share it keeps its proportion to the mean.
  const asPercent = (value: number): number => (mean === 0 ? 0 : (-value / mean) * relative * 100);
  return {
    series: `bare, ${engine === 'real' ? 'measured' : 'virtual time'}, RTT ${rtt_ms} ms`,
    tokens_per_second,
    gain: -relative * 100,
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
      .map(({ residual_ms, relative }) => ({ tokens_per_second, residual_ms, gain: -relative * 100 })),
  );
  // Lines that leave what was measured far below would hide it.
  const far = new Set(
    points.filter((one) => one.gain > gainPercentMax).map(({ residual_ms }) => residual_ms),
  );
  const near = points.filter(({ residual_ms }) => !far.has(residual_ms));
  const residuals = chosen((near.length > 0 ? near : points).map(({ residual_ms }) => residual_ms));
  return points.filter(({ residual_ms }) => residuals.includes(residual_ms));
}

/** Sections of one cell, at every speed: the first one of a scenario that was measured bare. */
function oneCell(sections: readonly FrontierSection[], scenarios: ReadonlySet<string>) {
  const first = sections.find(({ scenario }) => scenarios.has(scenario));
  return sections.filter(
    (one) =>
      one.scenario === first?.scenario &&
      one.tool_scale === first.tool_scale &&
      one.rtt_ms === first.rtt_ms &&
      one.restarts_after_idle === first.restarts_after_idle,
  );
}

function gain(bare: readonly Difference[], frontier: readonly FrontierSection[]): Figure {
  const headline = bare.filter(({ left, right }) => left === 'append-ws' && right === 'chain-ws');
  const swept = oneCell(frontier, new Set(headline.map(({ scenario }) => scenario)));
  const scenario = swept[0]?.scenario ?? headline[0]?.scenario ?? 'no scenario';
  const measured = headline.filter((one) => one.scenario === scenario).map(gainPoint);
  const lines = sweptLines(swept);
  const title = `What the prototype gains over the shipped design (${scenario})`;
  const values = speeds([...measured, ...lines]);
  const x = { ...speedAxis, axis: { values, grid: false } };
  const y = { field: 'gain', type: 'quantitative', title: 'less time end to end, %' } as const;
  const cell = swept[0];
  const subtitle = [
    'Points: bare, with 95 % interval; engine, sockets and server are real where measured, model and tools simulated.',
    cell === undefined
      ? 'No swept axis in this result.'
      : `Lines: virtual time, RTT ${cell.rtt_ms} ms, tools × ${cell.tool_scale}${idleWords(cell)}; an assumed cost of a create beyond an append.`,
  ];
  return {
    name: 'gain',
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

function frontierFigure(sections: readonly FrontierSection[]): Figure {
  const title = `Where the prototype gains ${materialPercent} %: what a create would have to cost beyond an append`;
  const rows = sections.flatMap(({ scenario, tokens_per_second, rtt_ms, tool_scale, ...one }) => {
    const idle = idleWords(one);
    const series = `${scenario}, tools × ${tool_scale}, RTT ${rtt_ms} ms${idle}`;
    return one.threshold_ms === null ? [] : [{ series, tokens_per_second, threshold_ms: one.threshold_ms }];
  });
  const missing = sections.length - rows.length;
  const subtitle = [
    'Virtual time: the engine’s own code; network, model, tools and service costs are simulated.',
    'That cost is an assumption, not a measurement: nobody outside has measured it. Above a line the gain is larger.',
    ...(missing === 0
      ? []
      : [`${missing} of ${sections.length} cells pass it nowhere on the axis and are not drawn.`]),
  ];
  const encoding = {
    x: { ...speedAxis, axis: { values: speeds(rows), grid: false } },
    y: {
      field: 'threshold_ms',
      type: 'quantitative',
      title: 'residual of a create, ms per turn',
      scale: { type: 'symlog', constant: 10, nice: false, padding: 16 },
      axis: { values: residualTicks },
    },
    color: {
      field: 'series',
      type: 'nominal',
      title: null,
      legend: { orient: 'bottom', columns: 1 },
    },
  } as const;
  return {
    name: 'frontier',
    title,
    spec: {
      config,
      width,
      height: 300,
      title: titled(title, subtitle),
      data: { values: rows },
      layer: [
        { mark: { type: 'line', strokeWidth: 2 } },
        { mark: { type: 'point', filled: true, size: 40, opacity: 1 } },
      ],
      encoding,
    },
  };
}

function cellWords({ scenario, profile, tokens_per_second, rtt_ms, rollouts }: FactorSection): string {
  return (
    `Virtual time: ${scenario}, profile ${profile}, ${tokens_per_second} tokens/s, RTT ${rtt_ms} ms, ` +
    `${rollouts} rollouts. Network, model, tools and service costs are simulated.`
  );
}

/** Figures of a second section and later carry its number. */
const suffix = (index: number): string => (index === 0 ? '' : `-${index + 1}`);

function ladder(section: FactorSection, index: number): Figure {
  const title = 'One change after the other, from the first shape to the prototype';
  const values = section.ladder.map(({ step, ms_per_turn }) => ({
    step,
    ms_per_turn,
    label: ms_per_turn.toFixed(1),
  }));
  const y = { field: 'step', type: 'nominal', sort: null, title: null } as const;
  const x = { field: 'ms_per_turn', type: 'quantitative', title: 'ms per turn, end to end' } as const;
  return {
    name: `ladder${suffix(index)}`,
    title,
    spec: {
      config,
      width,
      height: { step: 26 },
      title: titled(title, [cellWords(section)]),
      data: { values },
      layer: [
        { mark: { type: 'bar', color: colours.blue.light, height: 16 }, encoding: { x, y } },
        { mark: { type: 'text', align: 'left', dx: 5 }, encoding: { x, y, text: { field: 'label' } } },
      ],
    },
  };
}

function shapley(section: FactorSection, index: number): Figure {
  const title = 'What each change gives of the prototype’s gain';
  const values = [
    ...section.shapley.flatMap(({ factor, ms_per_turn, alone_ms_per_turn }) => [
      { factor, kind: 'Shapley share', saved: ms_per_turn },
      { factor, kind: 'alone', saved: alone_ms_per_turn },
    ]),
    { factor: 'work done ahead', kind: 'alone', saved: section.ahead.ms_per_turn },
  ];
  return {
    name: `shapley${suffix(index)}`,
    title,
    spec: {
      config,
      width,
      height: { step: 14 },
      title: titled(title, [
        cellWords(section),
        'Shapley share: averaged over every order of the changes. Alone: as the only change to the shipped design.',
      ]),
      data: { values },
      mark: { type: 'bar' },
      encoding: {
        x: { field: 'saved', type: 'quantitative', title: 'ms saved per turn' },
        y: { field: 'factor', type: 'nominal', sort: null, title: null },
        yOffset: { field: 'kind', sort: null },
        color: { field: 'kind', type: 'nominal', sort: null, title: null, legend: { orient: 'bottom' } },
      },
    },
  };
}

/** Every figure that the sections of a summary allow. */
export function figuresOf({ bare = [], frontier = [], factors = [] }: LabSummary): Figure[] {
  return [
    ...(bare.length === 0 ? [] : [gain(bare, frontier)]),
    ...(frontier.length === 0 ? [] : [frontierFigure(frontier)]),
    ...factors.flatMap((section, index) => [ladder(section, index), shapley(section, index)]),
  ];
}
