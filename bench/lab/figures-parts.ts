/** What several figures have in common. */
import type { TopLevelSpec } from 'vega-lite';

import type { FrontierSection } from './sections.js';

export interface Figure {
  /** Of its file. */
  readonly name: string;
  readonly title: string;
  readonly spec: TopLevelSpec;
}

/** Share of end-to-end time from which a gain counts as material. */
export const materialPercent = 5;
/** Of a plot, in pixels. */
export const width = 620;

/** Speeds of the model are far apart. */
export const speedAxis = {
  field: 'tokens_per_second',
  type: 'quantitative',
  title: 'speed of the model, tokens/s (simulated)',
  scale: { type: 'log', nice: false, padding: 24 },
} as const;

export function speeds(rows: readonly { readonly tokens_per_second: number }[]): number[] {
  return [...new Set(rows.map(({ tokens_per_second }) => tokens_per_second))].sort(
    (one, other) => one - other,
  );
}

export function idleWords(one: Pick<FrontierSection, 'restarts_after_idle'>): string {
  return one.restarts_after_idle ? ', idle windows restart' : '';
}
