/**
 * What a design is made of, apart: five switches that the shipped designs set together. The virtual engine takes any
 * combination of them, so that each can be changed alone.
 */
import type { AdmissionPolicy, Obligations } from '../../engine/index.js';
import type { Transport } from '../../transport/index.js';
import {
  appendRequestWork,
  appendWork,
  createWork,
  endWork,
  endWorkOverlapped,
  obligationsOf,
  requestWork,
  type Bound,
} from '../service/obligations.js';

export interface VirtualArm {
  readonly name: string;
  readonly transport: Transport;
  /** What goes up for a further turn: an append, a create that names the response before, or the whole history. */
  readonly wire: 'append' | 'create' | 'history';
  /** What is left between turns: the suspended loop, the kept transcript of an ended Response, or nothing. */
  readonly state: 'suspended' | 'kept' | 'none';
  /** What the first turn of a rollout is bound to, and what those after it are. */
  readonly work: { readonly first: Bound; readonly later: Bound; readonly end: Bound };
  /** Who holds a place on the machine between turns. */
  readonly place: AdmissionPolicy['held'];
  /** Outputs go up as they come, while the turn still samples. */
  readonly earlyReturn: boolean;
}

const made = new WeakMap<VirtualArm['work'], readonly [begins: Obligations, goesOn: Obligations]>();

/** The engine's obligations of a Response that begins with a user's request, or goes on with one. */
export function obligationsFor({ work }: VirtualArm, goesOn: boolean): Obligations {
  let both = made.get(work);
  if (both === undefined) {
    const { first, later, end } = work;
    const from = (pre: Bound): Obligations => obligationsOf({ pre, append: later, post: end });
    both = [from(first), from(later)];
    made.set(work, both);
  }
  return both[goesOn ? 1 : 0];
}

const socket = { first: createWork, later: createWork, end: endWorkOverlapped } as const;
const whole: Bound = { validation: 'full', safety: 'full', render: 'full' };

function over(bound: Bound, more: Bound): Bound {
  return { ...bound, ...more };
}

/** What shipped: a create on a socket, state in the connection's cache. */
export const shipped: VirtualArm = {
  name: 'chain-ws',
  transport: 'ws',
  wire: 'create',
  state: 'kept',
  work: socket,
  place: 'per-response',
  earlyReturn: false,
};

/** The prototype: an append wakes the suspended loop. */
export const prototype: VirtualArm = {
  name: 'append-ws',
  transport: 'ws',
  wire: 'append',
  state: 'suspended',
  work: { first: createWork, later: appendWork, end: endWorkOverlapped },
  place: 'per-response',
  earlyReturn: false,
};

const stateless: VirtualArm = {
  name: 'replay-http',
  transport: 'http',
  wire: 'history',
  state: 'none',
  work: { first: over(requestWork, whole), later: over(requestWork, whole), end: endWork },
  place: 'per-response',
  earlyReturn: false,
};

const hydrated = over(requestWork, { hydrate: 'full' });

/** By name, from the first shape to the prototype. */
export const virtualArms: readonly VirtualArm[] = [
  {
    ...stateless,
    name: 'replay-http pre-sprint',
    work: {
      first: over(stateless.work.first, { extra_hop: 'full' }),
      later: over(stateless.work.later, { extra_hop: 'full' }),
      end: endWork,
    },
  },
  stateless,
  {
    ...stateless,
    name: 'replay-http post-sprint',
    work: {
      first: over(requestWork, { config: 'cached' }),
      later: over(requestWork, { config: 'cached' }),
      end: endWork,
    },
  },
  {
    ...stateless,
    name: 'replay-ws',
    transport: 'ws',
    work: { first: over(createWork, whole), later: over(createWork, whole), end: endWorkOverlapped },
  },
  {
    ...shipped,
    name: 'chain-http',
    transport: 'http',
    work: { first: requestWork, later: hydrated, end: endWork },
  },
  {
    ...shipped,
    name: 'chain-http read again',
    transport: 'http',
    work: { first: requestWork, later: over(hydrated, whole), end: endWork },
  },
  shipped,
  {
    ...shipped,
    name: 'chain-ws ahead',
    work: {
      ...socket,
      later: over(createWork, {
        rate_limit: 'ahead',
        route: 'ahead',
        config: 'ahead',
        hop: 'ahead',
        residual: 'ahead',
      }),
    },
  },
  { ...prototype, name: 'shim-ws', wire: 'create' },
  {
    ...prototype,
    name: 'append-http',
    transport: 'http',
    work: { first: requestWork, later: appendRequestWork, end: endWork },
  },
  prototype,
  { ...prototype, name: 'append-ws early', earlyReturn: true },
  {
    ...prototype,
    name: 'append-ws without safety',
    work: { ...prototype.work, later: over(appendWork, { safety: 'absent' }) },
  },
];

/** @throws RangeError for a name that none has. */
export function virtualArm(name: string): VirtualArm {
  const arm = virtualArms.find((one) => one.name === name);
  if (arm !== undefined) return arm;
  throw new RangeError(`no arm "${name}"; there are ${virtualArms.map((one) => one.name).join(', ')}`);
}
