/**
 * `npm run bench`: measures the engine and the server themselves. Without words it runs everything, in about eight
 * minutes; with names it runs those. `--json FILE` writes the results with a manifest.
 */
import { writeFile } from 'node:fs/promises';

import Table from 'cli-table3';
import { Command } from 'commander';

import * as counts from './counts.js';
import { commandText, manifest } from './manifest.js';
import { micro, type MicroResult } from './micro.js';
import * as network from './network/probe.js';
import * as bigInput from './proofs/big-input.js';
import * as longRollout from './proofs/long-rollout.js';
import * as resume from './proofs/resume.js';
import * as shimCost from './proofs/shim-cost.js';
import * as sockets from './proofs/sockets.js';
import * as streams from './proofs/streams.js';
import * as suspended from './proofs/suspended.js';
import * as turnCost from './proofs/turn-cost.js';
import * as virtual from './proofs/virtual.js';

type Told = (line: string) => void;

interface Proof {
  readonly name: string;
  readonly asks: string;
  /** The result as data, and as text. */
  readonly run: (told: Told) => Promise<readonly [result: unknown, text: string]>;
}

function proof<Result>(
  name: string,
  asks: string,
  module: { run: (options: { onProgress: Told }) => Promise<Result>; print: (result: Result) => string },
): Proof {
  return {
    name,
    asks,
    run: async (onProgress) => {
      const result = await module.run({ onProgress });
      return [result, module.print(result)];
    },
  };
}

function microText(results: readonly MicroResult[]): string {
  const table = new Table({
    head: ['task', 'p50 µs', 'p99 µs', 'samples'],
    style: { head: [], border: [], compact: true },
    colAligns: ['left', 'right', 'right', 'right'],
  });
  for (const { task, p50_us, p99_us, samples } of results)
    table.push([task, p50_us.toFixed(2), p99_us.toFixed(2), String(samples)]);
  return `Inner loops, in process (tinybench)\n${table.toString()}`;
}

const proofs: readonly Proof[] = [
  proof('counts', 'what each design does in a rollout of 21 turns, counted', counts),
  {
    name: 'micro',
    asks: 'what a resume and a log entry cost in process',
    run: async () => {
      const results = await micro();
      return [results, microText(results)];
    },
  },
  proof('turn-cost', 'whether a turn costs the same at turn 10, 100 and 1,000', turnCost),
  proof('shim-cost', 'what a turn costs in the shim, against append and further on', shimCost),
  proof('resume', 'append → first token against a bare echo', resume),
  proof('big-input', "whether a megabyte of input holds up another rollout's deltas", bigInput),
  proof('long-rollout', 'what 10,000 turns leave in memory', longRollout),
  proof('suspended', 'what 20,000 suspended rollouts weigh', suspended),
  proof('sockets', 'the same with a socket each', sockets),
  proof(
    'network',
    'whether the paths that the lab measures over have the round trip and the window they claim',
    network,
  ),
  proof('streams', 'whether 64 streams of 1,000 tokens/s hold their rate', streams),
  proof('virtual', 'how many rollouts of 21 turns a second virtual time plays', virtual),
];

function chosen(names: readonly string[]): readonly Proof[] {
  const unknown = names.find((name) => !proofs.some((one) => one.name === name));
  if (unknown !== undefined)
    throw new Error(
      `there is no benchmark "${unknown}"; there are ${proofs.map((one) => one.name).join(', ')}`,
    );
  return names.length === 0 ? proofs : proofs.filter((one) => names.includes(one.name));
}

async function run(names: string[], words: { json?: string }): Promise<void> {
  const about = manifest(commandText('npm run bench --'));
  process.stdout.write(
    `${about.cpu}, ${about.cores} cores; ${about.kernel}; Node ${about.node}; commit ${about.commit}\n`,
  );
  const results: Record<string, unknown> = {};
  for (const { name, asks, run: measure } of chosen(names)) {
    process.stdout.write(`\n── ${name}: ${asks}\n`);
    const [result, text] = await measure((line) => process.stderr.write(`   ${line}\n`));
    results[name] = result;
    process.stdout.write(`${text}\n`);
  }
  if (words.json !== undefined)
    await writeFile(words.json, `${JSON.stringify({ manifest: about, results }, null, 1)}\n`);
}

const program = new Command('bench')
  .description('Measure the engine and the server themselves.')
  .argument(
    '[names...]',
    `what to measure (${proofs.map((one) => one.name).join(', ')}); default: everything`,
  )
  .option('--json <file>', 'write the results as JSON')
  .showHelpAfterError('(--help shows what there is)')
  .action(run);

try {
  await program.parseAsync();
} catch (fault) {
  process.stderr.write(`bench: ${fault instanceof Error ? fault.message : String(fault)}\n`);
  process.exitCode = 1;
}
