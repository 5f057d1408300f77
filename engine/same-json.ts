import { isRecord } from './protocol/parse.js';

/**
 * Whether two JSON values would be written the same, the order of fields included: what a model reads of them is the same
 * then. Nothing is written for it, so that a long text costs one comparison.
 */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((value: unknown, at) => isSameJson(value, other[at]));
  if (!isRecord(one) || !isRecord(other)) return false;
  const [names, otherNames] = [Object.keys(one), Object.keys(other)];
  return (
    names.length === otherNames.length &&
    names.every((name, at) => name === otherNames[at] && isSameJson(one[name], other[name]))
  );
}
