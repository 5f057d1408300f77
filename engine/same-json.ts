/**
 * Whether two JSON values would be written the same, the order of fields included: what a model reads of them is the same
 * then. Nothing is written for it, so that a long text costs one comparison.
 */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [names, otherNames] = [Object.keys(one), Object.keys(other)];
  if (names.length !== otherNames.length || names.some((name, at) => name !== otherNames[at])) return false;
  const others: unknown[] = Object.values(other);
  return Object.values(one).every((value: unknown, at) => isSameJson(value, others[at]));
}
