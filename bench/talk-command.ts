/** `long-response talk`: a socket for the keyboard. */
import { createInterface } from 'node:readline';

import { Command } from 'commander';

import { Client } from '../transport/index.js';
import { serverUrl } from './options.js';

interface TalkWords {
  readonly design: string;
  readonly key?: string;
}

export function talkCommand(): Command {
  return new Command('talk')
    .description(
      'Send client events (one JSON object a line on stdin), print server events (one a line on stdout).',
    )
    .argument('<url>', 'of the server, such as http://127.0.0.1:8080', serverUrl)
    .option('--design <name>', 'append, chain, replay or replay-cached', 'append')
    .option('--key <key>', 'bearer key (also LONG_RESPONSE_KEY)')
    .addHelpText('after', '\nA line that is no JSON object is sent as the text of a response.create.')
    .action(run);
}

function eventFor(line: string): object {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // No JSON: it is text for the model.
  }
  return { type: 'response.create', model: 'demo', input: line };
}

async function run(url: string, words: TalkWords): Promise<void> {
  const key = words.key ?? process.env['LONG_RESPONSE_KEY'];
  const client = await Client.connect({ url, design: words.design, ...(key === undefined ? {} : { key }) });
  let owed = 0;
  const idle = { reached: (): void => undefined };
  client.onEvent = (event) => {
    process.stdout.write(`${JSON.stringify(event)}\n`);
    if (
      [
        'response.completed',
        'response.failed',
        'response.incomplete',
        'response.done',
        'response.append.failed',
        'response.attached',
        'error',
      ].includes(event.type)
    )
      owed--;
    if (owed <= 0) idle.reached();
  };
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === '') continue;
    owed++;
    client.send(eventFor(line));
  }
  // The input has ended: what was asked is still answered.
  if (owed > 0 && client.open)
    await Promise.race([client.closed, new Promise<void>((resolve) => (idle.reached = resolve))]);
  await client[Symbol.asyncDispose]();
}
