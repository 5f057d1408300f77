/** The command line as a user runs it, and a directory of traces for it to read. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

export const cli = fileURLToPath(new URL('../cli.js', import.meta.url));

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export function ran(...words: string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(process.execPath, [cli, ...words], (fault, stdout, stderr) => {
      resolve({ code: fault === null ? 0 : Number(fault.code), stdout, stderr });
    });
  });
}

/** A conversation of two turns, whose tool has no time. */
export const bellMessages = [
  { role: 'user', content: 'Ring it.' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'ring', arguments: '{"times":2}' } }],
  },
  { role: 'tool', tool_call_id: 'a', content: 'Ding, ding.' },
  { role: 'assistant', content: 'It rang.' },
];

/** A directory with one conversation, `bell.json`, and whatever else is given. It is gone with the test. */
export function traceFolder(
  t: TestContext,
  messages: readonly object[],
  others: Readonly<Record<string, string>>,
): string {
  const path = mkdtempSync(join(tmpdir(), 'long-response-'));
  t.after(() => rmSync(path, { recursive: true }));
  for (const [name, text] of Object.entries({ 'bell.json': JSON.stringify(messages), ...others }))
    writeFileSync(join(path, name), text);
  return path;
}
