/** `long-response scenarios`: what there is, what is in it, whether a file is one, and scenarios made of real traces. */
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';

import { Command } from 'commander';

import { o200kTokenizer, systemClock } from '../engine/index.js';
import {
  builtinScenarios,
  filesAt,
  gapNotes,
  gapsOf,
  isTraceFault,
  readTraceFile,
  rolloutOf,
  scenarioOf,
  type CountTokens,
  type ReadFile,
  type Scenario,
  type Session,
} from '../scenarios/index.js';
import { missing } from './missing.js';
import { wholeNumber } from './options.js';
import { progress } from './progress.js';
import { filesText, listText, scenarioText } from './scenarios-report.js';

/** From this many files on, the command says how far it is. */
const filesMinForProgress = 10;

interface ShowWords {
  readonly rollout: number;
  readonly seed: number;
}

interface ImportWords {
  readonly out: string;
  readonly name?: string;
  readonly question: string;
}

export function scenariosCommand(): Command {
  const command = new Command('scenarios').description(
    'List and show scenarios, check scenario files and traces, and import traces of real agents.',
  );
  command
    .command('list')
    .description('Every built-in scenario with the question it asks, and the traces that can be imported.')
    .action(() => {
      process.stdout.write(`${listText()}\n`);
    });
  command
    .command('show')
    .description('One rollout turn by turn: tokens in and out, calls, tool time.')
    .argument('<scenario>', 'name of a built-in one, a scenario file, or a trace')
    .option('--rollout <n>', 'which one, from 0', wholeNumber(0), 0)
    .option('--seed <n>', 'of a scenario whose rollouts are drawn', wholeNumber(0, 2 ** 31), 1)
    .action(show);
  command
    .command('check')
    .description('Say of each file what it is and what it holds, or what is wrong. Exit code 1 on any fault.')
    .argument('<path>', 'a scenario file, a trace, or a directory of them')
    .action(check);
  command
    .command('import')
    .description('Make one scenario of a trace, or of all traces in a directory that can be read.')
    .argument('<path>', 'a trace, or a directory of them')
    .requiredOption('--out <file>', 'where the scenario is written, as JSON')
    .option('--name <name>', 'of the scenario, of a-z 0-9 - (default: from the name of --out)')
    .option('--question <text>', 'what a run of it answers', importQuestion)
    .action(importTraces);
  return command;
}

function counter(): CountTokens {
  const tokenizer = o200kTokenizer(systemClock);
  const { signal } = new AbortController();
  return async (text) => (await tokenizer.encode(text, signal)).length;
}

export interface Readings {
  readonly files: readonly ReadFile[];
  readonly faults: readonly string[];
}

/**
 * Reads what is at a path, file by file; one that is at fault leaves the others as they are.
 * @throws TraceError where there is no file.
 */
export async function readAll(path: string): Promise<Readings> {
  const paths = await filesAt(path);
  const count = counter();
  const files: ReadFile[] = [];
  const faults: string[] = [];
  const bar = paths.length < filesMinForProgress ? null : progress('files');
  for (const [index, each] of paths.entries()) {
    try {
      files.push(await readTraceFile(each, count));
    } catch (fault) {
      if (!isTraceFault(fault)) throw fault;
      faults.push(fault.message);
    }
    bar?.step(index + 1, paths.length);
  }
  bar?.stop();
  return { files, faults };
}

async function check(path: string): Promise<void> {
  const { files, faults } = await readAll(path);
  if (files.length > 0) process.stdout.write(`${filesText(files)}\n`);
  for (const fault of faults) process.stdout.write(`${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}

export interface Traced {
  readonly scenario: Scenario;
  /** The files that are traces, and all their sessions. */
  readonly traces: readonly ReadFile[];
  readonly sessions: readonly Session[];
}

const importQuestion = 'What does a design gain on these recorded rollouts?';

/** One scenario of the traces among the files; null where none of them is one. */
export function tracedScenario(
  files: readonly ReadFile[],
  name: string,
  question = importQuestion,
): Traced | null {
  const traces = files.filter(({ scenario }) => scenario === undefined);
  const sessions = traces.flatMap((file) => (file.scenario === undefined ? file.sessions : []));
  if (sessions.length === 0) return null;
  const source = sourceOf(traces, sessions);
  return { scenario: scenarioOf({ name, question, source }, sessions), traces, sessions };
}

function sourceOf(files: readonly ReadFile[], sessions: readonly Session[]): string {
  const formats = [...new Set(files.map(({ format }) => format))].join(', ');
  const assumed = 'the number of tools, and their size where a trace does not tell it';
  const notes = gapNotes(gapsOf(sessions));
  return [
    `Recorded, in ${files.length} trace files (${formats}) of ${sessions.length} sessions; each request of the user is a ` +
      'rollout; text as it was where a trace has it, else made to the recorded size.',
    ...(notes.length > 0 ? [`Left open by the traces: ${notes.join('; ')}.`] : []),
    `Assumed: ${assumed}.`,
  ].join(' ');
}

async function importTraces(path: string, words: ImportWords): Promise<void> {
  const { files, faults } = await readAll(path);
  for (const fault of faults) process.stderr.write(`left out: ${fault}\n`);
  for (const { scenario, path: file } of files)
    if (scenario !== undefined) process.stderr.write(`left out: ${file}: is a scenario already\n`);
  const name = words.name ?? nameFrom(words.out);
  const traced = tracedScenario(files, name, words.question);
  if (traced === null) throw new Error(`${path}: nothing to import`);
  const { scenario, traces, sessions } = traced;
  await writeFile(words.out, `${JSON.stringify(scenario, null, 1)}\n`);
  process.stdout.write(`${filesText(traces)}\n`);
  for (const note of gapNotes(gapsOf(sessions))) process.stdout.write(`note: ${note}\n`);
  process.stdout.write(`wrote ${words.out}: scenario ${name}\n`);
}

/** A scenario's name from that of a file. */
export function nameFrom(file: string): string {
  const name = basename(file)
    .replace(/\.[^.]*$/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 64);
  return name === '' ? 'imported' : name;
}

async function scenarioNamed(word: string): Promise<Scenario> {
  const builtin = builtinScenarios.get(word);
  if (builtin !== undefined) return builtin;
  const file = await readTraceFile(word, counter()).catch((fault: unknown) => {
    throw missing(fault, word);
  });
  const scenario = file.scenario ?? tracedScenario([file], nameFrom(word))?.scenario;
  if (scenario === undefined) throw new Error(`${word}: holds no rollout`);
  return scenario;
}

async function show(word: string, { rollout: number, seed }: ShowWords): Promise<void> {
  const scenario = await scenarioNamed(word);
  // Given rollouts are numbered as they stand in the file.
  const rollout =
    scenario.rollouts === undefined ? rolloutOf(scenario, seed, number) : scenario.rollouts[number];
  if (rollout === undefined)
    throw new Error(
      `${word}: --rollout: expected 0 to ${(scenario.rollouts?.length ?? 1) - 1}, got ${number}`,
    );
  process.stdout.write(`${scenarioText(scenario, number, rollout)}\n`);
}
