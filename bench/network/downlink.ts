/**
 * The sending side of a server's connection to one client, as a formula. Events are small, but for those that hold a whole
 * Response and so repeat its instructions and tools: `created`, `in_progress` and the terminal one. A design with a Response
 * for each turn sends them at every turn: 75 KB where these are 25 KB. Real TCP charges them with a round trip before the
 * first token where the server's window got small while it was idle.
 */
import { extraRoundTrips, initialWindowBytes, oneWayMs, type NetworkModel } from './model.js';
import { windowAfterPause, windowAfterUpload } from './uplink.js';

/**
 * What is sent at one moment is one burst, which its window carries together. A burst that begins while one before it is
 * still unacknowledged gets a window that has already grown, so that round trips longer than a turn come out too short.
 */
export class Downlink {
  readonly #network: NetworkModel;
  #windowBytes = initialWindowBytes;
  #sentAt = -Infinity;
  /** The burst under way: its moment, its bytes, and the window it began with. */
  #burst = { at: -Infinity, bytes: 0, windowBytes: initialWindowBytes };
  #arrivedAt = -Infinity;

  constructor(network: NetworkModel) {
    this.#network = network;
  }

  /** Sends an event at a time not before that of the one before it. Gives when it has arrived, in ms on the same clock. */
  send(bytes: number, at: number): number {
    const { rttMs, eventBytes = false, restartsAfterIdle } = this.#network;
    if (!eventBytes) return at + rttMs / 2;
    if (at > this.#burst.at) {
      const windowBytes = windowAfterPause(this.#windowBytes, at - this.#sentAt, rttMs);
      this.#burst = { at, bytes: 0, windowBytes };
    }
    const burst = this.#burst;
    burst.bytes += bytes;
    const rounds = restartsAfterIdle ? extraRoundTrips(burst.bytes, burst.windowBytes) : 0;
    const arrivesAt = at + oneWayMs(this.#network, burst.bytes) + rttMs * rounds;
    this.#windowBytes = windowAfterUpload(burst.windowBytes, burst.bytes);
    this.#arrivedAt = Math.max(this.#arrivedAt, arrivesAt);
    this.#sentAt = this.#arrivedAt - rttMs / 2;
    return this.#arrivedAt;
  }
}
