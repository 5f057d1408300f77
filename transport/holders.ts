/**
 * Which session holds which Response. The holder alone may append and cancel; the newest attach of the same
 * credential takes over. A Response that nobody holds lives on for a grace time.
 */
import type { Clock, LiveResponse, Timer } from '../engine/index.js';

/** What a holder has to bear. */
export interface Holder {
  /** Another session took the Response over. */
  superseded(response: LiveResponse): void;
  /** The server goes down and the Response, suspended, with it. */
  lost(response: LiveResponse): void;
}

export class Holders {
  readonly #clock: Clock;
  readonly #graceMsMax: number;
  readonly #holders = new Map<string, Holder>();
  readonly #graces = new Map<string, Timer>();
  /** Responses that were ever held: each is waited for once, however often it changes hands. */
  readonly #watched = new WeakSet<LiveResponse>();

  constructor(clock: Clock, graceMsMax: number) {
    this.#clock = clock;
    this.#graceMsMax = graceMsMax;
  }

  /** Responses that are held, or that nobody holds in their grace time. */
  get size(): number {
    return this.#holders.size + this.#graces.size;
  }

  holderOf(response: LiveResponse): Holder | null {
    return this.#holders.get(response.id) ?? null;
  }

  /** Makes `holder` the one who may append. The former one is told. Of an ended Response nobody needs to be it. */
  take(response: LiveResponse, holder: Holder): void {
    const former = this.#holders.get(response.id);
    if (former === holder || response.settlement !== null) return;
    this.#stopGrace(response);
    this.#holders.set(response.id, holder);
    if (!this.#watched.has(response)) void this.#forgetWhenSettled(response);
    this.#watched.add(response);
    former?.superseded(response);
  }

  /** The holder's socket is gone: nothing is settled, but the grace time runs. */
  leave(response: LiveResponse, holder: Holder): void {
    if (this.#holders.get(response.id) !== holder) return;
    this.#holders.delete(response.id);
    if (response.settlement !== null) return;
    const end = (): void => {
      this.#graces.delete(response.id);
      response.cancel('disconnected');
    };
    if (this.#graceMsMax === 0) end();
    else this.#graces.set(response.id, this.#clock.after(this.#graceMsMax, end));
  }

  async #forgetWhenSettled(response: LiveResponse): Promise<void> {
    await response.settled;
    this.#holders.delete(response.id);
    this.#stopGrace(response);
  }

  #stopGrace(response: LiveResponse): void {
    this.#graces.get(response.id)?.[Symbol.dispose]();
    this.#graces.delete(response.id);
  }
}
