/** `npm run claims`: whether results stand behind every number of the README; `--write` makes its results block anew. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Command } from 'commander';

import { resultsBlock } from './claims-block.js';
import { blockFaults, faultsIn, withBlock, type Results } from './claims.js';
import { readSummary, writeWhole } from './result-files.js';
import type { LabSummary } from './sections.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const resultsDir = join(root, 'bench', 'results');
/** Not in the repository, so no number may rest on it. */
const uncommitted = 'local';

function committedResults(): Map<string, LabSummary> {
  const runs = existsSync(resultsDir) ? readdirSync(resultsDir).filter((name) => name !== uncommitted) : [];
  return new Map(
    runs.flatMap((name) => {
      const summary = readSummary(join(resultsDir, name));
      return summary === null ? [] : [[name, summary] as const];
    }),
  );
}

/** Of the full set where there is one, with the quick set beside it. */
function blockOf(full: LabSummary | null, quick: LabSummary | null): string | null {
  const summary = full ?? quick;
  return summary === null ? null : resultsBlock(summary, full === null ? null : quick);
}

function run({ write = false }: { write?: boolean }): void {
  const path = join(root, 'README.md');
  const results = committedResults();
  const generated = blockOf(results.get('full') ?? null, results.get('quick') ?? null);
  if (write && generated === null)
    throw new Error(
      'there is neither bench/results/full nor bench/results/quick to make the results block from',
    );
  if (write && generated !== null) writeWhole(path, withBlock(readFileSync(path, 'utf8'), generated));
  const readme = readFileSync(path, 'utf8');
  const known: Results = results;
  const faults = [...blockFaults(readme, generated), ...faultsIn(readme, known)];
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
  else process.stdout.write('claims: every number of README.md rests on a result or a rule\n');
}

const program = new Command('claims')
  .description('Whether a committed result stands behind every number of the README.')
  .option('--write', 'make the results block anew from bench/results/full and bench/results/quick')
  .showHelpAfterError('(--help shows what there is)')
  .action(run);

try {
  program.parse();
} catch (fault) {
  process.stderr.write(`claims: ${fault instanceof Error ? fault.message : String(fault)}\n`);
  process.exitCode = 1;
}
