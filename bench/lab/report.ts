/** A summary of the lab as text for a terminal. */
import { machineText } from '../report.js';
import { plain } from '../table.js';
import { capacityText } from '../virtual/capacity.js';
import { factorText } from '../virtual/factors.js';
import { anchorsText, machineCostsText } from './anchors.js';
import { gain } from './hypotheses.js';
import { networkText } from './network-sections.js';
import type { Difference, FrontierSection, LabSummary, ProfileSection } from './sections.js';

const ms = (value: number): string => `${value > 0 ? '+' : ''}${value.toFixed(2)}`;
const percent = (share: number | null): string => (share === null ? '–' : `${(share * 100).toFixed(1)} %`);

function differenceRow(one: Difference): string[] {
  const { mean, interval } = one.ms_per_turn;
  const smallest = one.smallest_detectable_ms_per_turn;
  return [
    `${one.scenario}, ${one.tokens_per_second} tokens/s: ${one.left} − ${one.right}`,
    String(one.rollouts),
    ms(mean),
    interval === null ? 'under 12 blocks' : `${ms(interval.low)} to ${ms(interval.high)}`,
    percent(one.relative),
    percent(one.relative_at_true_tool_time),
    smallest === null ? '–' : smallest.toFixed(2),
  ];
}

function bareText(rows: readonly Difference[]): string {
  const head = ['measured, nothing simulated but model and tools', 'blocks', 'ms per turn', '95 % interval'];
  const shares = ['of end to end', 'at true tool time', 'smallest detectable'];
  return plain([...head, ...shares], rows.map(differenceRow));
}

function profileText(sections: readonly ProfileSection[]): string {
  const rows = sections.map((section) => {
    const { scenario, profile, tokens_per_second, rtt_ms, restarts_after_idle, difference } = section;
    return [
      `${scenario}, ${profile}, ${tokens_per_second} tokens/s, RTT ${rtt_ms}${restarts_after_idle ? ', restarts' : ''}`,
      percent(gain(section, 'chain-ws', 'replay-http')),
      percent(gain(section, 'chain-ws', 'chain-http')),
      percent(gain(section, 'append-ws', 'chain-ws')),
      percent(gain(section, 'chain-ws ahead', 'chain-ws')),
      ms(difference.ms_per_turn.mean),
    ];
  });
  return [
    'Service profiles, in virtual time: what each design gains over another, end to end',
    plain(
      [
        'cell',
        'chain-ws over replay-http',
        'over chain-http',
        'append over chain',
        'ahead over chain',
        'append − chain ms',
      ],
      rows,
    ),
  ].join('\n');
}

function frontierText(sections: readonly FrontierSection[]): string {
  const rows = sections.map(({ scenario, tokens_per_second, points, threshold_ms }) => {
    const at = (residual: number): string =>
      percent(
        points.find((point) => point.residual_ms === residual && point.admission_ms === 0)?.relative ?? null,
      );
    return [
      `${scenario}, ${tokens_per_second} tokens/s`,
      ...[0, 10, 40, 160].map(at),
      threshold_ms === null ? 'beyond the axis' : `${threshold_ms.toFixed(1)} ms`,
    ];
  });
  return [
    'Frontier, in virtual time: append − chain where a create costs that much more than an append, and where it passes 5 %',
    plain(['cell', '0 ms', '10 ms', '40 ms', '160 ms', 'passes 5 % at'], rows),
  ].join('\n');
}

function verdictText({ hypotheses = [], claims = [] }: LabSummary): string {
  const lines = hypotheses.map(
    ({ id, statement, verdict, effect, because, p_adjusted }) =>
      `${id} ${verdict.toUpperCase()}: ${statement}\n   ${effect}${p_adjusted === null ? '' : `, p ${p_adjusted.toFixed(3)} adjusted`}; ${because}`,
  );
  const published = claims.map(
    ({ claim, source, verdict, because }) => `"${claim}" (${source})\n   ${verdict}: ${because}`,
  );
  return ['Hypotheses', ...lines, '', 'Published claims', ...published].join('\n');
}

/** Everything that a run has reached. */
export function labText(summary: LabSummary): string {
  const {
    bare = [],
    anchors = [],
    machine = [],
    network = [],
    profiles = [],
    frontier = [],
    factors = [],
    capacity = [],
  } = summary;
  const parts = [
    bare.length > 0 ? bareText(bare) : '',
    anchors.length > 0 ? anchorsText(anchors) : '',
    machine.length > 0 ? machineCostsText(machine) : '',
    network.length > 0 ? networkText(network) : '',
    profiles.length > 0 ? profileText(profiles) : '',
    frontier.length > 0 ? frontierText(frontier) : '',
    ...factors.map(factorText),
    capacity.length > 0 ? capacityText(capacity) : '',
    verdictText(summary),
    'Real: engine, stages, tokeniser, sockets, HTTP, processes (where it says measured). Simulated: model, tools, service costs;',
    'in virtual time the network and the text too. Seed, machine and costs stand in the manifest beside the result.',
    `${machineText(summary.manifest)}; seed ${summary.seed}`,
    summary.partial ? 'Ended early: sections that are missing were not reached; --resume goes on.' : '',
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}
