/**
 * Receipts: each run of a stage leaves one (G3 of stages.ts), and their sums are what a Response and an engine have done.
 */
export type Phase = 'pre' | 'append' | 'post';

/** Proof that a stage ran. */
export interface Receipt {
  readonly stage: string;
  readonly phase: Phase;
  readonly turn: number;
  /** Items and tokens it worked on. */
  readonly items: number;
  readonly tokens: number;
  readonly ms: number;
  readonly result: 'passed' | 'refused' | 'failed';
}

/** Sums over the receipts of one `phase.stage`. */
export interface StageTally {
  runs: number;
  items: number;
  tokens: number;
  ms: number;
}
export type StageRuns = Record<string, StageTally>;

/** Sums over receipts. */
export class Tallies {
  readonly #byKey = new Map<string, StageTally>();

  add({ phase, stage, items, tokens, ms }: Receipt): void {
    const key = keyOf(phase, stage);
    let tally = this.#byKey.get(key);
    if (tally === undefined) this.#byKey.set(key, (tally = { runs: 0, items: 0, tokens: 0, ms: 0 }));
    tally.runs++;
    tally.items += items;
    tally.tokens += tokens;
    tally.ms += ms;
  }

  /** As they stand now, in the order in which the stages first ran. */
  get runs(): StageRuns {
    return Object.fromEntries(Array.from(this.#byKey, ([key, tally]) => [key, { ...tally }]));
  }

  copy(): Tallies {
    const copy = new Tallies();
    for (const [key, tally] of this.#byKey) copy.#byKey.set(key, { ...tally });
    return copy;
  }
}

/** The newest receipts of one Response, and the sums over all of them. */
export class Receipts {
  static readonly keptMax = 64;
  readonly newest: Receipt[] = [];
  /** Sums over the receipts that are no longer kept. */
  #older: Tallies | null = null;
  readonly #total: Tallies;

  /** @param total sums over every Response of the engine, kept along. */
  constructor(total: Tallies) {
    this.#total = total;
  }

  add(receipt: Receipt): void {
    const oldest = this.newest.length === Receipts.keptMax ? this.newest.shift() : undefined;
    if (oldest !== undefined) (this.#older ??= new Tallies()).add(oldest);
    this.newest.push(receipt);
    this.#total.add(receipt);
  }

  /** Sums over all receipts, kept or not. */
  get runs(): StageRuns {
    const all = this.#older?.copy() ?? new Tallies();
    for (const receipt of this.newest) all.add(receipt);
    return all.runs;
  }
}

const receiptKeys: Readonly<Record<Phase, Map<string, string>>> = {
  pre: new Map(),
  append: new Map(),
  post: new Map(),
};

/** `phase.stage`, made once: put together for each receipt, it would have to be hashed each time. */
export function keyOf(phase: Phase, stage: string): string {
  const known = receiptKeys[phase].get(stage);
  if (known !== undefined) return known;
  const key = `${phase}.${stage}`;
  receiptKeys[phase].set(stage, key);
  return key;
}
