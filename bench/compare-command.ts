/** `long-response compare`. */
import { writeFile } from 'node:fs/promises';

import { Command } from 'commander';

import { compare, compareDefaults, type CompareParameters } from './compare.js';
import { interruptible } from './interrupt.js';
import { commandText } from './manifest.js';
import { collected, positiveNumber, serverUrl, share, wholeNumber } from './options.js';
import { progress } from './progress.js';
import { openingLine, report } from './report.js';
import { blocksMinForInterval } from './statistics.js';

interface CompareWords {
  readonly scenario: string[];
  readonly tps: number;
  readonly prefillTps: number;
  readonly toolScale: number;
  readonly blocks: number;
  readonly sparseEvery: number;
  readonly seed: number;
  readonly server?: string;
  readonly key?: string;
  readonly json?: string;
}

export function compareCommand(): Command {
  const { scenarios, blocks, sparseEvery, seed, decodeTokensPerSecond, prefillTokensPerSecond, toolScale } =
    compareDefaults;
  return new Command('compare')
    .description(
      'Drive the same agent rollouts through every design, over sockets and over HTTP, and print what each cost.',
    )
    .option(
      '--scenario <name>',
      `built-in (see "scenarios list") or a JSON file; may be repeated (default: ${scenarios.join(', ')})`,
      collected,
      [],
    )
    .option('--tps <n>', 'simulated speed of the model, tokens/s out', positiveNumber, decodeTokensPerSecond)
    .option(
      '--prefill-tps <n>',
      'simulated speed of the model, tokens/s in',
      positiveNumber,
      prefillTokensPerSecond,
    )
    .option('--tool-scale <share>', 'true tool time times this', share, toolScale)
    .option(
      '--blocks <n>',
      `rollouts per design and scenario; under ${blocksMinForInterval} no interval is printed`,
      wholeNumber(1, 10_000),
      blocks,
    )
    .option(
      '--sparse-every <n>',
      'designs beside append-ws and chain-ws run in every n-th block',
      wholeNumber(1, 10_000),
      sparseEvery,
    )
    .option('--seed <n>', 'chooses rollouts, texts and the order of designs', wholeNumber(0, 2 ** 31), seed)
    .option('--server <url>', 'measure a running "serve --scenarios" with the same speeds', serverUrl)
    .option('--key <key>', 'its bearer key (also LONG_RESPONSE_KEY)')
    .option('--json <file>', 'write the result with every rollout as JSON')
    .action(run);
}

async function run(words: CompareWords): Promise<void> {
  const parameters: CompareParameters = {
    scenarios: words.scenario.length > 0 ? words.scenario : compareDefaults.scenarios,
    blocks: words.blocks,
    sparseEvery: words.sparseEvery,
    seed: words.seed,
    decodeTokensPerSecond: words.tps,
    prefillTokensPerSecond: words.prefillTps,
    toolScale: words.toolScale,
  };
  process.stdout.write(`${openingLine(parameters)}\n\n`);
  const bar = progress('rollouts');
  const key = words.key ?? process.env['LONG_RESPONSE_KEY'];
  const comparison = await compare({
    ...parameters,
    server: words.server === undefined ? undefined : { url: words.server, key },
    signal: interruptible('rollout'),
    onProgress: bar.step,
    command: commandText('long-response'),
  }).finally(bar.stop);
  process.stdout.write(`${report(comparison)}\n`);
  if (words.json !== undefined) await writeFile(words.json, `${JSON.stringify(comparison, null, 1)}\n`);
}
