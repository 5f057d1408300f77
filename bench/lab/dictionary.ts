/** The data dictionary of a result, `DICTIONARY.md`: every field of every file, from the schemas that the files are held to. */
import { metricDefinitions } from '../metrics.js';
import type { Field } from '../schema/field.js';
import { manifestFields, summaryFields } from '../schema/result.js';
import { rolloutFields, turnFields } from '../schema/rows.js';

/** A file of a result, and what it holds. */
export interface DescribedFile {
  readonly file: string;
  readonly about: string;
  readonly fields: readonly Field[];
}

export const describedFiles: readonly DescribedFile[] = [
  {
    file: 'rollouts.jsonl',
    about: 'One line for each rollout of one arm; `rollouts.csv` has the same.',
    fields: rolloutFields,
  },
  {
    file: 'turns.jsonl',
    about: 'One line for each turn of a rollout, where turns were kept; `turns.csv` has the same.',
    fields: turnFields,
  },
  {
    file: 'summary.json',
    about: 'What the rows come to. Differences are left − right: negative where the left arm is faster.',
    fields: summaryFields,
  },
  { file: 'manifest.json', about: 'What it takes to make the result again.', fields: manifestFields },
];

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function section({ file, about, fields }: DescribedFile): string {
  const rows = fields.map(({ path, unit, about: meaning }) => [`\`${path}\``, unit, meaning]);
  return `## ${file}\n\n${about}\n\n${table(['field', 'unit', 'meaning'], rows)}\n`;
}

/** What the rows hold beside these. */
const beside = [
  ['bytes', '`bytes_up`, `bytes_down` of a turn and of a rollout'],
  ['CPU per turn', '`server_cpu_ms / turns`, `client_cpu_ms / turns` of a rollout'],
  ['depth', '`turn` and `input_tokens` of a turn'],
  ['gaps between tokens', '`itl_p50_ms` and `itl_p99_ms` of a rollout; single gaps are not kept'],
];

/** The whole dictionary as Markdown. */
export function dictionary(): string {
  const named = Object.entries(metricDefinitions).map(([name, { unit, per, formula, known_as }]) => [
    `\`${name}\``,
    unit,
    per,
    formula,
    known_as,
  ]);
  return [
    '# Data dictionary\n\nTimes are milliseconds unless a name says otherwise. Rows are rounded to three decimals.\n',
    ...describedFiles.map(section),
    `## Metrics under the names that other tools use\n\n${table(['name', 'unit', 'of a', 'formula, in fields of the rows', 'known as'], named)}\n`,
    `What no other tool has:\n\n${table(['what', 'here'], beside)}\n`,
  ].join('\n');
}
