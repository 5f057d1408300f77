/** The results block of the README: what a summary says, for somebody who reads nothing else. Pure. */
import { materialShare } from '../summary.js';
import type { Difference, FactorSection, FrontierSection, LabSummary, NetworkSection } from './sections.js';

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const rule = head.map((_, index) => (index === 0 ? '---' : '--:'));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}

/** With a true minus sign. */
function signed(value: number, decimals: number): string {
  const text = value.toFixed(decimals);
  return text.startsWith('-') ? `−${text.slice(1)}` : text;
}

const percent = (share: number): string => `${signed(share * 100, 2)} %`;
const whole = (value: number): string => value.toLocaleString('en-US');

function differenceRow(one: Difference): string[] {
  const { mean, interval } = one.ms_per_turn;
  const range =
    interval === null ? 'too few blocks' : `${signed(interval.low, 2)} to ${signed(interval.high, 2)}`;
  const smallest = one.smallest_detectable_ms_per_turn;
  return [
    `${one.scenario}, ${whole(one.tokens_per_second)} tokens/s`,
    one.engine,
    `${signed(mean, 2)} (${range})`,
    percent(one.relative),
    percent(one.relative_at_true_tool_time),
    smallest === null ? '–' : smallest.toFixed(2),
  ];
}

const isHeadline = ({ left, right }: Difference): boolean => left === 'append-ws' && right === 'chain-ws';

function differences(title: string, rows: readonly Difference[]): string[] {
  const head = [
    'scenario, speed of the model',
    'engine',
    'ms per turn (95 % interval)',
    'of end-to-end, as run',
    'with tools at their true time',
    'smallest detectable, ms',
  ];
  return rows.length === 0 ? [] : [`${title}\n\n${table(head, rows.map(differenceRow))}`];
}

function bare(rows: readonly Difference[]): string[] {
  const others = rows.filter((one) => !isHeadline(one));
  const pairs = [...new Set(others.map(({ left, right }) => `${left} − ${right}`))];
  return [
    ...differences(
      '**Prototype − shipped, with nothing simulated but model and tools.** Negative: the prototype is faster.',
      rows.filter(isHeadline),
    ),
    ...pairs.flatMap((pair) =>
      differences(
        `The same of \`${pair}\`:`,
        others.filter(({ left, right }) => `${left} − ${right}` === pair),
      ),
    ),
  ];
}

/** Prototype − shipped between two network namespaces, measured beside virtual time. */
function realTcp(sections: readonly NetworkSection[]): string[] {
  const head = ['cell over real TCP', 'blocks', 'measured, ms per turn', 'virtual time, ms per turn'];
  const rows = sections.flatMap(({ name, rtt_ms, blocks, differences: all }) => {
    const of = (engine: Difference['engine']) => all.find((one) => one.engine === engine && isHeadline(one));
    const [real, virtual] = [of('real'), of('virtual')];
    if (real === undefined || virtual === undefined) return [];
    const at = name.includes('RTT') ? name : `${name}, RTT ${rtt_ms}`;
    return [[at, String(blocks), signed(real.ms_per_turn.mean, 1), signed(virtual.ms_per_turn.mean, 1)]];
  });
  if (rows.length === 0) return [];
  const text =
    '**The same over kernel TCP** (two network namespaces; too few blocks for an interval). Tools of 400 ms outlast the ' +
    'retransmission timeout: an idle window has restarted, and a create that sends instructions and tools again waits ' +
    'round trips that an append does not.';
  return [`${text}\n\n${table(head, rows)}`];
}

function frontier(rows: readonly FrontierSection[]): string {
  const speeds = [...new Set(rows.map((one) => one.tokens_per_second))].sort((one, other) => one - other);
  const nameOf = ({ scenario, tool_scale, rtt_ms, restarts_after_idle }: FrontierSection): string =>
    `${scenario}, tools × ${tool_scale}, RTT ${rtt_ms} ms${restarts_after_idle ? ', idle windows restart' : ''}`;
  const names = [...new Set(rows.map(nameOf))];
  const cell = (name: string, speed: number): string => {
    const section = rows.find((one) => nameOf(one) === name && one.tokens_per_second === speed);
    if (section === undefined) return '–';
    return section.threshold_ms === null ? 'none on the axis' : `${section.threshold_ms.toFixed(1)} ms`;
  };
  const head = ['scenario', ...speeds.map((speed) => `${whole(speed)} tokens/s`)];
  const text =
    '**Where it would matter** (virtual time): what a create would have to cost beyond an append, per turn, for a gain of 5 %. Nobody has measured that cost.';
  return `${text}\n\n${table(
    head,
    names.map((name) => [name, ...speeds.map((speed) => cell(name, speed))]),
  )}`;
}

/** With windows that stay open and with windows that restart, which decide between two answers; of one scenario. */
function shownFactors(sections: readonly FactorSection[]): FactorSection[] {
  const [first] = sections;
  return sections.filter(({ scenario }) => scenario === first?.scenario);
}

function factors(section: FactorSection): string {
  const { scenario, profile, tokens_per_second, rtt_ms, restarts_after_idle, shapley, ahead } = section;
  const head = ['one change', 'ms saved per turn', 'share of the gain', 'alone, ms saved per turn'];
  const rows = shapley.map(({ factor, ms_per_turn, share, alone_ms_per_turn }) => [
    factor,
    signed(ms_per_turn, 2),
    `${signed(share * 100, 0)} %`,
    signed(alone_ms_per_turn, 2),
  ]);
  const text =
    `**Which one change gives it** (virtual time, Shapley shares; ${scenario}, profile \`${profile}\`, ` +
    `${whole(tokens_per_second)} tokens/s, RTT ${rtt_ms} ms, ${restarts_after_idle ? 'idle windows restart' : 'windows stay open'}). Work done ahead while tools run would save the shipped design ` +
    `${signed(ahead.ms_per_turn, 2)} ms a turn, ${signed(ahead.share * 100, 0)} % of the gain.`;
  return `${text}\n\n${table(head, rows)}`;
}

function verdicts({ hypotheses = [], claims = [] }: LabSummary): string[] {
  const registered = hypotheses.map(({ id, statement, effect, verdict }) => [id, statement, effect, verdict]);
  const published = claims.map(({ claim, source, verdict, because }) => [claim, source, verdict, because]);
  return [
    ...(registered.length === 0
      ? []
      : [table(['registered before', 'statement', 'found', 'verdict'], registered)]),
    ...(published.length === 0 ? [] : [table(['published', 'by', 'verdict', 'because'], published)]),
  ];
}

function origin({ set, manifest, seed, partial }: LabSummary): string {
  const { cpu, cores, kernel, node, commit, made_at } = manifest;
  const ended = partial ? ' The run was ended early.' : '';
  return (
    `The ${set} set, made ${made_at.slice(0, 10)} on ${cpu}, ${cores} cores, ${kernel}, Node ${node}, commit ` +
    `${commit?.slice(0, 12) ?? 'unknown'}, seed ${seed}.${ended} Every row, its dictionary and all figures: ` +
    `[\`bench/results/${set}\`](bench/results/${set}).`
  );
}

/** What to take away, from the sections that it rests on. */
function finding({ bare: measured = [], anchors = [], factors: switches = [] }: LabSummary): string[] {
  const gains = measured.filter(isHeadline);
  if (gains.length === 0) return [];
  const saved = gains.map(({ ms_per_turn }) => -ms_per_turn.mean);
  const shares = gains.map(({ relative_at_true_tool_time }) => -relative_at_true_tool_time);
  const most = Math.max(...shares);
  const agree = anchors.filter(({ agrees }) => agrees).length;
  const noisy = anchors.filter(({ agrees, agrees_within_noise }) => !agrees && agrees_within_noise).length;
  const open = switches.find(({ restarts_after_idle }) => !restarts_after_idle);
  const ahead =
    open === undefined
      ? '.'
      : `; under assumed service costs, doing a create’s fixed work ahead, while the tools run, gives the shipped design ${signed(open.ahead.share * 100, 0)} % of what the prototype gains.`;
  return [
    `**In one sentence:** with nothing simulated but the model and the tools, one long Response saves ` +
      `${signed(Math.min(...saved), 1)} to ${signed(Math.max(...saved), 1)} ms a turn over the shape that shipped, at most ` +
      `${signed(most * 100, 1)} % of a rollout with tools at their true time, ${most < materialShare ? 'nowhere a material gain (5 %)' : 'somewhere a material gain (5 %)'}` +
      ahead,
    ...(anchors.length === 0
      ? []
      : [
          `Virtual time and measurement agree within 10 % or 0.2 ms a turn in ${agree} of ${anchors.length} anchor cells, in ` +
            `${noisy} more within the noise of the measured difference.`,
        ]),
  ];
}

function pictures({ set, bare: measured, frontier: swept }: LabSummary): string[] {
  const picture = (about: string, name: string): string =>
    `![${about}](bench/results/${set}/figures/${name}.svg)`;
  return [
    ...(measured === undefined ? [] : [picture('Gain of the prototype over model speed', 'gain')]),
    ...(swept === undefined ? [] : [picture('Residual from which the gain passes 5 %', 'frontier')]),
  ];
}

/** A result that is sooner made than the one of the block: what it says of the finding. */
function besides(summary: LabSummary): string[] {
  const rows = (summary.bare ?? []).filter(isHeadline);
  return differences(`**The same, found by another run.** ${origin(summary)}`, rows);
}

/**
 * What stands between the marks of the README. The formatter leaves it as it is.
 * @param beside another result, of which the finding alone is shown. Default: none.
 */
export function resultsBlock(summary: LabSummary, beside: LabSummary | null = null): string {
  const parts = [
    origin(summary),
    ...finding(summary),
    ...(summary.bare === undefined ? [] : bare(summary.bare)),
    ...(beside === null ? [] : besides(beside)),
    ...realTcp(summary.network ?? []),
    ...(summary.frontier === undefined ? [] : [frontier(summary.frontier)]),
    ...pictures(summary),
    ...shownFactors(summary.factors ?? []).map(factors),
    ...verdicts(summary),
  ];
  return `\n<!-- prettier-ignore-start -->\n\n${parts.join('\n\n')}\n\n<!-- prettier-ignore-end -->\n\n`;
}
