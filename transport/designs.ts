/**
 * The designs, as data. A design chooses a dialect and where state lives between turns; what work runs over what
 * follows from that and is stated here, so that a table can print it and a test can hold the receipts against it.
 */
import type { Obligations } from '../engine/index.js';

export type DialectName = 'append' | 'chain' | 'replay' | 'shim';

/** What carries the protocol: a socket, or HTTP with Server-Sent Events. */
export type Transport = 'ws' | 'http';

/**
 * What a client sends for its next turn: an append; a create that names the response before (the shim's wire too); or a
 * create with the whole history.
 */
export type ClientDialect = 'append' | 'chain' | 'replay';

/** Over what a piece of work runs at each turn's request. */
export type Over = 'new items' | 'whole history' | 'cached by content' | 'nothing';

export interface Design {
  /** As in `?design=`. */
  readonly name: string;
  /** As it is called in tables, where its first word takes the transport: see `titleOf`. */
  readonly title: string;
  /** The server's side: a built-in one, or one that the server was given. */
  readonly dialect: DialectName | (string & {});
  /** The client's side. */
  readonly client: ClientDialect;
  /** What it can be spoken over. */
  readonly transports: readonly Transport[];
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
  /** What its rollouts are bound to, where that is not what the stages say of themselves. */
  readonly work?: Readonly<Record<Transport, Obligations>>;
  /** How often the pre and post stages run in a rollout of n turns. */
  readonly passages: { readonly pre: '1' | 'n'; readonly append: '0' | 'n - 1'; readonly post: '1' | 'n' };
}

const both = ['ws', 'http'] as const;
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
    title: 'append',
    dialect: 'append',
    client: 'append',
    transports: both,
    response: 'one per rollout',
    stateBetweenTurns: 'the suspended loop',
    tokenCache: false,
    obligations: newOnly,
    passages: { pre: '1', append: 'n - 1', post: '1' },
  },
  {
    name: 'chain',
    title: 'chain',
    dialect: 'chain',
    client: 'chain',
    transports: both,
    response: 'one per turn',
    stateBetweenTurns: 'cache of the connection; over HTTP the store',
    tokenCache: false,
    obligations: newOnly,
    passages: everyTurn,
  },
  {
    name: 'shim',
    title: 'shim',
    dialect: 'shim',
    client: 'chain',
    transports: both,
    response: 'one per turn',
    stateBetweenTurns: 'the suspended loop',
    tokenCache: false,
    obligations: newOnly,
    passages: { pre: '1', append: 'n - 1', post: '1' },
  },
  {
    name: 'replay',
    title: 'replay',
    dialect: 'replay',
    client: 'replay',
    transports: both,
    response: 'one per turn',
    stateBetweenTurns: 'none',
    tokenCache: false,
    obligations: everything,
    passages: everyTurn,
  },
  {
    name: 'replay-cached',
    title: 'replay + token cache',
    dialect: 'replay',
    client: 'replay',
    transports: both,
    response: 'one per turn',
    stateBetweenTurns: 'content-keyed tokens',
    tokenCache: true,
    obligations: { ...everything, render: 'cached by content' },
    passages: everyTurn,
  },
];

/** A design over a transport: `chain-http`, `replay-ws + token cache`. */
export function titleOf({ title }: Design, transport: Transport): string {
  return title.replace(/^\S+/, (name) => `${name}-${transport}`);
}

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
