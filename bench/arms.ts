/** The arms of a comparison: which designs, and the twin that tells how much of a difference is noise. */
import { builtinDesigns, type Design } from '../transport/index.js';

export interface Arm {
  /** As in tables: `append-ws`, `append-ws (A-A)`, … */
  readonly name: string;
  readonly design: Design;
  /** Runs in one block of several, because its rollouts are long. */
  readonly sparse: boolean;
}

function designNamed(name: string): Design {
  const design = builtinDesigns.find((one) => one.name === name);
  if (design === undefined) throw new RangeError(`no design ${name}`);
  return design;
}

/** The two arms whose paired difference is the headline. */
export const headlineArms = { prototype: 'append-ws', shipped: 'chain-ws' } as const;
/** The prototype once more: what differs between the two is noise. */
export const twinArm = 'append-ws (A-A)';
/** What ratios of sums are taken against. */
export const baselineArm = 'replay-ws';

export const arms: readonly Arm[] = [
  { name: headlineArms.prototype, design: designNamed('append'), sparse: false },
  { name: twinArm, design: designNamed('append'), sparse: false },
  { name: headlineArms.shipped, design: designNamed('chain'), sparse: false },
  { name: baselineArm, design: designNamed('replay'), sparse: true },
  { name: 'replay-ws + token cache', design: designNamed('replay-cached'), sparse: true },
];
