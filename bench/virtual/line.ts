/** What lies between one client and its server, by formula: when what goes up is there and taken up, and what comes down. */
import type { LogEntry } from '../../engine/index.js';
import { downloadMs, setupPerTurnMs } from '../network/model.js';
import { Downlink } from '../network/downlink.js';
import { Uplink } from '../network/uplink.js';
import type { VirtualArm } from './arm.js';
import { snapshotBytes } from './bytes.js';
import { machineMs, type VirtualCell } from './cell.js';

export interface Upload {
  readonly bytes: number;
  /** Tokens of the items in it. */
  readonly tokens: number;
  /** It belongs to the first turn, which is the same in every design: the machine's cost is fitted on none. */
  readonly first: boolean;
}

export class Line {
  readonly #cell: VirtualCell;
  readonly #arm: VirtualArm;
  readonly #uplink: Uplink;
  readonly #downlink: Downlink;
  #arrivedAt = 0;

  constructor(cell: VirtualCell, arm: VirtualArm) {
    this.#cell = cell;
    this.#arm = arm;
    this.#uplink = new Uplink(cell.network);
    this.#downlink = new Downlink(cell.network);
  }

  /** When the last event has reached the client. */
  get arrivedAt(): number {
    return this.#arrivedAt;
  }

  /** What a small event takes to come down. */
  get downloadMs(): number {
    return downloadMs(this.#cell.network);
  }

  /** What a turn waits for before its request can be sent: a connection, where each turn has its own. */
  get setupPerTurnMs(): number {
    return setupPerTurnMs(this.#cell.network, this.#arm.transport);
  }

  /** What is sent at `from` has arrived, and the machine has taken it up. */
  up(from: number, { bytes, tokens, first }: Upload): { readonly at: number; readonly readyAt: number } {
    const at = this.#uplink.send(bytes, from);
    return { at, readyAt: at + (first ? 0 : machineMs(this.#cell, this.#arm, tokens)) };
  }

  /** An event leaves the server now; gives when it has arrived. */
  down({ type }: LogEntry, now: number): number {
    // Of an event that holds a whole Response; the others are small. What the shim makes up of a resume is left out.
    const whole = ['response.created', 'response.in_progress', 'response.settled'].includes(type);
    this.#arrivedAt = this.#downlink.send(whole ? snapshotBytes(this.#cell.scenario) : 0, now);
    return this.#arrivedAt;
  }
}
