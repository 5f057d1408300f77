/** The arms of a comparison: designs over transports, and the twin that tells how much of a difference is noise. */
import { builtinDesigns, titleOf, type Design, type Transport } from '../transport/index.js';

export interface Arm {
  /** As in tables: `append-ws`, `append-ws (A-A)`, `chain-http`, … */
  readonly name: string;
  readonly design: Design;
  readonly transport: Transport;
  /** Runs in one block of several, so that the whole takes no longer than somebody waits. */
  readonly sparse: boolean;
}

/** The two arms whose paired difference is the headline. */
export const headlineArms = { prototype: 'append-ws', shipped: 'chain-ws' } as const;
/** The prototype once more: what differs between the two is noise. */
export const twinArm = 'append-ws (A-A)';
/** What ratios of sums are taken against. */
export const baselineArm = 'replay-ws';

/** Every design over every transport it can be spoken over. */
export const spokenArms: readonly Arm[] = builtinDesigns.flatMap((design) =>
  design.transports.map((transport) => {
    const name = titleOf(design, transport);
    const sparse = name !== headlineArms.prototype && name !== headlineArms.shipped;
    return { name, design, transport, sparse };
  }),
);

/** Those, and the twin beside its model. */
export const arms: readonly Arm[] = spokenArms.flatMap((arm) =>
  arm.name === headlineArms.prototype ? [arm, { ...arm, name: twinArm }] : [arm],
);

/** @throws RangeError for a name that none has. */
export function armNamed(name: string): Arm {
  const arm = arms.find((one) => one.name === name);
  if (arm !== undefined) return arm;
  throw new RangeError(
    `no arm ${name} is measured here; there are ${arms.map((one) => one.name).join(', ')}`,
  );
}
