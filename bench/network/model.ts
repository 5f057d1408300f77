/**
 * What a network costs, as formulas: for the engine that runs in virtual time, and to predict what a real path shows.
 * One direction is busy at a time, as between a client and a server that take turns.
 */

export interface NetworkModel {
  readonly rttMs: number;
  /** Each way; `Infinity` is no limit. */
  readonly bytesPerSecond: number;
  /**
   * Whether there is a congestion window, which starts small and gets small again while its connection is idle for longer
   * than its retransmission timeout: see uplink.ts. Where it is false, windows are open at all times.
   */
  readonly restartsAfterIdle: boolean;
  /** Whether a turn uses the connection of the turn before it, or opens its own. */
  readonly connection: 'kept' | 'per-turn';
  readonly tls: boolean;
  /** Whether events that hold a whole Response take time for their bytes: see downlink.ts. Default false. */
  readonly eventBytes?: boolean;
}

/** Ten segments of 1,460 bytes: the initial window of Linux and of RFC 6928, and what is left of it after idle time. */
export const initialWindowBytes = 14_600;

/**
 * Round trips beyond the first that `bytes` take from an initial window that doubles each round trip:
 * `max(0, ceil(log2(bytes / 14,600 + 1)) − 1)`. It fits the measured idle rows of a TUN probe at RTT 50 ms (kernel TCP,
 * MTU 1500, no loss, reno with `tcp_slow_start_after_idle`; 2, 20, 120 and 480 KB after 3 s took 1, 2, 4 and 6 round
 * trips). It says nothing of BBR, which does not restart.
 */
export function extraRoundTrips(bytes: number, windowBytes: number = initialWindowBytes): number {
  return Math.max(0, Math.ceil(Math.log2(bytes / windowBytes + 1)) - 1);
}

/** Whether a request meets a window that starts small. A connection of its own always does. */
function startsSmall({ restartsAfterIdle, connection }: NetworkModel): boolean {
  return restartsAfterIdle || connection === 'per-turn';
}

/** Time from the first byte sent to the last byte received where the window is open: RTT/2 + bytes/rate, in ms. */
export function oneWayMs({ rttMs, bytesPerSecond }: NetworkModel, bytes: number): number {
  return rttMs / 2 + (bytes / bytesPerSecond) * 1000;
}

/**
 * Time until the last byte of a request has arrived, in ms: RTT/2 + RTT·w + bytes/rate, w the `extraRoundTrips` of a
 * connection whose window is the initial one: it is new, or was idle for seconds. What is left of a window after a
 * shorter pause stands in uplink.ts.
 */
export function uploadMs(network: NetworkModel, bytes: number): number {
  const rounds = startsSmall(network) ? extraRoundTrips(bytes) : 0;
  return oneWayMs(network, bytes) + network.rttMs * rounds;
}

/** Time until a small event of the server's has arrived, in ms: RTT/2. Of those that are not small see downlink.ts. */
export function downloadMs({ rttMs }: NetworkModel): number {
  return rttMs / 2;
}

/** Time until a first request may be sent, in ms: a round trip each for TCP, for TLS 1.3 and for an upgrade. */
export function setupMs(
  network: Pick<NetworkModel, 'rttMs' | 'tls'>,
  transport: 'ws' | 'http',
  tls: boolean = network.tls,
): number {
  return network.rttMs * (1 + (tls ? 1 : 0) + (transport === 'ws' ? 1 : 0));
}

/** What opening connections adds to each turn after the first, in ms. */
export function setupPerTurnMs(network: NetworkModel, transport: 'ws' | 'http'): number {
  return network.connection === 'per-turn' ? setupMs(network, transport) : 0;
}
