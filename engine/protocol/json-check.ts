/**
 * Whether a value is what a JSON Schema allows, by zod's `fromJSONSchema`. Kept right where that converter is not:
 *
 *   V1  A check has an end. A client's schema may hold a regular expression that never ends, or unions within unions
 *       whose branches multiply at every level of a value; the check is cut off after `checkMsMax`.
 *   V2  Keywords that the converter cannot check are refused when the check is made, not passed over: `not`,
 *       `if`/`then`/`else`, `dependentRequired`, `dependentSchemas`, `unevaluated…`, a `$ref` out of the schema.
 *   V3  Not checked: `enum` and `const` where they hold an object or array, formats other than those below, and what
 *       stands beside a `$ref`, `enum` or `const`.
 *   V4  A keyword without a `type` binds values of its own type alone, as the specification says. A `default` never
 *       stands in for what a value lacks.
 */
import { createContext, isContext, Script } from 'node:vm';
import { isNativeError } from 'node:util/types';
import { z } from 'zod';

import type { JsonSchema } from './tool-schema.js';
import { isRecord, pathText } from './parse.js';

const formats = new Set([
  'date-time',
  'date',
  'time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
]);
const anyType = ['object', 'array', 'string', 'number', 'boolean', 'null'];
/** Keywords that hold a schema or an array of schemas, and those that hold schemas by name. */
const holders = [
  'items',
  'prefixItems',
  'additionalItems',
  'additionalProperties',
  'contains',
  'propertyNames',
  'anyOf',
  'oneOf',
  'allOf',
];
const namedHolders = ['properties', 'patternProperties', '$defs', 'definitions'];
/** With one of these the type is said elsewhere. */
const typed = ['type', '$ref', 'enum', 'const', 'anyOf', 'oneOf', 'allOf'];

function isPlain(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

/** The schema as the converter takes it right (V3, V4). */
function prepared(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(prepared);
  if (!isRecord(schema)) return schema;
  const ready: Record<string, unknown> = { ...schema };
  delete ready['default'];
  delete ready['$schema']; // What the definitions are called says more about the version.
  for (const keyword of holders) if (keyword in ready) ready[keyword] = prepared(ready[keyword]);
  for (const keyword of namedHolders) {
    const named = ready[keyword];
    if (isRecord(named))
      ready[keyword] = Object.fromEntries(
        Object.entries(named).map(([name, inner]) => [name, prepared(inner)]),
      );
  }
  if (typeof ready['format'] === 'string' && !formats.has(ready['format'])) delete ready['format'];
  if (Array.isArray(ready['enum']) && !ready['enum'].every(isPlain)) delete ready['enum'];
  if (!isPlain(ready['const'])) delete ready['const'];
  if (!typed.some((keyword) => keyword in ready)) ready['type'] = anyType;
  return ready;
}

/** Half a second of work is a value of megabytes, and far more than a stall of the machine. */
export const checkMsMax = 500;

const script = new Script('run()');
let sandbox: { run: () => void } | null = null;

/** Runs it for so long at most: what never gives way can be cut off only from outside (V1). */
function within<T>(msMax: number, work: () => T): T | null {
  const done: T[] = [];
  sandbox ??= { run: () => undefined };
  if (!isContext(sandbox)) createContext(sandbox);
  sandbox.run = () => void done.push(work());
  script.runInContext(sandbox, { timeout: msMax });
  return done[0] ?? null;
}

/** Says what is wrong with a value, and where; null where nothing is. `msMax` is `checkMsMax` where it is not given. */
export type JsonCheck = (value: unknown, msMax?: number) => string | null;

/** The deepest issue: of a union, that of the branch which got furthest. */
function deepest(issue: z.core.$ZodIssue): {
  readonly path: readonly PropertyKey[];
  readonly message: string;
} {
  const branches = issue.code === 'invalid_union' ? issue.errors : [];
  const inner = branches.flatMap((issues) => issues.slice(0, 1)).map(deepest);
  const furthest = inner.toSorted((left, right) => right.path.length - left.path.length)[0];
  return furthest === undefined || furthest.path.length === 0
    ? issue
    : { path: [...issue.path, ...furthest.path], message: furthest.message };
}

function isTimeout(fault: unknown): boolean {
  // The fault is of the sandbox's own realm, where `Error` is another.
  return isNativeError(fault) && 'code' in fault && fault.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}

const checks = new WeakMap<object, JsonCheck>();

/**
 * The check for a schema, made once per schema object.
 * @throws Error that says what of the schema cannot be checked (V2).
 */
export function jsonCheckFor(schema: Exclude<JsonSchema, boolean>): JsonCheck {
  const made = checks.get(schema);
  if (made !== undefined) return made;
  const ready = prepared(schema);
  if (!isRecord(ready)) throw new Error('a schema has to be an object');
  // Its own registry: the global one would keep every client's schema, and confuse those with the same id.
  const allowed = z.fromJSONSchema(ready, {
    registry: z.registry(),
    defaultTarget: '$defs' in ready || !('definitions' in ready) ? 'draft-2020-12' : 'draft-7',
  });
  const faultIn = (value: unknown): string | null => {
    const issue = allowed.safeParse(value).error?.issues[0];
    if (issue === undefined) return null;
    const { path, message } = deepest(issue);
    return path.length === 0 ? message : `${pathText(path)}: ${message}`;
  };
  const check: JsonCheck = (value, msMax = checkMsMax) => {
    try {
      return within(msMax, () => faultIn(value));
    } catch (fault) {
      if (fault instanceof RangeError) return 'it is nested too deep to be checked';
      if (isTimeout(fault)) return `checking it took longer than ${msMax} ms`;
      throw fault;
    }
  };
  checks.set(schema, check);
  return check;
}
