/** From a failed schema to one sentence: which field, what was expected. */
import type { z } from 'zod';

import { ProtocolError, type ErrorCode } from './errors.js';

/** An object that is no array: what fields can be read of. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A path as clients write it: `input[0].call_id`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, key) =>
      typeof key === 'number' ? `${text}[${key}]` : text === '' ? String(key) : `${text}.${String(key)}`,
    '',
  );
}

function isMissing(raw: unknown, path: readonly PropertyKey[]): boolean {
  let value = raw;
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return false;
    value = new Map<PropertyKey, unknown>(Object.entries(value)).get(
      typeof key === 'number' ? String(key) : key,
    );
  }
  return path.length > 0 && value === undefined;
}

function codeFor(issue: z.core.$ZodIssue, raw: unknown): ErrorCode {
  if (issue.code === 'unrecognized_keys') return 'unknown_parameter';
  if (issue.path[0] === 'tools' && issue.path.includes('parameters')) return 'invalid_function_parameters';
  return isMissing(raw, issue.path) ? 'missing_required_parameter' : 'invalid_value';
}

/** The error for the first issue; `prefix` is where `raw` stands in the client's event. */
export function protocolErrorFor(
  error: z.ZodError,
  raw: unknown,
  prefix: readonly PropertyKey[] = [],
): ProtocolError {
  const issue = error.issues[0];
  if (issue === undefined) return new ProtocolError('invalid_value', 'The request is invalid.');
  const code = codeFor(issue, raw);
  const extra = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const param = pathText([...prefix, ...issue.path, ...extra]);
  const message =
    code === 'missing_required_parameter'
      ? `Missing required parameter: ${param}.`
      : code === 'unknown_parameter'
        ? `Unknown parameter: ${param}.`
        : `Invalid value for ${param === '' ? 'the request' : param}: ${issue.message}.`;
  return new ProtocolError(code, message, param === '' ? {} : { param });
}

/** @throws ProtocolError for the first field that is wrong. */
export function parse<T>(schema: z.ZodType<T>, raw: unknown, prefix: readonly PropertyKey[] = []): T {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  throw protocolErrorFor(parsed.error, raw, prefix);
}
