/** `npm run lab -- quick|full`: measures a set, or what is left of it, and says what it found. */
import { Argument, Command } from 'commander';

import { interruptible } from '../interrupt.js';
import { commandText } from '../manifest.js';
import { wholeNumber } from '../options.js';
import { progress } from '../progress.js';
import type { SetName } from './plan.js';
import { labText } from './report.js';
import { runLab } from './run-lab.js';

interface LabWords {
  readonly resume?: boolean;
  readonly out?: string;
  readonly seed: number;
}

async function run(set: SetName, { resume = false, out, seed }: LabWords): Promise<void> {
  const bar = progress('seconds of work');
  const dir = out ?? `bench/results/${set}`;
  const summary = await runLab({
    set,
    dir,
    resume,
    seed,
    signal: interruptible('rollout'),
    onProgress: bar.step,
    onNotice: (sentence) => process.stderr.write(`${sentence}\n`),
    command: commandText('npm run lab --'),
  }).finally(bar.stop);
  process.stdout.write(`${labText(summary)}\n\nwrote ${dir}\n`);
  if (summary.partial) process.exitCode = 130;
}

const program = new Command('lab')
  .description(
    'Measure the designs against each other, play the rest in virtual time, and judge the hypotheses.',
  )
  .addArgument(
    new Argument(
      '<set>',
      'quick: about ten minutes on two cores; full: about three quarters of an hour',
    ).choices(['quick', 'full']),
  )
  .option('--resume', 'go on with a run that was ended')
  .option('--out <dir>', 'where the result is written (default: bench/results/<set>)')
  .option('--seed <n>', 'chooses rollouts, texts, costs and orders', wholeNumber(0, 2 ** 31), 1)
  .showHelpAfterError('(--help shows what there is)')
  .action(run);

try {
  await program.parseAsync();
} catch (fault) {
  process.stderr.write(`lab: ${fault instanceof Error ? fault.message : String(fault)}\n`);
  process.exitCode = 1;
}
