/** Reads traces that a test wrote down. */
import assert from 'node:assert/strict';

import { VirtualClock } from '../../../engine/clock.js';
import { o200kTokenizer } from '../../../engine/tokenizer.js';
import { readTrace } from '../files.js';
import type { Session } from '../session.js';

const tokenizer = o200kTokenizer(new VirtualClock());
const { signal } = new AbortController();

export const tokensOf = async (text: string): Promise<number> =>
  (await tokenizer.encode(text, signal)).length;

export const lines = (...records: readonly unknown[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');

/** The sessions of a trace, which has to be of the format. */
export async function sessionsIn(format: string, text: string, path = 'trace'): Promise<readonly Session[]> {
  const file = await readTrace(path, text, tokensOf);
  assert.equal(file.format, format);
  assert.ok(file.scenario === undefined);
  return file.sessions;
}

/** What is wrong with it. */
export async function complaint(text: string, path = 'trace'): Promise<string> {
  try {
    await readTrace(path, text, tokensOf);
  } catch (fault) {
    assert.ok(fault instanceof Error && fault.name === 'TraceError', String(fault));
    return fault.message;
  }
  return assert.fail('nothing was wrong');
}
