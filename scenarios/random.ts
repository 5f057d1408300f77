/** Seeded randomness: every number a scenario draws comes from a generator that is named by what it is for. */
import { createHash } from 'node:crypto';

import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';

export type { RandomGenerator };

/** A constant, or an inverse distribution function: the value at each percentile, both ascending. */
export type Draw = number | { readonly p: readonly number[]; readonly v: readonly number[] };

/** The same labels give the same sequence on every machine; any other label gives an unrelated one. */
export function generatorFor(...labels: readonly (string | number)[]): RandomGenerator {
  const digest = createHash('sha256').update(JSON.stringify(labels)).digest();
  return xoroshiro128plus(digest.readInt32LE(0));
}

/** A constant as it is; a table by inverse CDF, straight lines between its percentiles. */
export function draw(from: Draw, random: RandomGenerator): number {
  return typeof from === 'number' ? from : valueAt(from, 100 * uniformFloat64(random));
}

/** The value of a table at a percentile from 0 to 100. */
export function valueAt(from: Exclude<Draw, number>, percentile: number): number {
  const next = from.p.findIndex((p) => p >= percentile);
  const [p0, v0] = [from.p[next - 1], from.v[next - 1]];
  const [p1, v1] = [from.p[next], from.v[next]];
  if (p1 === undefined || v1 === undefined) return from.v.at(-1) ?? 0;
  if (p0 === undefined || v0 === undefined) return v1;
  return v0 + ((v1 - v0) * (percentile - p0)) / (p1 - p0);
}

/** The numbers from 0 to `count` - 1 in a drawn order (Fisher and Yates). */
export function drawOrder(count: number, random: RandomGenerator): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last--) {
    const other = uniformInt(random, 0, last);
    const [a, b] = [order[last] ?? 0, order[other] ?? 0];
    order[last] = b;
    order[other] = a;
  }
  return order;
}
