/**
 * Whether two JSON values would be written the same, the order of fields included: what a model reads of them is the same
 * then. Nothing is written for it, so that a long text costs one comparison.
 */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [fields, others] = [Object.entries(one), Object.entries(other)];
  return (
    fields.length === others.length &&
    fields.every(([name, value], at) => name === others[at]?.[0] && isSameJson(value, others[at][1]))
  );
}
