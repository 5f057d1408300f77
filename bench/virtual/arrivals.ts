/**
 * When rollouts arrive at a server that does not make them wait for one another: an open loop. The same pattern, seed and
 * count give the same gaps at every rate and to every design, only closer together, so that what differs between two runs
 * is the load or the design and not the luck of the draw.
 */
import { draw, drawOrder, generatorFor, valueAt, type Draw } from '../../scenarios/random.js';

export const arrivalPatterns = ['poisson', 'recorded'] as const;
export type ArrivalPattern = (typeof arrivalPatterns)[number];

/**
 * Milliseconds between two requests to a production service for code completion, by percentile: 8,818 gaps of
 * `AzureLLMInferenceTrace_code.csv`, github.com/Azure/AzurePublicDataset at b469a113 (CC BY 4.0). Straight lines between
 * the percentiles keep their spread: a coefficient of variation of 12.5, in the trace 13.2. The gaps may be drawn in any
 * order: in the trace one says nothing about the next (correlation −0.003), and arrivals in a minute vary as gaps that know
 * nothing of each other make them vary (variance over mean 164; squared variation of the gaps 173). They are gaps between
 * requests: nobody has published when whole rollouts arrive.
 */
export const recordedGapsMs: Exclude<Draw, number> = {
  p: [0, 10, 25, 50, 75, 90, 95, 97.5, 99, 99.4, 99.6, 99.8, 99.9, 99.95, 99.98, 100],
  v: [
    0.01, 0.21, 2.08, 63.8, 104, 272.86, 400.78, 674.05, 2205.07, 6795.88, 17253.9, 41406.03, 79232.5,
    132474.42, 169618.52, 217168.95,
  ],
};

/** From 0 up to, not including, 1. */
const unit: Draw = { p: [0, 100], v: [0, 1] };

function gapsOf(pattern: ArrivalPattern, count: number, seed: number): number[] {
  const random = generatorFor('arrivals', pattern, seed);
  if (pattern === 'poisson') return Array.from({ length: count }, () => -Math.log(1 - draw(unit, random)));
  // Each of `count` equal shares of the recorded gaps once: a few hundred draws would often miss the rare long ones, on
  // which the mean hangs.
  return Array.from(drawOrder(count, random), (place) =>
    valueAt(recordedGapsMs, (100 * (place + 0.5)) / count),
  );
}

/**
 * Milliseconds at which `count` rollouts arrive, ascending; the last at exactly `count / ratePerSecond` seconds, so that
 * the rate offered is the rate asked for.
 * @throws RangeError where the rate is not above 0 or the count is no whole number.
 */
export function arrivalTimes(
  pattern: ArrivalPattern,
  {
    count,
    ratePerSecond,
    seed,
  }: { readonly count: number; readonly ratePerSecond: number; readonly seed: number },
): number[] {
  if (!(ratePerSecond > 0 && Number.isFinite(ratePerSecond)))
    throw new RangeError(`${ratePerSecond} arrivals a second: expected a number above 0`);
  if (!Number.isSafeInteger(count) || count < 0)
    throw new RangeError(`${count} arrivals: expected a whole number from 0`);
  const gaps = gapsOf(pattern, count, seed);
  const scale = (count * 1000) / ratePerSecond / gaps.reduce((sum, gap) => sum + gap, 0);
  let at = 0;
  return gaps.map((gap) => (at += gap * scale));
}
