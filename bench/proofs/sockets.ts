/**
 * Suspended rollouts with a socket each, as many as the machine allows: what the server process weighs for each.
 * Real: server and client processes, TCP over loopback, engine, tokeniser. Simulated: an instant model.
 */
import { execFileSync } from 'node:child_process';

import { generatorFor, wordText } from '../../scenarios/index.js';
import { Client } from '../../transport/index.js';
import { readCounters } from '../schema/counters.js';
import { startServer } from '../server-process.js';

export interface SocketsOptions {
  /** Sockets wanted; fewer are opened where the machine allows fewer. Default 20,000. */
  readonly sockets?: number;
  /** Default 1,000. */
  readonly contextTokens?: number;
  readonly onProgress?: (line: string) => void;
}

export interface SocketsResult {
  readonly wanted: number;
  readonly sockets: number;
  /** What bounded the number, where it is below the one wanted. */
  readonly bound: string | null;
  readonly context_tokens: number;
  /** Resident bytes of the server process per suspended rollout and its socket, transcript and log included. */
  readonly resident: number;
  readonly settled: number;
}

/** Descriptors this process may have open; some are needed for other things. */
function descriptorsMax(): number {
  const text = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim();
  return text === 'unlimited' ? Infinity : Number(text) - 100;
}

const atOnce = 100;

async function inGroups<T>(items: readonly T[], each: (item: T) => Promise<void>): Promise<void> {
  for (let start = 0; start < items.length; start += atOnce)
    await Promise.all(items.slice(start, start + atOnce).map(each));
}

interface Held {
  readonly client: Client;
  readonly answer: () => Promise<string>;
}

/** Opens a socket and a rollout on it, and leaves it suspended. */
async function suspend(url: string, index: number, contextTokens: number): Promise<Held> {
  const client = await Client.connect({ url, design: 'append' });
  const input = wordText(contextTokens, generatorFor('sockets', index)).text;
  return new Promise((resolve, reject) => {
    let finish: (output: string) => void = () => undefined;
    const report = client.run({
      request: { model: 'demo', input, tools: [{ type: 'function', name: 'wait' }] },
      toolStart: 'hand_off',
      tool: () =>
        new Promise((answer) => {
          finish = answer;
          resolve({
            client,
            answer: async () => {
              finish('ok');
              return (await report).status;
            },
          });
        }),
    });
    report.catch(reject);
  });
}

export async function run(options: SocketsOptions = {}): Promise<SocketsResult> {
  const { sockets: wanted = 20_000, contextTokens = 1_000, onProgress } = options;
  const most = descriptorsMax();
  const count = Math.min(wanted, most);
  await using server = await startServer({
    decodeTokensPerSecond: Infinity,
    prefillTokensPerSecond: Infinity,
    demo: true,
  });
  const { url } = server.address;
  const held: Held[] = [];
  const open = async (index: number): Promise<void> => {
    held.push(await suspend(url, index, contextTokens));
    if (held.length % 5_000 === 0) onProgress?.(`${held.length} of ${count} sockets`);
  };
  await inGroups(
    Array.from({ length: Math.min(200, count) }, (_, index) => index),
    open,
  );
  const before = (await readCounters(url, undefined)).rss_bytes;
  const warm = held.length;
  await inGroups(
    Array.from({ length: count - warm }, (_, index) => warm + index),
    open,
  );
  const after = (await readCounters(url, undefined)).rss_bytes;
  let settled = 0;
  await inGroups(held, async ({ client, answer }) => {
    if ((await answer()) === 'completed') settled++;
    await client[Symbol.asyncDispose]();
  });
  return {
    wanted,
    sockets: count,
    bound: count < wanted ? `${most} open files per process` : null,
    context_tokens: contextTokens,
    resident: (after - before) / Math.max(1, count - warm),
    settled,
  };
}

export function print(result: SocketsResult): string {
  const bound =
    result.bound === null ? '' : `, fewer than the ${result.wanted} wanted, because of ${result.bound}`;
  return [
    `${result.sockets} suspended rollouts of ${result.context_tokens} tokens with a socket each${bound}:`,
    `  server resident ${(result.resident / 1024).toFixed(2)} KiB each, transcript, log and socket included (no collection forced)`,
    `  then all answered: ${result.settled} completed`,
  ].join('\n');
}
