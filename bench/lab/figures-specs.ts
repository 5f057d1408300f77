/** The figures that a summary has in it, as Vega-Lite specifications. Pure. */
import { gains } from './figures-gain.js';
import { idleWords, materialPercent, speedAxis, speeds, width, type Figure } from './figures-parts.js';
import { colours, config, titled } from './figures-style.js';
import type { FactorSection, FrontierSection, LabSummary } from './sections.js';

const residualTicks = [0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 2000];

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

function cellWords(section: FactorSection): string {
  const { scenario, profile, tokens_per_second, rtt_ms, rollouts } = section;
  return (
    `Virtual time: ${scenario}, profile ${profile}, ${tokens_per_second} tokens/s, RTT ${rtt_ms} ms` +
    `${idleWords(section)}, ${rollouts} rollouts. Network, model, tools and service costs are simulated.`
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
    ...gains(bare, frontier),
    ...(frontier.length === 0 ? [] : [frontierFigure(frontier)]),
    ...factors.flatMap((section, index) => [ladder(section, index), shapley(section, index)]),
  ];
}
