/** What the model has Codex do, and what a run that did it looks like from outside. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';

import { requireCodex, type CodexRun } from './cli.js';
import type { CodexLab } from './serve-lab.js';

/** Changes the one file of the repository. */
export const edit = { commands: ['echo two >> notes.txt'] };
/** Reads it back, in two calls of one turn. */
export const readBack = { commands: ['cat notes.txt', 'git diff --stat'] };
const whatItReads = 'one\ntwo\n notes.txt | 1 +\n 1 file changed, 1 insertion(+)';

/** The last thing that Codex printed as the model's words. */
function lastMessage({ events }: CodexRun): unknown {
  return events.findLast(({ item }) => item?.['type'] === 'agent_message')?.item?.['text'];
}

/** Codex did the task and said so, with the model's last words. */
export function assertDone(lab: CodexLab, run: CodexRun, read = whatItReads): void {
  assert.equal(run.code, 0, JSON.stringify(run));
  assert.equal(run.events.at(-1)?.type, 'turn.completed');
  assert.equal(lastMessage(run), `The commands said: ${read}`);
  assert.equal(lab.read('notes.txt'), 'one\ntwo\n', 'the edit was made once');
}

/** Where the pinned CLI cannot run, says why in a sentence and ends the process with 1. */
export async function checkInstalled(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'codex-'));
  const fault = await requireCodex(home).catch((reason: unknown) => reason);
  rmSync(home, { recursive: true, force: true });
  if (fault === undefined) return;
  process.stderr.write(`${fault instanceof Error ? fault.message : inspect(fault)}\n`);
  process.exit(1);
}
