/** The rules of bench/HYPOTHESES.md, as code: from the sections of a summary to verdicts. Pure. */
import { holm } from '../statistics.js';
import type { Difference, LabSummary, ProfileSection, Verdict } from './sections.js';

type Ruled = Omit<Verdict, 'p_adjusted'> & { readonly p: number | null };

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
const ms = (value: number): string => `${value.toFixed(2)} ms`;

/** What the faster arm gains, as a share of the slower one's end-to-end time. */
export function gain({ arms }: Pick<ProfileSection, 'arms'>, faster: string, slower: string): number | null {
  const [left, right] = [faster, slower].map((name) => arms.find(({ arm }) => arm === name)?.e2e_ms);
  return left === undefined || right === undefined ? null : (right - left) / right;
}

function profileOf(
  { profiles = [] }: LabSummary,
  scenario: string,
  tokensPerSecond: number,
  profile = 'hosted',
): ProfileSection | undefined {
  return profiles.find(
    (one) =>
      one.scenario === scenario && one.profile === profile && one.tokens_per_second === tokensPerSecond,
  );
}

function undecided(about: Pick<Ruled, 'id' | 'statement' | 'decided_by' | 'engine'>): Ruled {
  return { ...about, effect: '–', verdict: 'undecided', because: 'this run did not reach it', p: null };
}

/** Told beside H1 and not part of its rule: a server that reads its stored history again at every turn. */
function readAgain(gains: readonly (number | null)[]): string {
  const known = gains.filter((value): value is number => value !== null);
  if (known.length < gains.length) return '';
  return ` (over a store whose history is read and classified again at every turn: ${known.map(percent).join(', ')})`;
}

/** The speeds at which the lab looks, in tokens/s. */
export const speeds = [65, 250, 1000, 4000] as const;

function h1(summary: LabSummary): Ruled {
  const about = {
    id: 'H1',
    statement: 'Shipped gains 15 % over HTTP with a store only with fast models and fast tools.',
    decided_by: 'profiles[claim-regime, claim-mean; hosted]',
    engine: 'virtual',
  } as const;
  const gains = (scenario: string, over = 'chain-http'): (number | null)[] =>
    speeds.map((speed) => {
      const section = profileOf(summary, scenario, speed);
      return section === undefined ? null : gain(section, 'chain-ws', over);
    });
  const [fast, slow] = [gains('claim-regime'), gains('claim-mean')];
  const known = (values: (number | null)[]): values is number[] => values.every((value) => value !== null);
  if (!known(fast) || !known(slow)) return undecided(about);
  const holds =
    fast.every((value, at) => (at < 2 ? value < 0.15 : value >= 0.15)) && slow.every((value) => value < 0.15);
  return {
    ...about,
    effect: `${fast.map(percent).join(', ')} at ${speeds.join(', ')} tokens/s; at most ${percent(Math.max(...slow))} at mean tool times${readAgain(gains('claim-regime', 'chain-http read again'))}`,
    verdict: holds ? 'supported' : 'refuted',
    because: holds
      ? 'the gain passes 15 % from 1,000 tokens/s on and nowhere else'
      : 'the gain does not pass 15 % just where it was said to',
    p: null,
  };
}

/** Milliseconds a turn within which two transports count as equal. */
const equalMs = 1;

function transportRow({ bare = [] }: LabSummary): Difference | undefined {
  return bare.find(({ left, right }) => left === 'replay-ws' && right === 'replay-http');
}

function h2(summary: LabSummary): Ruled {
  const about = {
    id: 'H2',
    statement: 'At equal payload and work, a socket and kept HTTP differ by less than 1 ms a turn.',
    decided_by: 'bare[replay-ws − replay-http]',
    engine: 'real',
  } as const;
  const row = transportRow(summary);
  const interval = row?.ms_per_turn.interval ?? null;
  if (row === undefined || interval === null) return undecided(about);
  const { low, high } = interval;
  const inside = low > -equalMs && high < equalMs;
  const outside = high < -equalMs || low > equalMs;
  return {
    ...about,
    effect: `${ms(row.ms_per_turn.mean)} a turn [${ms(low)}, ${ms(high)}]`,
    verdict: inside ? 'supported' : outside ? 'refuted' : 'undecided',
    because: inside
      ? 'the interval lies within ±1 ms'
      : outside
        ? 'the interval lies outside ±1 ms'
        : 'the interval reaches across the bound: more blocks are needed',
    p: row.ms_per_turn.p_value,
  };
}

function h3({ invariance = [] }: LabSummary): Ruled {
  const about = {
    id: 'H3',
    statement: 'Prototype − shipped per turn does not depend on RTT, context, output, tools or turns.',
    decided_by: 'invariance[]',
    engine: 'virtual',
  } as const;
  const worst = (restarts: boolean) =>
    invariance
      .filter((one) => one.restarts_after_idle === restarts)
      .toSorted((left, right) => right.spread_ms - left.spread_ms)[0];
  const [open, small] = [worst(false), worst(true)];
  if (open === undefined || small === undefined) return undecided(about);
  const holds = open.spread_ms <= 1 && small.spread_ms <= 1;
  return {
    ...about,
    effect: `at most ${ms(open.spread_ms)} (${open.factor}) with open windows, ${ms(small.spread_ms)} (${small.factor}) with windows that restart`,
    verdict: holds ? 'supported' : 'refuted',
    because: holds
      ? 'nothing changes it by more than 1 ms'
      : open.spread_ms <= 1
        ? 'it holds with open windows; where an idle window restarts, a create that sends its tools again takes round trips that an append does not'
        : `${open.factor} changes it even with open windows`,
    p: null,
  };
}

function h4({ frontier = [] }: LabSummary): Ruled {
  const about = {
    id: 'H4',
    statement: 'What a create must cost beyond an append for 5 % falls as the model gets faster.',
    decided_by: 'frontier[claim-regime].threshold_ms',
    engine: 'virtual',
  } as const;
  const curve = speeds.map(
    (speed) =>
      frontier.find((one) => one.scenario === 'claim-regime' && one.tokens_per_second === speed) ?? null,
  );
  if (curve.some((one) => one === null)) return undecided(about);
  const thresholds = curve.map((one) => one?.threshold_ms ?? Infinity);
  const [slowest = Infinity, , fast = Infinity] = thresholds;
  const falls = thresholds.every((value, at) => at === 0 || value <= (thresholds[at - 1] ?? Infinity));
  const holds = falls && fast >= 10 && fast <= 40 && slowest > 100;
  return {
    ...about,
    effect: thresholds
      .map((value, at) => `${value === Infinity ? 'none' : ms(value)} at ${speeds[at] ?? 0} tokens/s`)
      .join(', '),
    verdict: holds ? 'supported' : 'refuted',
    because: holds ? 'the curve falls as it was said to' : 'the curve lies elsewhere',
    p: null,
  };
}

function h5({ factors = [] }: LabSummary): Ruled {
  const about = {
    id: 'H5',
    statement: "Work done ahead gives the shipped design at least 80 % of the prototype's gain.",
    decided_by: 'factors[claim-regime, hosted].ahead',
    engine: 'virtual',
  } as const;
  const section = factors.find((one) => one.scenario === 'claim-regime' && one.profile === 'hosted');
  if (section === undefined) return undecided(about);
  const { share, ms_per_turn } = section.ahead;
  const holds = share >= 0.8;
  return {
    ...about,
    effect: `${percent(share)} of the gain, ${ms(ms_per_turn)} a turn`,
    verdict: holds ? 'supported' : 'refuted',
    because: holds
      ? 'the work hides behind the tools'
      : 'part of the gain is not work that can be done ahead: what is sent, and how often',
    p: null,
  };
}

function h6({ cold = [] }: LabSummary): Ruled {
  const about = {
    id: 'H6',
    statement: 'In rollouts of one or two turns a cold socket is slower than warm HTTP.',
    decided_by: 'cold[single, hosted]',
    engine: 'virtual',
  } as const;
  const at = (arm: string) =>
    cold.filter((one) => one.scenario === 'single' && one.profile === 'hosted' && one.arm === arm);
  const pairs = at('chain-ws').flatMap((socket) => {
    const http = at('chain-http').find(({ rtt_ms }) => rtt_ms === socket.rtt_ms);
    return http === undefined
      ? []
      : [{ rtt: socket.rtt_ms, cold: socket.cold_ms - http.warm_ms, warm: socket.warm_ms - http.warm_ms }];
  });
  if (pairs.length === 0) return undecided(about);
  const holds = pairs.every((one) => one.cold > 0);
  return {
    ...about,
    effect: pairs
      .map(({ rtt, cold: c, warm }) => `RTT ${rtt}: cold ${ms(c)}, warm ${ms(warm)} a rollout`)
      .join('; '),
    verdict: holds ? 'supported' : 'refuted',
    because: holds
      ? 'opening a socket takes longer than it saves; a warm one may still be faster'
      : 'at short round trips the assumed work saved is more than the opening costs',
    p: null,
  };
}

function h7(summary: LabSummary): Ruled {
  const about = {
    id: 'H7',
    statement: 'At mean tool times every gain is below 3 %.',
    decided_by: 'profiles[claim-mean, hosted, 1000]',
    engine: 'virtual',
  } as const;
  const section = profileOf(summary, 'claim-mean', 1000);
  if (section === undefined) return undecided(about);
  const steps = [
    ['chain-http', 'replay-http'],
    ['chain-ws', 'chain-http'],
    ['append-ws', 'chain-ws'],
  ] as const;
  const gains = steps.map(([faster, slower]) => gain(section, faster, slower) ?? 0);
  const holds = gains.every((value) => value < 0.03);
  return {
    ...about,
    effect: steps.map(([faster], at) => `${faster} ${percent(gains[at] ?? 0)}`).join(', '),
    verdict: holds ? 'supported' : 'refuted',
    because: holds ? 'tools take all the time there is' : 'a gain is larger than that',
    p: null,
  };
}

function h8({ residency = [] }: LabSummary): Ruled {
  const about = {
    id: 'H8',
    statement:
      'At equal time to live, prototype and shipped hold the model state for the same token-seconds.',
    decided_by: 'residency[]',
    engine: 'virtual',
  } as const;
  const of = (arm: string) => residency.filter((one) => one.arm === arm);
  const differences = of('append-ws').flatMap((left) => {
    const right = of('chain-ws').find((one) => one.scenario === left.scenario && one.ttl_ms === left.ttl_ms);
    return right === undefined ? [] : [Math.abs(left.token_seconds / right.token_seconds - 1)];
  });
  if (differences.length === 0) return undecided(about);
  const most = Math.max(...differences);
  const holds = most < 0.01;
  return {
    ...about,
    effect: `at most ${percent(most)} apart over ${differences.length} cells`,
    verdict: holds ? 'supported' : 'refuted',
    because: holds
      ? 'who holds it is a policy and no property of a design'
      : 'the designs hold it differently',
    p: null,
  };
}

/** All verdicts, in order. Where a p-value exists it is adjusted for the number of those that do (Holm). */
export function judge(summary: LabSummary): Verdict[] {
  const ruled = [h1, h2, h3, h4, h5, h6, h7, h8].map((rule) => rule(summary));
  const tested = ruled.filter(({ p }) => p !== null);
  const adjusted = holm(tested.map(({ p }) => p ?? 1));
  return ruled.map(({ p, ...verdict }) => ({
    ...verdict,
    p_adjusted: p === null ? null : (adjusted[tested.findIndex(({ id }) => id === verdict.id)] ?? null),
  }));
}
