/** The in-memory Store: bounded, and async like any other, so that nothing depends on its answering at once. */
import type { Store, StoredResponse } from './ports.js';
import type { Bill } from './stages.js';

export interface MemoryStoreOptions {
  /** Responses kept; the oldest go first. Default 10,000. */
  readonly responsesMax?: number;
  /** Bills kept for reading; the sums are never lost. Default 1,000. */
  readonly billsMax?: number;
}

export class MemoryStore implements Store {
  readonly #responses = new Map<string, StoredResponse>();
  readonly #responsesMax: number;
  readonly #billsMax: number;
  readonly bills: Bill[] = [];
  readonly billed = { count: 0, uncached_input_tokens: 0, output_tokens: 0 };

  constructor(options: MemoryStoreOptions = {}) {
    this.#responsesMax = options.responsesMax ?? 10_000;
    this.#billsMax = options.billsMax ?? 1_000;
  }

  get size(): number {
    return this.#responses.size;
  }

  save(response: StoredResponse): Promise<void> {
    this.#responses.set(response.id, response);
    const oldest = this.#responses.keys().next();
    if (this.#responses.size > this.#responsesMax && oldest.done === false)
      this.#responses.delete(oldest.value);
    return Promise.resolve();
  }

  load(id: string, credential: string): Promise<StoredResponse | null> {
    const found = this.#responses.get(id);
    return Promise.resolve(found?.credential === credential ? found : null);
  }

  remove(id: string, credential: string): Promise<boolean> {
    const own = this.#responses.get(id)?.credential === credential;
    return Promise.resolve(own && this.#responses.delete(id));
  }

  charge(bill: Bill): Promise<void> {
    this.bills.push(bill);
    if (this.bills.length > this.#billsMax) this.bills.shift();
    this.billed.count++;
    this.billed.uncached_input_tokens += bill.uncached_input_tokens;
    this.billed.output_tokens += bill.output_tokens;
    return Promise.resolve();
  }
}
