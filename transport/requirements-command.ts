/** `npm run requirements`: what this wire has to do, and which tests prove it. Ends with 1 where a proof is missing. */
import { fileURLToPath } from 'node:url';

import { citations, type Citation } from './citations.js';
import { cases } from './requirement-cases.js';
import { requirements } from './requirements.js';

const found = citations(fileURLToPath(new URL('..', import.meta.url)));
const lines: string[] = [];
const missing: string[] = [];

function list(id: string, head: string, isNeeded: boolean): void {
  const by: readonly Citation[] = found.get(id) ?? [];
  lines.push(`${id.padEnd(5)}${head}`);
  for (const { test, file } of by) lines.push(`       ${file}: ${test}`);
  if (by.length > 0) return;
  lines.push('       no test');
  if (isNeeded) missing.push(id);
}

for (const { id, level, on, says } of requirements)
  list(id, `${level} ${says} [${on.join(', ')}]`, level === 'M');
for (const { id, kind, says } of cases) list(id, `${kind}: ${says}`, true);

const count = requirements.length + cases.length;
lines.push(
  '',
  missing.length === 0
    ? `Of ${count} none that needs a test is without one.`
    : `Without a test: ${missing.join(', ')}.`,
);
process.stdout.write(`${lines.join('\n')}\n`);
if (missing.length > 0) process.exitCode = 1;
