/** `npm run figures -- [DIR]`: draws the figures of a result directory. */
import { Command } from 'commander';

import { drawFigures } from './figures.js';

const program = new Command('figures')
  .description('Draw the figures of a result as SVG, into its figures/.')
  .argument('[dir]', 'a result directory', 'bench/results/quick')
  .showHelpAfterError('(--help shows what there is)')
  .action(async (dir: string) => {
    for (const path of await drawFigures(dir)) process.stdout.write(`${path}\n`);
  });

try {
  await program.parseAsync();
} catch (fault) {
  process.stderr.write(`figures: ${fault instanceof Error ? fault.message : String(fault)}\n`);
  process.exitCode = 1;
}
