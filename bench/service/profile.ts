/**
 * Service profiles: what the work around a model costs. A profile is data; which of the work a design is bound to is the
 * design's affair (obligations.ts), so that no cost belongs to a design by construction.
 */
import { readFile } from 'node:fs/promises';

import { parseProfile, type Cost, type ModuleCosts, type Profile } from '../schema/profile.js';

export {
  moduleNames,
  type Cost,
  type ModuleCosts,
  type ModuleName,
  type Profile,
} from '../schema/profile.js';

/** Whether it simulates no work at all. */
export function isBare({ modules }: Profile): boolean {
  return Object.keys(modules).length === 0;
}

const ms = (wait_ms: number, us_per_token = 0): Cost => ({ wait_ms, cpu_ms: 0, us_per_token });
const costs = (full: Cost, cached = ms(0)): ModuleCosts => ({ full, cached });

const bare: Profile = {
  name: 'bare',
  about: 'Nothing is simulated: what is left is the engine, its stages and its server.',
  source: 'No cost is assumed.',
  modules: {},
  admission: { admit_ms: 0, resume_ms: 0 },
  history_share: 0,
};

/**
 * An assumed service. Its sums were set before anything was compared: 60 ms of fixed work for a request over HTTP, 20 ms
 * for a create on a warm socket, 2 ms for an append, 15 ms after inference where that is waited for, 15 ms and 1 µs a
 * token of safety, a third of a microsecond a token of rendering, 5 ms and 0.5 ms a turn to read a stored history, 10 ms
 * for a place on the machine. How the sums are made up of pieces is assumed too, and no result depends on it.
 */
const hosted: Profile = {
  name: 'hosted',
  about:
    'A hosted service with assumed costs: 60 ms a request, 20 ms a create on a warm socket, 2 ms an append.',
  source:
    'Assumed, all of it: 60, 20 and 2 ms of fixed work per HTTP request, create on a socket and append; 15 ms after ' +
    'inference; safety of 15 ms and 1 µs a token; rendering at 3 M tokens/s; 10 ms for a place on the machine, for every ' +
    'design alike. Nobody has measured a create against an append: read the swept axes before this.',
  modules: {
    auth: costs(ms(10)),
    rate_limit: costs(ms(8), ms(2)),
    route: costs(ms(12), ms(4)),
    config: costs(ms(16), ms(2)),
    hop: costs(ms(14), ms(6)),
    extra_hop: costs(ms(14)),
    hydrate: costs(ms(5, 0.02)),
    render: costs(ms(0, 1 / 3)),
    safety: costs(ms(15, 1)),
    output_safety: costs(ms(0)),
    store: costs(ms(5)),
    billing: costs(ms(10)),
  },
  admission: { admit_ms: 10, resume_ms: 10 },
  history_share: 0,
};

/**
 * The same service, scaled so that a request and a create cost what one published live measurement suggests: first events
 * after 277–369 ms over pooled HTTPS and 80–151 ms over a warm socket, whose difference and floor give about 270 and
 * 80 ms (github.com/gakonst/nanocodex, RESPONSE_TRANSPORT_BENCH.md at 6a9debd2; n = 3, no round-trip time told, 30 ms
 * assumed). What an append would cost there nobody knows: it is a band, from nothing to what a create costs.
 */
function extrapolated(appendMs: number, name: string): Profile {
  return {
    name,
    about: `Extrapolated from one live measurement (n = 3): 270 ms a request, 80 ms a create; an append taken as ${appendMs} ms.`,
    source:
      'Extrapolated from the gaps of github.com/gakonst/nanocodex at 6a9debd2 (n = 3; round-trip time not told, 30 ms ' +
      'assumed). The cost of an append is unknown: low is nothing, high is what a create costs.',
    modules: {
      ...hosted.modules,
      auth: costs(ms(45)),
      rate_limit: costs(ms(36), ms(appendMs)),
      route: costs(ms(54), ms(16)),
      config: costs(ms(72), ms(8)),
      hop: costs(ms(63), ms(20)),
    },
    admission: { admit_ms: 10, resume_ms: 10 },
    history_share: 0,
  };
}

/** By name. `extrapolated-low` and `-high` are the two ends of a band and mean nothing alone. */
export const builtinProfiles: ReadonlyMap<string, Profile> = new Map(
  [bare, hosted, extrapolated(0, 'extrapolated-low'), extrapolated(80, 'extrapolated-high')].map(
    (profile) => [profile.name, profile],
  ),
);

/**
 * A built-in profile, or one from a file of measured costs.
 * @throws RangeError that names every field at fault; Error where the file can't be read.
 */
export async function profileNamed(name: string): Promise<Profile> {
  const known = builtinProfiles.get(name);
  if (known !== undefined) return known;
  const text = await readFile(name, 'utf8').catch((fault: unknown) => {
    const names = [...builtinProfiles.keys()].join(', ');
    throw new Error(
      `no service profile "${name}": there are ${names}, or the path of a file (${String(fault)})`,
    );
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (fault) {
    throw new RangeError(`${name}: not JSON: ${String(fault)}`, { cause: fault });
  }
  return parseProfile(value, name);
}
