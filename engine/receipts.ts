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

/** The newest receipts of one Response, and the sums over all of them. */
export class Receipts {
  static readonly keptMax = 64;
  readonly newest: Receipt[] = [];
  /** Sums over the receipts that are no longer kept. */
  #older: StageRuns | null = null;
  readonly #total: StageRuns;

  /** @param total sums over every Response of the engine, kept along. */
  constructor(total: StageRuns) {
    this.#total = total;
  }

  add(receipt: Receipt): void {
    if (this.newest.length === Receipts.keptMax) count((this.#older ??= {}), this.newest.shift());
    this.newest.push(receipt);
    count(this.#total, receipt);
  }

  /** Sums over all receipts, kept or not. */
  get runs(): StageRuns {
    const runs: StageRuns = {};
    for (const [key, tally] of Object.entries(this.#older ?? {})) runs[key] = { ...tally };
    for (const receipt of this.newest) count(runs, receipt);
    return runs;
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

function count(runs: StageRuns, receipt: Receipt | undefined): void {
  if (receipt === undefined) return;
  const { items, tokens, ms } = receipt;
  const tally = (runs[keyOf(receipt.phase, receipt.stage)] ??= { runs: 0, items: 0, tokens: 0, ms: 0 });
  tally.runs++;
  tally.items += items;
  tally.tokens += tokens;
  tally.ms += ms;
}
