#!/usr/bin/env node
/** The command line. Each command is a thin shell around a function that an embedder can call. */
import { readFileSync } from 'node:fs';

import { Command } from 'commander';

import { compareCommand } from './compare-command.js';
import { scenariosCommand } from './scenarios-command.js';
import { serveCommand } from './serve-command.js';
import { talkCommand } from './talk-command.js';
import { whatifCommand } from './whatif-command.js';

const packageFile = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
const version = /"version": "([^"]+)"/.exec(packageFile)?.[1] ?? 'unknown';

const program = new Command('long-response')
  .description(
    'An agent rollout as one long-lived Response: serve it, talk to it, compare it with the other designs.',
  )
  .version(version)
  .showHelpAfterError('(--help shows what there is)')
  .addCommand(serveCommand())
  .addCommand(compareCommand())
  .addCommand(talkCommand())
  .addCommand(scenariosCommand())
  .addCommand(whatifCommand());

try {
  await program.parseAsync();
} catch (fault) {
  process.stderr.write(`long-response: ${fault instanceof Error ? fault.message : String(fault)}\n`);
  process.exitCode = 1;
}
