/**
 * Holds the README to results. A number that states a measurement is followed by the field that it came from,
 * `1.10<!-- quick:frontier[0].threshold_ms -->`; what is between `<!-- results -->` and `<!-- /results -->` is generated.
 * Pure: text and results in, sentences out.
 */
import { allowed, unread, type Allowed } from './claims-rules.js';

/** Results by the name of their run, as they stand in `bench/results/<run>/summary.json`. */
export type Results = ReadonlyMap<string, unknown>;

/** A number, as it is written: with `,` between thousands. */
const number = String.raw`[-−+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?`;
const loose = new RegExp(String.raw`(?<![\p{L}\d_]|[\p{L}\d_][-.])${number}`, 'gu');
const citation = new RegExp(
  String.raw`(?:(${number})( ?%| ?[\p{L}µ/]+(?: (?:a|per) \p{L}+)?)?)?<!-- ([\w-]+):(\S[^\n]*?) -->`,
  'gu',
);
const block = /<!-- results -->\n([\s\S]*?)<!-- \/results -->/;
const comment = /<!--[\s\S]*?-->/g;

/** Keeps every line where it is. */
function blanked(text: string, pattern: RegExp): string {
  return text.replace(pattern, (match) => match.replaceAll(/[^\n]/g, ' '));
}

function without(rules: readonly Allowed[], text: string): string {
  return rules.reduce((left, { pattern }) => blanked(left, pattern), text);
}

function member(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.getOwnPropertyDescriptor(value, key)?.value
    : undefined;
}

function matches(value: unknown, conditions: string): boolean {
  return conditions.split(',').every((condition) => {
    const [key = '', wanted] = condition.split('=');
    return String(member(value, key)) === wanted;
  });
}

function element(value: unknown, which: string): unknown {
  if (!Array.isArray(value)) return undefined;
  const found: unknown = /^\d+$/.test(which)
    ? value[Number(which)]
    : value.find((one) => matches(one, which));
  return found;
}

/**
 * The value of a field of a result, `frontier[0].threshold_ms` or `bare[scenario=terminal,tokens_per_second=65].relative`;
 * undefined where there is none.
 */
export function fieldOf(result: unknown, path: string): unknown {
  const steps = path.matchAll(/\[([^\]]*)\]|([^.[\]]+)/g);
  return [...steps].reduce<unknown>(
    (value, [, which, key]) => (which === undefined ? member(value, key ?? '') : element(value, which)),
    result,
  );
}

interface Cited {
  readonly written: string;
  readonly unit: string;
  readonly run: string;
  readonly path: string;
}

function valueOf(written: string): number {
  return Number(written.replace('−', '-').replaceAll(',', ''));
}

/** In the unit that the text uses. */
function scaled(value: number, { unit, path }: Cited): number {
  if (unit.trim() === '%') return value * 100;
  return /^ ?s$/.test(unit) && path.endsWith('_ms') ? value / 1000 : value;
}

/** The text may leave out a sign that its words give ("faster by"), but not turn it round. */
function agrees(written: string, value: number, decimals: number): boolean {
  const [said, is] = [valueOf(written), Number(value.toFixed(decimals))];
  return said === is || (/^\d/.test(written) && said === Math.abs(is));
}

/** What is wrong with a citation; null where the number is that of the result. */
function wrongWith(cited: Cited, results: Results): string | null {
  const { written, run, path } = cited;
  if (written === '')
    return `the citation ${run}:${path} has no number before it; put it right behind its number`;
  const result = results.get(run);
  if (result === undefined)
    return `there is no bench/results/${run}/summary.json; commit that result or cite another`;
  const value = fieldOf(result, path);
  if (typeof value !== 'number')
    return `${run}:${path} is no number in bench/results/${run}/summary.json; correct the field`;
  const decimals = written.split('.')[1]?.length ?? 0;
  const is = scaled(value, cited);
  return agrees(written, is, decimals)
    ? null
    : `${run}:${path} is ${is.toFixed(decimals)}; correct the number, or cite the field that it came from`;
}

interface Fault {
  readonly index: number;
  readonly written: string;
  readonly sentence: string;
}

function citedFaults(text: string, results: Results): Fault[] {
  return [...text.matchAll(citation)].flatMap(
    ({ index, 1: written = '', 2: unit = '', 3: run = '', 4: path = '' }) => {
      const sentence = wrongWith({ written, unit, run, path }, results);
      return sentence === null ? [] : [{ index, written, sentence }];
    },
  );
}

function looseFaults(text: string): Fault[] {
  return [...text.matchAll(loose)].map(({ index, 0: written }) => ({
    index,
    written,
    sentence:
      `no result is cited. If it was measured, write ${written}<!-- quick:FIELD --> with the field of ` +
      'bench/results/quick/summary.json that it came from; if not, add a rule with a reason to bench/lab/claims-rules.ts',
  }));
}

/** Every number of a README that no result stands behind: a line each, with its place and what to do. */
export function faultsIn(readme: string, results: Results): string[] {
  const stated = without(unread, blanked(readme, new RegExp(block, 'g')));
  const uncited = without(allowed, blanked(blanked(stated, citation), comment));
  return [...citedFaults(stated, results), ...looseFaults(uncited)]
    .sort((one, other) => one.index - other.index)
    .map(({ index, written, sentence }) => {
      const line = readme.slice(0, index).split('\n').length;
      return `README.md:${line}: ${written === '' ? '' : `${written}: `}${sentence}.`;
    });
}

/** What stands between the marks; null where they are missing. */
export function blockOf(readme: string): string | null {
  return block.exec(readme)?.[1] ?? null;
}

/** The README with another block between its marks. */
export function withBlock(readme: string, content: string): string {
  return readme.replace(block, () => `<!-- results -->\n${content}<!-- /results -->`);
}

/** What is wrong with the generated block, given what the results would generate (null where there are none). */
export function blockFaults(readme: string, generated: string | null): string[] {
  const there = blockOf(readme);
  if (generated === null)
    return there === null || there.trim() === ''
      ? []
      : [
          'README.md: the results block has no bench/results/quick or bench/results/full behind it; empty it.',
        ];
  if (there === null)
    return [
      'README.md: put <!-- results --> and <!-- /results --> where the results go, then npm run claims -- --write.',
    ];
  return there === generated
    ? []
    : [
        'README.md: the results block is not that of the results in bench/results; npm run claims -- --write.',
      ];
}
