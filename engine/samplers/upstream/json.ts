/**
 * Reading of JSON that another server wrote: a field that is missing or of another type reads as nothing, because
 * servers of this family differ in what they leave out. Schemas would be slower, and this runs once per token.
 */
import { isRecord } from '../../protocol/parse.js';

export type JsonObject = Readonly<Record<string, unknown>>;

/** The value, or undefined where the text is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

export function objectAt(from: JsonObject | null, name: string): JsonObject | null {
  const value = from?.[name];
  return isRecord(value) ? value : null;
}

/** Empty where there is none. */
export function textAt(from: JsonObject | null, name: string): string {
  const value = from?.[name];
  return typeof value === 'string' ? value : '';
}

/** A whole number from 0, or null. */
export function countAt(from: JsonObject | null, name: string): number | null {
  const value = from?.[name];
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : null;
}

export function listAt(from: JsonObject | null, name: string): readonly unknown[] {
  const value = from?.[name];
  return Array.isArray(value) ? value : [];
}

/** An object of the fields that have a value: what is null or undefined is left out. */
export function present(fields: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  );
}
