/** `long-response serve`. */
import { watchFile } from 'node:fs';

import { Command, Option } from 'commander';
import { pino } from 'pino';

import { demoScript, scriptedSampler, systemClock, upstreamSampler, type Sampler } from '../engine/index.js';
import {
  builtinScenarios,
  loadScenario,
  otherModelName,
  scenarioModel,
  scenarioModelName,
} from '../scenarios/index.js';
import {
  DesignRegistry,
  openRecording,
  readKeys,
  serve,
  type ListenKind,
  type Recording,
  type Serving,
} from '../transport/index.js';
import { collected, keyFrom, positiveNumber, wholeNumber } from './options.js';
import { ownProcess } from './service/backend.js';
import { boundDesigns } from './service/obligations.js';
import { isBare, profileNamed, type Profile } from './service/profile.js';
import { Service } from './service/stage.js';

interface ServeWords {
  readonly host: string;
  readonly port: number;
  readonly keysFile?: string;
  readonly transport: ListenKind;
  readonly defaultDesign: string;
  readonly sockets: boolean;
  readonly demo?: boolean;
  readonly scenarios?: boolean;
  readonly scenarioFile: string[];
  readonly upstream?: string;
  readonly upstreamApi?: 'chat' | 'responses';
  readonly upstreamModel?: string;
  readonly upstreamKeyEnv?: string;
  readonly tps: number;
  readonly prefillTps: number;
  readonly session: 'per-turn' | 'per-conversation';
  readonly profile: string;
  readonly record?: string;
  readonly recordText?: boolean;
  readonly logLevel: string;
}

const keyName = 'OPENAI_API_KEY';

export function serveCommand(): Command {
  return new Command('serve')
    .description(
      'Serve an engine. Prints "listening URL" on stdout when it is ready; logs go to stderr as JSON lines.',
    )
    .option('--host <host>', 'address to listen on; without keys only loopback', '127.0.0.1')
    .option('--port <port>', '0 takes a free port', wholeNumber(0, 65_535), 8080)
    .option('--keys-file <path>', 'bearer keys, one a line (also LONG_RESPONSE_KEYS, comma-separated)')
    .addOption(
      new Option('--transport <kind>', 'uWebSockets.js, node:http + ws, or whichever runs here')
        .choices(['auto', 'uws', 'node'])
        .default('auto'),
    )
    .option('--default-design <name>', 'for sockets and requests that choose none with ?design=', 'shim')
    .option('--no-sockets', 'HTTP alone: upgrades are refused with 426')
    .option(
      '--demo',
      'a scripted model that answers text, and calls a tool when tools are offered (the default)',
    )
    .option('--scenarios', 'a scripted model that plays benchmark scenarios')
    .option('--scenario-file <path>', 'one more scenario for --scenarios; may be repeated', collected, [])
    .addOption(
      new Option('--upstream <url>', 'a real model behind an OpenAI-compatible server').conflicts([
        'demo',
        'scenarios',
      ]),
    )
    .addOption(
      new Option('--upstream-api <api>', 'default: read from the end of the URL, else chat').choices([
        'chat',
        'responses',
      ]),
    )
    .option('--upstream-model <name>', "the upstream's name of the model (default: the client's)")
    .option(
      '--upstream-key-env <name>',
      `environment variable that holds the upstream's key (default: ${keyName}, for api.openai.com alone)`,
    )
    .option('--tps <n>', 'speed of the scripted model, tokens/s out', positiveNumber, 200)
    .option('--prefill-tps <n>', 'speed of the scripted model, tokens/s in', positiveNumber, Infinity)
    .addOption(
      new Option('--session <policy>', "who keeps the model's state between turns")
        .choices(['per-turn', 'per-conversation'])
        .default('per-conversation'),
    )
    .option(
      '--profile <name>',
      'what the work around the model costs: bare, hosted, extrapolated-low, extrapolated-high, or a file of costs',
      'bare',
    )
    .option(
      '--record <path>',
      'append what rollouts are like, turn by turn, to a file or to a new one in a directory: sizes and times, for ' +
        '"scenarios import"',
    )
    .option('--record-text', 'with --record: keep what is said, too')
    .addOption(
      new Option('--log-level <level>', 'of the log on stderr')
        .choices(['debug', 'info', 'warn', 'error', 'silent'])
        .default('info'),
    )
    .action(run);
}

function isOpenAi(url: string): boolean {
  return URL.canParse(url) && new URL(url).hostname === 'api.openai.com';
}

function upstreamFor(url: string, words: ServeWords): Sampler & AsyncDisposable {
  const { upstreamApi, upstreamModel, upstreamKeyEnv } = words;
  return upstreamSampler({
    url,
    api: upstreamApi,
    model: upstreamModel,
    // A key goes to nobody but those it was made for, unless its owner says so.
    key:
      isOpenAi(url) || upstreamKeyEnv !== undefined
        ? keyFrom(process.env, upstreamKeyEnv ?? keyName, upstreamKeyEnv !== undefined)
        : undefined,
    clock: systemClock,
  });
}

async function samplerFor(
  words: ServeWords,
  { admission }: Profile,
): Promise<Sampler & Partial<AsyncDisposable>> {
  if (words.upstream !== undefined) return upstreamFor(words.upstream, words);
  if ((words.upstreamApi ?? words.upstreamModel ?? words.upstreamKeyEnv) !== undefined)
    throw new Error('--upstream-api, --upstream-model and --upstream-key-env go with --upstream.');
  const pace = {
    clock: systemClock,
    decodeTokensPerSecond: words.tps,
    prefillTokensPerSecond: words.prefillTps,
    session: { policy: words.session },
    admission: { admitMs: admission.admit_ms, resumeMs: admission.resume_ms, held: 'per-response' as const },
  };
  if (words.scenarios !== true) return scriptedSampler({ ...pace, script: demoScript });
  const files = await Promise.all(words.scenarioFile.map((file) => loadScenario(file)));
  const known = new Map([
    ...builtinScenarios,
    ...files.map((scenario) => [scenario.name, scenario] as const),
  ]);
  return scenarioModel({ ...pace, scenarios: known });
}

/** A key that is taken out of the file is revoked within two seconds. What the file cannot mean changes nothing. */
function watchKeys(file: string, { server }: Serving): void {
  watchFile(file, { interval: 1000, persistent: false }, () => {
    try {
      server.replaceKeys(readKeys(file, process.env['LONG_RESPONSE_KEYS']));
    } catch (fault) {
      process.stderr.write(`long-response: the keys stay as they were: ${String(fault)}\n`);
    }
  });
}

function recordingFor({ record, recordText = false }: ServeWords): Recording | null {
  if (record === undefined && recordText) throw new Error('--record-text goes with --record.');
  if (record === undefined) return null;
  const complain = (sentence: string): void => void process.stderr.write(`long-response: ${sentence}\n`);
  return openRecording(record, { text: recordText, complain });
}

/** The recording ends after the last rollout has, however the server's end went. */
async function stopAll(
  serving: Serving,
  recording: Recording | null,
  sampler: Partial<AsyncDisposable>,
): Promise<void> {
  try {
    await serving.stop();
  } finally {
    await recording?.[Symbol.asyncDispose]();
  }
  await sampler[Symbol.asyncDispose]?.();
}

async function run(words: ServeWords): Promise<void> {
  const profile = await profileNamed(words.profile);
  const sampler = await samplerFor(words, profile);
  const recording = recordingFor(words);
  const service = new Service({ profile, clock: systemClock, backend: ownProcess, seed: 1 });
  const serving = await serve({
    engine: { sampler, stages: service.stages },
    // Where nothing is simulated, a rollout is bound to nothing that its stages do not say of themselves.
    ...(isBare(profile) ? {} : { designs: new DesignRegistry(boundDesigns()) }),
    host: words.host,
    port: words.port,
    keys: readKeys(words.keysFile, process.env['LONG_RESPONSE_KEYS']),
    transport: words.transport,
    defaultDesign: words.defaultDesign,
    sockets: words.sockets,
    models:
      words.upstreamModel === undefined && words.scenarios === true
        ? [scenarioModelName, otherModelName]
        : [words.upstreamModel ?? 'demo'],
    record: recording === null ? undefined : { lines: recording, text: words.recordText ?? false },
    log: pino({ base: null, level: words.logLevel }, pino.destination({ fd: 2, sync: true })),
  });
  const stop = (): void => {
    // What is left of the process by then has nothing more to do; an exit code of 0 says that it ended as it should.
    const stopped = stopAll(serving, recording, sampler);
    stopped.then(
      () => process.exit(0),
      (fault: unknown) => {
        process.stderr.write(`long-response: ${String(fault)}\n`);
        process.exit(1);
      },
    );
  };
  if (words.keysFile !== undefined) watchKeys(words.keysFile, serving);
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  process.stdout.write(`listening ${serving.url}\n`);
}
