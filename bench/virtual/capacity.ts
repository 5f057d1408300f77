/**
 * How many rollouts a second a design carries: an open loop of whole rollouts over a finite server, in virtual time.
 *
 *   G1  goodput = offered rate × (rollouts that meet both bounds ÷ rollouts measured). A rollout meets them when the 95th
 *       percentile of its turns' times to first token is at most `ttftMsMax`, and its end-to-end time at most
 *       `e2eFactorMax` times what the same rollout takes in the shipped design on an idle server. The bounds are the same
 *       for all designs. A rollout that did not complete meets neither. (DistServe, OSDI 2024, counts requests that meet
 *       bounds of TTFT and TPOT; a rollout is what a user waits for.)
 *   G2  theoretical capacity = 1 ÷ max(CPU seconds a rollout ÷ workers, slot seconds a rollout ÷ slots), both as the
 *       rollouts use them on an idle server; a slot that is held while tools run is used. The rates offered are shares of
 *       the shipped design's, so that all designs meet the same arrivals.
 */
import type { CapacitySection } from '../lab/sections.js';
import { LatencyHistogram, latencyMsMax } from '../histogram.js';
import { percentile } from '../statistics.js';
import { plain } from '../table.js';
import { playAlone, type PlayedAlone } from './alone.js';
import { prototype, shipped, type VirtualArm } from './arm.js';
import { arrivalTimes, type ArrivalPattern } from './arrivals.js';
import type { VirtualCell } from './cell.js';
import { playOpenLoop, type Arrived } from './open-loop.js';
import { VirtualServer } from './server.js';

export interface CapacityLoad {
  readonly cell: VirtualCell;
  /** Processors of the service, and turns that the model samples at once. */
  readonly workers: number;
  readonly slots: number;
  readonly arrivals: ArrivalPattern;
  /**
   * Rollouts that count, and those that are discarded before the first of them and after the last. Discard at least as
   * many as arrive while one rollout runs, or those that count find a server that is not full yet.
   */
  readonly measured: number;
  readonly discarded: number;
  /** Virtual milliseconds that a run may go on after the last arrival. Default 600,000. */
  readonly drainMsMax?: number;
  readonly bound: GoodputBound;
}

/** G1. */
export interface GoodputBound {
  readonly ttftMsMax: number;
  readonly e2eFactorMax: number;
}

/** An append whose suspended loop gives its place on the machine to others while the client runs its tools. */
export const prototypePlaceGivenBack: VirtualArm = {
  ...prototype,
  name: 'append-ws place given back',
  place: 'per-turn',
};

export const capacityArms: readonly VirtualArm[] = [shipped, prototype, prototypePlaceGivenBack];
export const capacityShares = [0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1] as const;

/** Rollouts a second (G2); `Infinity` where they use neither CPU nor slots. */
export function theoreticalCapacity(
  alone: readonly Pick<PlayedAlone, 'cpuMs' | 'slotMs'>[],
  { workers, slots }: Pick<CapacityLoad, 'workers' | 'slots'>,
): number {
  const cpuMs = alone.reduce((sum, one) => sum + one.cpuMs, 0);
  const slotMs = alone.reduce((sum, one) => sum + one.slotMs, 0);
  return (1000 * alone.length) / Math.max(cpuMs / workers, slotMs / slots);
}

/** G1, of one rollout. */
export function meetsBound(
  { status, e2eMs, ttftMs }: Pick<Arrived, 'status' | 'e2eMs' | 'ttftMs'>,
  unloadedE2eMs: number,
  { ttftMsMax, e2eFactorMax }: GoodputBound,
): boolean {
  const ttft = percentile(ttftMs, 0.95) ?? Infinity;
  return status === 'completed' && ttft <= ttftMsMax && e2eMs <= e2eFactorMax * unloadedE2eMs;
}

/** In DistServe's sense: the highest rate offered at which at least that share of the rollouts met the bounds; else 0. */
export function highestRateMet(
  points: readonly Pick<CapacitySection, 'offered_per_second' | 'attainment'>[],
  attainmentMin = 0.9,
): number {
  const met = points.filter(({ attainment }) => attainment >= attainmentMin);
  return Math.max(0, ...met.map((point) => point.offered_per_second));
}

const noLatency = { p50: 0, p90: 0, p95: 0, p99: 0 } as const;

function quantilesOf(latenciesMs: readonly number[]): CapacitySection['ttft_ms'] {
  const histogram = new LatencyHistogram();
  for (const ms of latenciesMs) histogram.record(Math.min(ms, latencyMsMax));
  return histogram.quantiles() ?? noLatency;
}

/** What every design is held against: end-to-end times of the same rollouts, alone in the shipped design. */
type Unloaded = readonly Pick<PlayedAlone, 'e2eMs'>[];

/** One design at one rate. Both lists have the rollout of each arrival in its place: of this design, and of the shipped. */
export async function measureCapacity(
  load: CapacityLoad,
  arm: VirtualArm,
  ratePerSecond: number,
  alone: readonly PlayedAlone[],
  unloaded: Unloaded,
): Promise<CapacitySection> {
  const { cell, workers, slots, measured, discarded, bound, drainMsMax = 600_000 } = load;
  const server = new VirtualServer({ cell, arm, workers, slots });
  const count = countOf(load);
  const arrivalsMs = arrivalTimes(load.arrivals, { count, ratePerSecond, seed: cell.seed });
  const arrived = await playOpenLoop({ cell, arm, server, arrivalsMs, drainMsMax });
  const counted = arrived.slice(discarded, discarded + measured);
  const met = counted.filter((one, index) => meetsBound(one, unloaded[discarded + index]?.e2eMs ?? 0, bound));
  const slotsMs = slots * Math.max(...arrived.map(({ scheduledAt, e2eMs }) => scheduledAt + e2eMs));
  return {
    scenario: cell.scenario.name,
    profile: cell.profile.name,
    arm: arm.name,
    workers,
    slots,
    arrivals: load.arrivals,
    rollouts: measured,
    offered_per_second: ratePerSecond,
    capacity_per_second: theoreticalCapacity(alone, load),
    goodput_per_second: (ratePerSecond * met.length) / measured,
    attainment: met.length / measured,
    unfinished: counted.filter(({ status }) => status !== 'completed').length,
    ttft_ms: quantilesOf(counted.flatMap(({ ttftMs }) => ttftMs)),
    e2e_ms: quantilesOf(counted.map(({ e2eMs }) => e2eMs)),
    slots_sampled_share: (server.slots?.sampledMs ?? 0) / slotsMs,
    slots_held_share: (server.slots?.heldMs ?? 0) / slotsMs,
  };
}

function countOf({ measured, discarded }: CapacityLoad): number {
  return measured + 2 * discarded;
}

/** The rollouts of a load, each on an idle server. */
export async function playedAlone(load: CapacityLoad, arm: VirtualArm): Promise<PlayedAlone[]> {
  const alone: PlayedAlone[] = [];
  for (let index = 0; index < countOf(load); index++) alone.push(await playAlone(load.cell, arm, index));
  return alone;
}

/**
 * Every arm at every share of the shipped design's capacity, arm by arm.
 * @throws RangeError where the rollouts use neither CPU nor slots, so that nothing bounds their rate.
 */
export async function sweepCapacity(
  load: CapacityLoad,
  arms: readonly VirtualArm[] = capacityArms,
  shares: readonly number[] = capacityShares,
  onPoint: (point: CapacitySection) => void = () => {},
): Promise<CapacitySection[]> {
  const unloaded = await playedAlone(load, shipped);
  const reference = theoreticalCapacity(unloaded, load);
  if (reference === Infinity)
    throw new RangeError('neither workers nor slots bound how many rollouts a second there are');
  const points: CapacitySection[] = [];
  for (const arm of arms) {
    const alone = arm === shipped ? unloaded : await playedAlone(load, arm);
    for (const share of shares) {
      const point = await measureCapacity(load, arm, share * reference, alone, unloaded);
      points.push(point);
      onPoint(point);
    }
  }
  return points;
}

const seconds = (ms: number): string => (ms / 1000).toFixed(2);
const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

/** A table, a line for each arm and rate. */
export function capacityText(points: readonly CapacitySection[]): string {
  const head = [
    'arm',
    'offered/s',
    'of its capacity',
    'goodput/s',
    'met',
    'TTFT p50 s',
    'p95',
    'e2e p50 s',
    'p95',
    'slots sampled',
    'held',
    'unfinished',
  ];
  const rows = points.map((point) => [
    point.arm,
    point.offered_per_second.toFixed(2),
    percent(point.offered_per_second / point.capacity_per_second),
    point.goodput_per_second.toFixed(2),
    percent(point.attainment),
    seconds(point.ttft_ms.p50),
    seconds(point.ttft_ms.p95),
    seconds(point.e2e_ms.p50),
    seconds(point.e2e_ms.p95),
    percent(point.slots_sampled_share),
    percent(point.slots_held_share),
    String(point.unfinished),
  ]);
  return plain(head, rows);
}
