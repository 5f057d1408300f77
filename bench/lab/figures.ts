/**
 * Figures of a result, from the files of its directory alone: SVG, drawn in this process without a browser. The same files
 * give the same bytes.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import type * as vegaPackage from 'vega';
import type * as vegaLitePackage from 'vega-lite';

import { parseTrace } from '../schema/trace.js';
import type { Figure } from './figures-parts.js';
import { figuresOf } from './figures-specs.js';
import { finished } from './figures-style.js';
import { waterfall } from './figures-waterfall.js';
import { fileNames, jsonFrom, readSummary, textOf, writeWhole } from './result-files.js';

/** What is needed of the two packages. */
export interface Tools {
  readonly vega: Pick<typeof vegaPackage, 'parse' | 'View' | 'resetSVGDefIds'>;
  readonly vegaLite: Pick<typeof vegaLitePackage, 'compile'>;
}

async function load(): Promise<Tools> {
  const [vega, vegaLite] = await Promise.all([import('vega'), import('vega-lite')]);
  return { vega, vegaLite };
}

/**
 * The packages that draw. They are installed for development only.
 * @throws Error with what to do where they are not installed.
 */
export async function drawingTools(from: () => Promise<Tools> = load): Promise<Tools> {
  return from().catch((fault: unknown) => {
    throw new Error(
      'figures are drawn by vega and vega-lite, which are not installed here: run npm ci without --omit=dev',
      { cause: fault },
    );
  });
}

/** A figure as SVG. */
export async function svgOf(
  { title, spec }: { title: string; spec: vegaLitePackage.TopLevelSpec },
  { vega, vegaLite }: Tools,
): Promise<string> {
  // Names of clip paths are counted across figures.
  vega.resetSVGDefIds();
  const view = new vega.View(vega.parse(vegaLite.compile(spec).spec), { renderer: 'none' });
  try {
    return finished(await view.toSVG(), title);
  } finally {
    view.finalize();
  }
}

function figuresIn(dir: string): Figure[] {
  const summary = readSummary(dir);
  const path = join(dir, fileNames.trace);
  const trace = textOf(path);
  return [
    ...(summary === null ? [] : figuresOf(summary)),
    ...(trace === null ? [] : [waterfall(parseTrace(jsonFrom(trace, path), path))]),
  ];
}

/**
 * Draws every figure that a result directory has the data for, into its `figures/`. Gives the paths.
 * @throws Error where there is nothing to draw, or nothing to draw with.
 */
export async function drawFigures(dir: string): Promise<string[]> {
  const figures = figuresIn(dir);
  if (figures.length === 0)
    throw new Error(
      `${dir} has nothing to draw: it needs a ${fileNames.summary} with sections, or a ${fileNames.trace}`,
    );
  const tools = await drawingTools();
  const folder = join(dir, fileNames.figures);
  mkdirSync(folder, { recursive: true });
  const paths: string[] = [];
  for (const figure of figures) {
    const path = join(folder, `${figure.name}.svg`);
    writeWhole(path, await svgOf(figure, tools));
    paths.push(path);
  }
  return paths;
}
