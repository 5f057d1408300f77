/** Sections of virtual time that are done, kept while a run is under way so that it can go on from there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parseTask } from '../schema/result.js';
import { fileNames } from './result-files.js';

export function taskLine(task: string, rows: readonly object[]): string {
  return `${JSON.stringify({ task, rows })}\n`;
}

/** By task. A line that was cut off is none. */
export function readTasks(dir: string): Map<string, readonly object[]> {
  const file = join(dir, fileNames.tasks);
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
  return new Map(
    lines.flatMap((line) => {
      const done = parseTask(line);
      return done === null ? [] : [[done.task, done.rows] as const];
    }),
  );
}
