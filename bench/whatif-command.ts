/** `long-response whatif`: what the designs would take for somebody's own rollouts. */
import { writeFile } from 'node:fs/promises';

import { Command, Option } from 'commander';

import { builtinScenarios, gapsOf, type Scenario, type Session } from '../scenarios/index.js';
import { fixedCostProfile, fixedCostText, measureFixedCost } from './fixed-cost.js';
import { interruptible } from './interrupt.js';
import { commandText } from './manifest.js';
import { milliseconds, positiveNumber, serverUrl, wholeNumber } from './options.js';
import { progress, type Progress } from './progress.js';
import { missing } from './missing.js';
import { nameFrom, readAll, tracedScenario } from './scenarios-command.js';
import { profileNamed, type Profile } from './service/profile.js';
import { virtualArms } from './virtual/arm.js';
import { whatIfDefaults } from './whatif-defaults.js';

interface WhatIfWords {
  readonly fixedMs?: number;
  readonly server?: string;
  readonly key?: string;
  readonly model: string;
  readonly requests: number;
  readonly profile?: string;
  readonly against: string;
  readonly tps?: number;
  readonly prefillTps: number;
  readonly rttMs?: number;
  readonly bandwidthMbit: number;
  readonly keepWindow: boolean;
  readonly rollouts: number;
  readonly seed: number;
  readonly json?: string;
}

export function whatifCommand(): Command {
  const { against, rollouts, seed, decodeTokensPerSecond, prefillTokensPerSecond, rttMs, bandwidthMbit } =
    whatIfDefaults;
  return new Command('whatif')
    .description(
      'Predict what each design would take for your own rollouts, what it saves, and which switch gives most of it.',
    )
    .argument(
      '<path>',
      'a trace (see "scenarios list"), a directory of them, a scenario file, or a built-in scenario',
    )
    .addOption(
      new Option('--fixed-ms <n>', 'fixed work of a create on a warm socket beyond an append’s, in ms')
        .argParser(milliseconds)
        .conflicts(['server', 'profile']),
    )
    .addOption(
      new Option('--server <url>', 'measure it from outside, as a bound: a server of the Responses API')
        .argParser(serverUrl)
        .conflicts('profile'),
    )
    .option('--key <key>', 'bearer key of --server (also LONG_RESPONSE_KEY)')
    .option('--model <name>', 'that --server is asked for', 'demo')
    .option('--requests <n>', 'requests to --server that count', wholeNumber(1, 1000), 8)
    .option('--profile <name>', 'service profile or a file of costs, in place of --fixed-ms (default: bare)')
    .addOption(
      new Option('--against <design>', 'what savings are told against, beside the shipped design')
        .choices(virtualArms.map(({ name }) => name))
        .default(against),
    )
    .option(
      '--tps <n>',
      `tokens/s the model writes (default: as the trace timed it, else ${decodeTokensPerSecond})`,
      positiveNumber,
    )
    .option('--prefill-tps <n>', 'tokens/s the model reads', positiveNumber, prefillTokensPerSecond)
    .option('--rtt-ms <n>', `round trip (default: ${rttMs}, or that of --server)`, milliseconds)
    .option('--bandwidth-mbit <n>', 'each way', positiveNumber, bandwidthMbit)
    .option(
      '--keep-window',
      'windows stay open over idle time, as with BBR (default: they start small)',
      false,
    )
    .option(
      '--rollouts <n>',
      `rollouts to play, chosen by the seed (default: all, up to ${rollouts})`,
      wholeNumber(1, 100_000),
      rollouts,
    )
    .option('--seed <n>', 'chooses rollouts and resamples', wholeNumber(0, 2 ** 31), seed)
    .option('--json <file>', 'write the result as JSON; it holds nothing of what was said')
    .action(run);
}

interface Material {
  readonly scenario: Scenario;
  /** Tokens a second that the model wrote; null where no trace timed it. */
  readonly tokensPerSecond: number | null;
  /** Calls without a recorded time. */
  readonly untimed: number;
}

function writtenPerSecond(sessions: readonly Session[]): number | null {
  const sum = (field: 'tokens' | 'ms'): number =>
    sessions.reduce((total, { written }) => total + (written?.[field] ?? 0), 0);
  const [tokens, ms] = [sum('tokens'), sum('ms')];
  return tokens > 0 && ms > 0 ? (tokens / ms) * 1000 : null;
}

/** A scenario says in its source what it leaves open. */
const told = { tokensPerSecond: null, untimed: 0 } as const;

/** @throws Error where nothing could be read; each file that could not is named on stderr. */
async function materialAt(word: string): Promise<Material> {
  const builtin = builtinScenarios.get(word);
  if (builtin !== undefined) return { scenario: builtin, ...told };
  const { files, faults } = await readAll(word).catch((fault: unknown) => {
    throw missing(fault, word);
  });
  const [only] = files;
  if (files.length + faults.length === 1) {
    if (only === undefined) throw new Error(faults[0]);
    if (only.scenario !== undefined) return { scenario: only.scenario, ...told };
  }
  for (const fault of faults) process.stderr.write(`left out: ${fault}\n`);
  for (const { scenario, path } of files)
    if (scenario !== undefined) process.stderr.write(`left out: ${path}: is a scenario, give it alone\n`);
  const traced = tracedScenario(files, nameFrom(word.replace(/[\\/]+$/, '')));
  if (traced === null) throw new Error(`${word}: no trace could be read`);
  return {
    scenario: traced.scenario,
    tokensPerSecond: writtenPerSecond(traced.sessions),
    untimed: gapsOf(traced.sessions).untimed,
  };
}

interface Cost {
  readonly profile: Profile;
  readonly text: string;
  readonly rttMs?: number;
}

/** What the service costs: told, measured, or a profile. */
async function costOf(words: WhatIfWords, signal: AbortSignal): Promise<Cost> {
  const { fixedMs, server, model, requests } = words;
  if (fixedMs !== undefined)
    return {
      profile: fixedCostProfile(fixedMs, 'As told.'),
      text: `${fixedMs} ms, as told; nothing else costs anything.`,
    };
  if (server === undefined) {
    const profile = await profileNamed(words.profile ?? 'bare');
    const advice = words.profile === undefined ? ' --fixed-ms or --server tells what yours costs.' : '';
    return { profile, text: `profile ${profile.name}. ${profile.about}${advice}` };
  }
  const key = words.key ?? process.env['LONG_RESPONSE_KEY'];
  const measured = await measureFixedCost({
    url: server,
    model,
    requests,
    signal,
    ...(key === undefined ? {} : { key }),
  });
  const text = fixedCostText(measured);
  return { profile: fixedCostProfile(measured.fixed_ms, text), text, rttMs: measured.rtt_ms };
}

/** A bar for each of the two parts, one after the other. */
function bars() {
  const shown = new Map<string, Progress>();
  return {
    step: (what: 'designs' | 'switches', done: number, of: number): void => {
      const bar = shown.get(what) ?? progress(`rollouts of the ${what}`);
      shown.set(what, bar);
      bar.step(done, of);
      if (done === of) bar.stop();
    },
    stop: (): void => shown.forEach((bar) => bar.stop()),
  };
}

async function run(path: string, words: WhatIfWords): Promise<void> {
  const { against, prefillTps, bandwidthMbit, seed } = words;
  // Loaded here, because the other commands are measured without it.
  const { whatIf } = await import('./whatif.js');
  const { openingText, whatIfText } = await import('./whatif-text.js');
  const signal = interruptible('rollouts');
  const { scenario, tokensPerSecond, untimed } = await materialAt(path);
  const { profile, text, rttMs: measuredRtt } = await costOf(words, signal);
  const tps = words.tps ?? tokensPerSecond ?? whatIfDefaults.decodeTokensPerSecond;
  const rttMs = words.rttMs ?? measuredRtt ?? whatIfDefaults.rttMs;
  const rollouts = Math.min(words.rollouts, scenario.rollouts?.length ?? words.rollouts);
  process.stdout.write(
    `${openingText({
      path,
      scenario,
      untimed,
      rollouts,
      seed,
      tps,
      tpsFrom:
        words.tps === undefined
          ? tokensPerSecond === null
            ? 'assumed'
            : 'as the trace timed it'
          : 'as told',
      prefillTps,
      rttMs,
      bandwidthMbit,
      restartsAfterIdle: !words.keepWindow,
      cost: text,
    })}\n\n`,
  );
  const shown = bars();
  const result = await whatIf({
    scenario,
    profile,
    rollouts,
    against,
    seed,
    decodeTokensPerSecond: tps,
    prefillTokensPerSecond: prefillTps,
    rttMs,
    bandwidthMbit,
    restartsAfterIdle: !words.keepWindow,
    signal,
    onProgress: shown.step,
    command: commandText('long-response'),
  }).finally(shown.stop);
  process.stdout.write(`${whatIfText(result)}\n`);
  if (words.json !== undefined) await writeFile(words.json, `${JSON.stringify(result, null, 1)}\n`);
}
