/** The sending side of one client's connection, as a formula: what its congestion window makes of uploads and of pauses. */
import { extraRoundTrips, initialWindowBytes, oneWayMs, type NetworkModel } from './model.js';

/** Linux's floor under the variance in a retransmission timeout: TCP_RTO_MIN of include/net/tcp.h. */
const rtoVarianceMsMin = 200;

/** Retransmission timeout on a path without jitter: the round trip and Linux's floor of its variance, in ms. */
export function rtoMs(rttMs: number): number {
  return rttMs + rtoVarianceMsMin;
}

/**
 * What is left of a window after so long without sending, in bytes. RFC 5681 §4.1 makes it the initial window once the
 * pause exceeds the retransmission timeout. Linux, which clients here run on, halves it once for each timeout that has
 * passed, down to the initial window (RFC 2861 §3.1; `tcp_cwnd_restart` of net/ipv4/tcp_output.c).
 */
export function windowAfterPause(windowBytes: number, pauseMs: number, rttMs: number): number {
  const timeouts = Math.max(0, Math.ceil(pauseMs / rtoMs(rttMs)) - 1);
  return Math.max(Math.min(initialWindowBytes, windowBytes), windowBytes / 2 ** timeouts);
}

/**
 * The window that an upload leaves behind, in bytes. In slow start it grows by every byte that is acknowledged while it is
 * used, and not beyond twice what was on the way at once (`tcp_is_cwnd_limited` of include/net/tcp.h).
 */
export function windowAfterUpload(windowBytes: number, bytes: number): number {
  return Math.max(windowBytes, Math.min(windowBytes + bytes, 2 * bytes));
}

/** One connection after the other where each turn opens its own. */
export class Uplink {
  readonly #network: NetworkModel;
  #windowBytes = initialWindowBytes;
  /** When the last byte before was sent; never where nothing was. */
  #sentAt = -Infinity;

  constructor(network: NetworkModel) {
    this.#network = network;
  }

  /**
   * Sends a request at a time not before that of the one before it. Gives when its last byte has arrived, in ms on the
   * same clock: RTT/2 + RTT·w + bytes/rate later, w the round trips for which the window holds it up.
   */
  send(bytes: number, at: number): number {
    const { rttMs, connection, restartsAfterIdle } = this.#network;
    const arrivesAt = at + oneWayMs(this.#network, bytes);
    if (connection === 'kept' && !restartsAfterIdle) return arrivesAt;
    const window =
      connection === 'kept'
        ? windowAfterPause(this.#windowBytes, at - this.#sentAt, rttMs)
        : initialWindowBytes;
    const waitedMs = rttMs * extraRoundTrips(bytes, window);
    this.#windowBytes = windowAfterUpload(window, bytes);
    this.#sentAt = arrivesAt + waitedMs - rttMs / 2;
    return arrivesAt + waitedMs;
  }
}
