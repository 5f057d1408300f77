/** Latencies of open-loop runs: HdrHistogram's buckets, with milliseconds outside and microseconds inside. */
import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram,
} from 'hdr-histogram-js';

/** The longest latency that is counted: one hour, far beyond what a run lasts. */
export const latencyMsMax = 3_600_000;

/** In milliseconds. */
export interface LatencyQuantiles {
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
}

const microsecondsPerMs = 1000;

function emptyBuckets(): Histogram {
  return build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: latencyMsMax * microsecondsPerMs,
    numberOfSignificantValueDigits: 2,
    autoResize: false,
  });
}

/**
 * Latencies from 1 µs to 1 h in 13 kB, however many. A quantile read from it is off by at most 1 %, or by 1 µs where that
 * is more, because whole microseconds are stored. Take a latency from the scheduled start of its rollout: from the start
 * that the load left room for, a stall would hide the waits behind it (coordinated omission).
 */
export class LatencyHistogram {
  readonly #buckets = emptyBuckets();

  /** @throws Error where the text is not one that `toBase64` wrote. */
  static fromBase64(text: string): LatencyHistogram {
    const histogram = new LatencyHistogram();
    histogram.#buckets.add(decodeFromCompressedBase64(text));
    return histogram;
  }

  /** @throws RangeError where the latency is negative, more than an hour, or no number. */
  record(latencyMs: number): void {
    if (!(latencyMs >= 0 && latencyMs <= latencyMsMax))
      throw new RangeError(`A latency is from 0 to ${latencyMsMax} ms, not ${latencyMs}.`);
    this.#buckets.recordValue(Math.round(latencyMs * microsecondsPerMs));
  }

  get count(): number {
    return this.#buckets.totalCount;
  }

  /** Null where nothing was recorded. */
  quantiles(): LatencyQuantiles | null {
    if (this.count === 0) return null;
    const at = (percent: number): number => this.#buckets.getValueAtPercentile(percent) / microsecondsPerMs;
    return { p50: at(50), p90: at(90), p95: at(95), p99: at(99) };
  }

  /** Takes in what another one counted, as that of another process. */
  add(other: LatencyHistogram): void {
    this.#buckets.add(other.#buckets);
  }

  /** HdrHistogram's compressed V2 encoding, as other HdrHistogram tools read it; values in it are microseconds. */
  toBase64(): string {
    return encodeIntoCompressedBase64(this.#buckets);
  }
}
