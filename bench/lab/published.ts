/** What others have published, held against a summary. Pure. */
import { gain } from './hypotheses.js';
import type { ClaimVerdict, LabSummary, ProfileSection } from './sections.js';

const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;

interface Range {
  readonly low: number;
  readonly high: number;
}

function range(values: readonly (number | null)[]): Range | null {
  const known = values.filter((value): value is number => value !== null);
  return known.length === 0 ? null : { low: Math.min(...known), high: Math.max(...known) };
}

function fast(summary: LabSummary): ProfileSection[] {
  return (summary.profiles ?? []).filter(
    ({ scenario, tokens_per_second }) => scenario === 'claim-regime' && tokens_per_second === 1000,
  );
}

/** A range over assumed services can only say whether the published number lies in it. */
function verdict(
  found: Range | null,
  claimed: number,
  what: string,
): Pick<ClaimVerdict, 'verdict' | 'because'> {
  if (found === null) return { verdict: 'not comparable', because: 'this run did not reach it' };
  const inside = found.low <= claimed && claimed <= found.high;
  const said = `${what}: ${percent(found.low)} to ${percent(found.high)} over the service profiles and round-trip times`;
  return inside
    ? {
        verdict: 'reproduced',
        because: `${said}; the claim lies within, so it follows from assumed costs and is no measurement`,
      }
    : { verdict: 'not reproduced', because: `${said}; the claim lies outside` };
}

export function judgeClaims(summary: LabSummary): ClaimVerdict[] {
  const sections = fast(summary);
  const loops = range(sections.map((section) => gain(section, 'chain-ws', 'replay-http')));
  const stored = range(sections.map((section) => gain(section, 'chain-ws', 'chain-http')));
  const sprint = range(
    sections
      .filter(({ profile }) => profile !== 'bare')
      .map(({ arms }) => {
        const [before, after] = ['replay-http pre-sprint', 'replay-http post-sprint'].map(
          (name) => arms.find(({ arm }) => arm === name)?.first_token_ms,
        );
        return before === undefined || after === undefined ? null : (before - after) / before;
      }),
  );
  return [
    {
      claim: 'agent loops 40 % faster, with 20 and more tool calls',
      source: 'OpenAI, engineering post of April 2026; workload unpublished',
      decided_by: 'profiles[claim-regime, 1000]: chain-ws against replay-http',
      ...verdict(loops, 0.4, 'shipped against the whole history over HTTP'),
    },
    {
      claim: 'about 20 % faster than HTTP with previous_response_id',
      source: "xAI's documentation of its WebSocket mode; no details",
      decided_by: 'profiles[claim-regime, 1000]: chain-ws against chain-http',
      ...verdict(stored, 0.2, 'shipped against HTTP with a store'),
    },
    {
      claim: 'time to first token 45 % better',
      source: 'OpenAI, the sprint of November 2025, before and without sockets',
      decided_by: 'profiles[claim-regime, 1000]: replay-http post-sprint against pre-sprint',
      ...verdict(sprint, 0.45, 'first token of later turns, after against before'),
    },
  ];
}
