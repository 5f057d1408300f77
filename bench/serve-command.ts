/** `long-response serve`. */
import { Command, Option } from 'commander';
import { pino } from 'pino';

import { demoScript, scriptedSampler, systemClock, type Sampler } from '../engine/index.js';
import { builtinScenarios, loadScenario, scenarioModel } from '../scenarios/index.js';
import { readKeys, serve, type ListenKind } from '../transport/index.js';
import { collected, positiveNumber, wholeNumber } from './options.js';

interface ServeWords {
  readonly host: string;
  readonly port: number;
  readonly keysFile?: string;
  readonly transport: ListenKind;
  readonly defaultDesign: string;
  readonly demo?: boolean;
  readonly scenarios?: boolean;
  readonly scenarioFile: string[];
  readonly tps: number;
  readonly prefillTps: number;
  readonly session: 'per-turn' | 'per-conversation';
  readonly logLevel: string;
}

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
    .option('--default-design <name>', 'for sockets that choose none with ?design=', 'chain')
    .option(
      '--demo',
      'a scripted model that answers text, and calls a tool when tools are offered (the default)',
    )
    .option('--scenarios', 'a scripted model that plays benchmark scenarios')
    .option('--scenario-file <path>', 'one more scenario for --scenarios; may be repeated', collected, [])
    .option('--tps <n>', 'speed of the scripted model, tokens/s out', positiveNumber, 200)
    .option('--prefill-tps <n>', 'speed of the scripted model, tokens/s in', positiveNumber, Infinity)
    .addOption(
      new Option('--session <policy>', "who keeps the model's state between turns")
        .choices(['per-turn', 'per-conversation'])
        .default('per-conversation'),
    )
    .addOption(
      new Option('--log-level <level>', 'of the log on stderr')
        .choices(['debug', 'info', 'warn', 'error', 'silent'])
        .default('info'),
    )
    .action(run);
}

async function samplerFor(words: ServeWords): Promise<Sampler> {
  const pace = {
    clock: systemClock,
    decodeTokensPerSecond: words.tps,
    prefillTokensPerSecond: words.prefillTps,
    session: { policy: words.session },
  };
  if (words.scenarios !== true) return scriptedSampler({ ...pace, script: demoScript });
  const files = await Promise.all(words.scenarioFile.map((file) => loadScenario(file)));
  const known = new Map([
    ...builtinScenarios,
    ...files.map((scenario) => [scenario.name, scenario] as const),
  ]);
  return scenarioModel({ ...pace, scenarios: known });
}

async function run(words: ServeWords): Promise<void> {
  const serving = await serve({
    engine: { sampler: await samplerFor(words) },
    host: words.host,
    port: words.port,
    keys: readKeys(words.keysFile, process.env['LONG_RESPONSE_KEYS']),
    transport: words.transport,
    defaultDesign: words.defaultDesign,
    log: pino({ base: null, level: words.logLevel }, pino.destination({ fd: 2, sync: true })),
  });
  const stop = (): void => {
    // What is left of the process by then has nothing more to do; an exit code of 0 says that it ended as it should.
    serving.stop().then(
      () => process.exit(0),
      (fault: unknown) => {
        process.stderr.write(`long-response: ${String(fault)}\n`);
        process.exit(1);
      },
    );
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  process.stdout.write(`listening ${serving.url}\n`);
}
