/** Trace files: told apart by what they hold, and read one by one. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { parseScenario, ScenarioError, type Scenario } from '../scenario.js';
import { codex } from './codex.js';
import { TraceDocument, TraceError } from './document.js';
import { kvCache } from './kv-cache.js';
import { chatMessages } from './messages.js';
import { recording } from './recording.js';
import { recount } from './recount.js';
import { isRecord, type CountTokens, type Session, type TraceFormat } from './session.js';
import { sweAgent } from './swe-agent.js';
import { traceLab } from './tracelab.js';

/** The formats that can be imported. A file belongs to the first that it looks like. */
export const traceFormats: readonly TraceFormat[] = [
  codex,
  recording,
  traceLab,
  kvCache,
  sweAgent,
  chatMessages,
];

/** A file that could be read: a scenario as it is, or the sessions of a trace. */
export type ReadFile = { readonly path: string } & (
  | { readonly format: 'scenario'; readonly scenario: Scenario }
  | { readonly format: string; readonly sessions: readonly Session[]; readonly scenario?: undefined }
);

/**
 * Every file at or under a path, in order of their names. Links are not followed.
 *
 * @throws TraceError where there is nothing.
 */
export async function filesAt(path: string): Promise<string[]> {
  const found = await stat(path).catch((fault: unknown) => {
    throw new TraceError(`${path}: can't be read: ${reason(fault)}`);
  });
  if (!found.isDirectory()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries.flatMap((entry) => (entry.isFile() ? join(entry.parentPath, entry.name) : []));
  if (files.length === 0)
    throw new TraceError(`${path}: expected traces or scenarios, got an empty directory`);
  return files.sort();
}

function reason(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}

async function scenarioIn(value: unknown, path: string, count: CountTokens): Promise<Scenario> {
  const scenario = parseScenario(value, path);
  await recount(scenario, path, count);
  return scenario;
}

/**
 * A scenario or a trace, from its text. `path` opens the sentence of a fault, and may name a session that has no name.
 *
 * @throws TraceError or ScenarioError: a sentence that names the file, the place in it, and what was expected.
 */
export async function readTrace(path: string, text: string, count: CountTokens): Promise<ReadFile> {
  const document = new TraceDocument(path, text);
  const { value } = document;
  if (isRecord(value) && 'question' in value && ('rollouts' in value || 'drawn' in value))
    return { path, format: 'scenario', scenario: await scenarioIn(value, path, count) };
  const format = traceFormats.find(({ looksLike }) => looksLike(document));
  if (format === undefined) {
    const names = traceFormats.map(({ name }) => name).join(', ');
    throw document.fault(1, [], `expected a scenario or a trace (${names}), got JSON of another kind`);
  }
  return { path, format: format.name, sessions: await format.read(document, count) };
}

/** `readTrace` of a file; a TraceError too where it can't be read. */
export async function readTraceFile(path: string, count: CountTokens): Promise<ReadFile> {
  const text = await readFile(path, 'utf8').catch((fault: unknown) => {
    throw new TraceError(`${path}: can't be read: ${reason(fault)}`);
  });
  return readTrace(path, text, count);
}

/** Whether an error is such a sentence. */
export function isTraceFault(fault: unknown): fault is Error {
  return fault instanceof TraceError || fault instanceof ScenarioError;
}
