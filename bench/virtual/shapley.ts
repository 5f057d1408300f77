/**
 * Shapley shares: what each of some switches gives of the gain of all of them, averaged over every order in which they can
 * be set. The orders in which a switch is set after just the set `before` are counted and not gone through:
 * |before|! · (n − |before| − 1)! of n!.
 */

/** Sets of switches, as bits of a number. */
export type Mask = number;

export const hasBit = (mask: Mask, at: number): boolean => ((mask >> at) & 1) === 1;

function factorial(n: number): number {
  return n <= 1 ? 1 : n * factorial(n - 1);
}

function size(mask: Mask): number {
  return mask === 0 ? 0 : (mask & 1) + size(mask >> 1);
}

/** @param value of each of the 2^count sets. Gives what each switch adds to it; their sum is that of all less that of none. */
export function shapley(count: number, value: (mask: Mask) => number): number[] {
  const weights = Array.from(
    { length: count },
    (_, before) => (factorial(before) * factorial(count - before - 1)) / factorial(count),
  );
  return Array.from({ length: count }, (_, at) => {
    let share = 0;
    for (let before = 0; before < 2 ** count; before++)
      if (!hasBit(before, at)) {
        const added = value(before | (1 << at)) - value(before);
        share += (weights[size(before)] ?? 0) * added;
      }
    return share;
  });
}
