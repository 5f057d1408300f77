/**
 * The designs, as data. A design chooses a dialect and where state lives between turns; what work runs over what
 * follows from that and is stated here, so that a table can print it and a test can hold the receipts against it.
 */
import type { Tokenizer } from '../engine/index.js';

export type DialectName = 'append' | 'chain' | 'replay';

/** Over what a piece of work runs at each turn's request. */
export type Over = 'new items' | 'whole history' | 'cached by content' | 'nothing';

export interface Design {
  /** As in `?design=`. */
  readonly name: string;
  /** As it is called in tables. */
  readonly title: string;
  readonly dialect: DialectName;
  readonly response: 'one per rollout' | 'one per turn';
  readonly stateBetweenTurns: string;
  /** Whether rendered tokens are looked up by content before they are made. */
  readonly tokenCache: boolean;
  readonly obligations: {
    readonly validate: Over;
    readonly classify: Over;
    readonly render: Over;
    readonly store: Over;
    readonly bill: Over;
  };
  /** How often the pre and post stages run in a rollout of n turns. */
  readonly passages: { readonly pre: '1' | 'n'; readonly append: '0' | 'n - 1'; readonly post: '1' | 'n' };
}

const everyTurn = { pre: 'n', append: '0', post: 'n' } as const;
const newOnly = {
  validate: 'new items',
  classify: 'new items',
  render: 'new items',
  store: 'new items',
  bill: 'new items',
} as const;
const everything = {
  validate: 'whole history',
  classify: 'whole history',
  render: 'whole history',
  store: 'whole history',
  bill: 'new items',
} as const;

export const builtinDesigns: readonly Design[] = [
  {
    name: 'append',
    title: 'append-ws',
    dialect: 'append',
    response: 'one per rollout',
    stateBetweenTurns: 'the suspended loop',
    tokenCache: false,
    obligations: newOnly,
    passages: { pre: '1', append: 'n - 1', post: '1' },
  },
  {
    name: 'chain',
    title: 'chain-ws',
    dialect: 'chain',
    response: 'one per turn',
    stateBetweenTurns: 'connection-scoped cache',
    tokenCache: false,
    obligations: newOnly,
    passages: everyTurn,
  },
  {
    name: 'replay',
    title: 'replay-ws',
    dialect: 'replay',
    response: 'one per turn',
    stateBetweenTurns: 'none',
    tokenCache: false,
    obligations: everything,
    passages: everyTurn,
  },
  {
    name: 'replay-cached',
    title: 'replay-ws + token cache',
    dialect: 'replay',
    response: 'one per turn',
    stateBetweenTurns: 'content-keyed tokens',
    tokenCache: true,
    obligations: { ...everything, render: 'cached by content' },
    passages: everyTurn,
  },
];

/** Designs by name; an embedder adds its own with `register`. */
export class DesignRegistry {
  readonly #designs = new Map<string, Design>();

  constructor(designs: readonly Design[] = builtinDesigns) {
    for (const design of designs) this.register(design);
  }

  /** @throws RangeError where the name is taken. */
  register(design: Design): void {
    if (this.#designs.has(design.name)) throw new RangeError(`design ${design.name} is already registered`);
    this.#designs.set(design.name, design);
  }

  get(name: string): Design | null {
    return this.#designs.get(name) ?? null;
  }

  get names(): string[] {
    return [...this.#designs.keys()];
  }
}

/** The tokenizer a design's Responses use, where it is not the engine's own. */
export type TokenizerFor = (design: Design) => Tokenizer | undefined;
