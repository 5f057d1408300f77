/** How every figure looks: colours that have a counterpart in dark, generic fonts, nothing that depends on a browser. */
import type { Config } from 'vega-lite';

/** By what it means; each light one is drawn, and turned into its dark one by the figure's own style sheet. */
export const colours = {
  ground: { light: '#ffffff', dark: '#0d1117' },
  ink: { light: '#1f2328', dark: '#e6edf3' },
  faint: { light: '#57606a', dark: '#9198a1' },
  grid: { light: '#d8dee4', dark: '#30363d' },
  blue: { light: '#0969da', dark: '#4493f8' },
  amber: { light: '#bc4c00', dark: '#f0883e' },
  green: { light: '#1a7f37', dark: '#3fb950' },
  purple: { light: '#8250df', dark: '#ab7df8' },
  red: { light: '#cf222e', dark: '#f85149' },
  grey: { light: '#8c959f', dark: '#6e7681' },
} as const;

const series = [
  colours.blue.light,
  colours.amber.light,
  colours.green.light,
  colours.purple.light,
  colours.red.light,
  colours.grey.light,
];

const font = 'system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif';

export const config: Config = {
  aria: false,
  font,
  background: colours.ground.light,
  padding: 12,
  view: { stroke: null },
  title: {
    anchor: 'start',
    color: colours.ink.light,
    subtitleColor: colours.faint.light,
    fontSize: 14,
    subtitleFontSize: 11,
    subtitleLineHeight: 15,
    subtitlePadding: 5,
    offset: 14,
    frame: 'group',
  },
  axis: {
    labelColor: colours.ink.light,
    titleColor: colours.faint.light,
    gridColor: colours.grid.light,
    domainColor: colours.faint.light,
    tickColor: colours.faint.light,
    titleFontWeight: 'normal',
    labelFontSize: 11,
    titleFontSize: 11,
    labelLimit: 400,
  },
  legend: {
    labelColor: colours.ink.light,
    titleColor: colours.faint.light,
    titleFontWeight: 'normal',
    labelLimit: 500,
  },
  header: { labelColor: colours.ink.light, titleColor: colours.faint.light },
  text: { color: colours.ink.light, fontSize: 11 },
  range: { category: series },
};

/** Characters of a line: without a browser text is taken for wider than it is, and a long line would widen the figure. */
const lineMax = { title: 60, subtitle: 80 };

function wrapped(text: string, max: number): string[] {
  return text.split(' ').reduce<string[]>((lines, word) => {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > max) return [...lines, word];
    return [...lines.slice(0, -1), `${last} ${word}`];
  }, []);
}

/** A title and what has to be known to read the figure, in lines that fit it. */
export function titled(title: string, sentences: readonly string[]) {
  return {
    text: wrapped(title, lineMax.title),
    subtitle: sentences.flatMap((sentence) => wrapped(sentence, lineMax.subtitle)),
  };
}

/** Turns each light colour into its dark one where the reader's system is dark. The ground goes along with the ink. */
function darkSheet(): string {
  const rules = Object.values(colours).flatMap(({ light, dark }) => [
    `[fill="${light}"]{fill:${dark}}`,
    `[stroke="${light}"]{stroke:${dark}}`,
  ]);
  return `<style>@media (prefers-color-scheme: dark){${rules.join('')}}</style>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/** A drawn figure with its style sheet, and with its title for who does not see it. */
export function finished(svg: string, title: string): string {
  const opened = svg.replace(/^<svg /, `<svg role="img" aria-label="${escaped(title)}" `);
  const end = opened.indexOf('>') + 1;
  return `${opened.slice(0, end)}${darkSheet()}${opened.slice(end)}\n`;
}
