/**
 * What a rollout is bound to at each of its passages, per piece of work around the model. The sets are data, so that each
 * can be switched alone; the built-in designs take the one of their transport.
 *
 *   O1  Safety, metering and durability are the same in every set: each new token is classified, each create or append is
 *       metered, each result is stored and billed. A set that leaves one out is a variant with a name of its own.
 */
import type { Obligation, Obligations, Phase } from '../../engine/index.js';
import { builtinDesigns, type Design, type Transport } from '../../transport/index.js';
import { moduleNames, type ModuleName } from './profile.js';

/** The pieces of one passage; one that is not named is absent. */
export type Bound = Readonly<Partial<Record<ModuleName, Obligation>>>;

/** A request over HTTP: everything is asked for again. */
export const requestWork: Bound = {
  auth: 'full',
  rate_limit: 'full',
  route: 'full',
  config: 'full',
  hop: 'full',
  residual: 'full',
  hydrate: 'absent',
  validation: 'new-only',
  render: 'new-only',
  safety: 'new-only',
};

/** A create on a warm socket: who asks is known, and where it goes is remembered. */
export const createWork: Bound = {
  ...requestWork,
  auth: 'absent',
  route: 'cached',
  config: 'cached',
  hop: 'cached',
};

/** An append: metered, and looked through like anything new. */
export const appendWork: Bound = {
  rate_limit: 'cached',
  validation: 'new-only',
  render: 'new-only',
  safety: 'new-only',
};

/** An append that is a request of its own: the Response it names knows where to go. */
export const appendRequestWork: Bound = {
  ...requestWork,
  route: 'absent',
  config: 'absent',
  residual: 'absent',
};

/** After inference, waited for before the terminal event. */
export const endWork: Bound = { output_safety: 'new-only', store: 'full', billing: 'full' };
/** After inference, beside what comes next. */
export const endWorkOverlapped: Bound = {
  output_safety: 'new-only',
  store: 'overlapped',
  billing: 'overlapped',
};

/** The name under which a piece of simulated work stands in a rollout's obligations, apart from the real stages. */
export function obligationKey(phase: Phase, module: ModuleName): string {
  return `${phase}.service.${module}`;
}

/** The obligations of a rollout, in the engine's own terms: every piece of simulated work of every passage is named. */
export function obligationsOf(bound: Readonly<Record<Phase, Bound>>): Obligations {
  const entries = (['pre', 'append', 'post'] as const).flatMap((phase) =>
    moduleNames.map((module) => [obligationKey(phase, module), bound[phase][module] ?? 'absent'] as const),
  );
  return Object.fromEntries(entries);
}

/** What the built-in designs are bound to: what their transport makes cheap, and what their state spares them. */
export function workOf({ client, dialect, tokenCache }: Design, transport: Transport): Obligations {
  const isSocket = transport === 'ws';
  const everything: Bound = {
    validation: 'full',
    safety: 'full',
    render: tokenCache ? 'new-only' : 'full',
  };
  const create: Bound = {
    ...(isSocket ? createWork : requestWork),
    ...(client === 'replay' ? everything : {}),
    ...(dialect === 'chain' && !isSocket ? { hydrate: 'full' } : {}),
  };
  return obligationsOf({
    pre: create,
    append: isSocket ? appendWork : appendRequestWork,
    post: isSocket ? endWorkOverlapped : endWork,
  });
}

/** The built-in designs, each bound to its work. */
export function boundDesigns(): Design[] {
  return builtinDesigns.map((design) => ({
    ...design,
    work: { ws: workOf(design, 'ws'), http: workOf(design, 'http') },
  }));
}
