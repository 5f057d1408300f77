/** A prediction as text for a terminal. */
import { limitsWith } from '../engine/index.js';
import { expectedTokens, requestsOf, type Rollout, type Scenario } from '../scenarios/index.js';
import { amount, whole } from './scenarios-report.js';
import { blocksMinForInterval } from './statistics.js';
import { materialShare } from './summary.js';
import { plain } from './table.js';
import { prototype, shipped } from './virtual/arm.js';
import { factorSentence, switchTable } from './virtual/factors.js';
import type { DesignPrediction, Estimate, Saving } from './whatif-estimates.js';
import type { WhatIf } from './whatif.js';

/** Two decimals where one would leave nothing. */
const percent = (share: number): string => `${(share * 100).toFixed(Math.abs(share) < 0.01 ? 2 : 1)} %`;
const seconds = (ms: number): string => (ms / 1000).toFixed(ms < 10_000 ? 3 : ms < 100_000 ? 2 : 1);
const perTurn = (ms: number): string => ms.toFixed(2);

export interface Opening {
  readonly path: string;
  readonly scenario: Scenario;
  /** Calls of it without a recorded time. */
  readonly untimed: number;
  readonly rollouts: number;
  readonly seed: number;
  readonly tps: number;
  readonly tpsFrom: string;
  readonly prefillTps: number;
  readonly rttMs: number;
  readonly bandwidthMbit: number;
  readonly restartsAfterIdle: boolean;
  /** What the service costs. */
  readonly cost: string;
}

function realText(given: readonly Rollout[]): string {
  const totals = given.map(expectedTokens);
  const sum = (field: 'turns' | 'calls' | 'inputTokens' | 'outputTokens' | 'toolMsSum'): number =>
    totals.reduce((total, one) => total + one[field], 0);
  return (
    `Real: ${amount(given.length, 'rollout')} of ${amount(sum('turns'), 'turn')} and ${amount(sum('calls'), 'call')}, ` +
    `${whole(sum('inputTokens'))} tokens in and ${whole(sum('outputTokens'))} out, tools of ${seconds(sum('toolMsSum'))} s.`
  );
}

function toolNotes(given: readonly Rollout[], untimed: number): string[] {
  const { suspensionMsMax } = limitsWith();
  const calls = given.flatMap((rollout) =>
    requestsOf(rollout).flatMap(({ turns }) => turns.flatMap((turn) => turn.calls)),
  );
  const long = calls.filter(({ tool_ms }) => tool_ms > suspensionMsMax).length;
  return [
    ...(untimed > 0
      ? [
          `Note: of ${amount(calls.length, 'call')}, ${whole(untimed)} have no recorded time and take none, so that shares of ` +
            'the whole time are upper bounds.',
        ]
      : []),
    ...(long > 0
      ? [
          `Note: ${amount(long, 'call')} took longer than a suspension lasts by default, ${suspensionMsMax / 60_000} min; here ` +
            'none expires.',
        ]
      : []),
  ];
}

/** What is real, drawn and simulated, before anything is played. */
export function openingText(opening: Opening): string {
  const { path, scenario, untimed, rollouts, seed, tps, tpsFrom, prefillTps, rttMs, bandwidthMbit, cost } =
    opening;
  const windows = opening.restartsAfterIdle ? 'start small after idle time (--keep-window)' : 'stay open';
  const given = scenario.rollouts;
  const some = given !== undefined && rollouts < given.length;
  return [
    `What if: ${path}`,
    ...(given === undefined
      ? [`Drawn: ${amount(rollouts, 'rollout')}, field by field, by seed ${seed}; nothing of them happened.`]
      : [
          realText(given),
          `Drawn: ${some ? `which ${rollouts} of them are played, by seed ${seed}` : 'nothing'}.`,
          ...toolNotes(given, untimed),
        ]),
    `Source: ${scenario.source}`,
    `Simulated: the model, at ${whole(tps)} tokens/s out (${tpsFrom}) and ${whole(prefillTps)} in, its state kept between turns ` +
      `in every design; the network, at a round trip of ${rttMs.toFixed(1)} ms and ${bandwidthMbit} Mbit/s, with windows ` +
      `that ${windows}; the service.`,
    `Service, fixed work of a create beyond an append: ${cost}`,
    'This is a prediction in virtual time: the engine’s own code on a simulated clock, without what the machine itself takes. ' +
      'How such predictions agree with real runs, the anchors of the lab tell (bench/lab/anchors.ts).',
  ].join('\n');
}

/** The interval or, where there is none, the range over rollouts. */
function spread({ interval, range }: Estimate, told: (value: number) => string): string {
  const { low, high } = interval ?? range;
  return `${told(low)} … ${told(high)}`;
}

function savingCells(saving: Saving | undefined, arm: string): string[] {
  if (saving === undefined || saving.against === arm) return ['–', '–', '–', '–'];
  return [
    perTurn(saving.ms_per_turn.value),
    spread(saving.ms_per_turn, perTurn),
    percent(saving.share),
    percent(saving.share_outside_tools),
  ];
}

const cells = ({ arm, e2e_ms }: DesignPrediction): string[] => [
  arm,
  seconds(e2e_ms.value),
  spread(e2e_ms, seconds),
];

function designTable({ designs, rollouts }: WhatIf): string {
  const between = rollouts < blocksMinForInterval ? 'range' : '95 % interval';
  const [first] = designs;
  const others = first?.savings.map(({ against }) => against) ?? [];
  const timeTable = plain(
    ['design', 'end to end, s', between],
    designs.map((design) => cells(design)),
  );
  const savingTables = others.map((against, at) =>
    plain(
      [
        `against ${against}`,
        'ms saved per turn',
        between,
        '% at true tool time',
        '% of what is no tool time',
      ],
      designs.flatMap(({ arm, savings }) =>
        arm === against ? [] : [[arm, ...savingCells(savings[at], arm)]],
      ),
    ),
  );
  return [timeTable, ...savingTables].join('\n');
}

function spreadNote({ rollouts }: WhatIf): string {
  return rollouts < blocksMinForInterval
    ? `No interval under ${blocksMinForInterval} rollouts: the range is from the least to the most of one.`
    : `Intervals: 95 % BCa bootstrap over ${rollouts} rollouts. They tell how rollouts differ; virtual time has no noise.`;
}

/** What the prototype saves the shipped design, and at which fixed cost that would be material. */
function verdict({ designs, turns, rollouts, gain_per_fixed_ms: gain }: WhatIf): string {
  const saving = designs
    .find(({ arm }) => arm === prototype.name)
    ?.savings.find(({ against }) => against === shipped.name);
  const chain = designs.find(({ arm }) => arm === shipped.name);
  if (saving === undefined || chain === undefined) return '';
  const chainPerTurn = (chain.e2e_ms.value * rollouts) / turns;
  const saved = saving.ms_per_turn.value;
  // Both times are straight lines in the fixed cost, so where the share is reached is exact.
  const more = (materialShare * chainPerTurn - saved) / (gain - materialShare);
  const size =
    saving.share >= materialShare ? 'material' : `under the ${percent(materialShare)} that count as material`;
  return [
    `${prototype.name} saves ${perTurn(saved)} ms per turn against ${shipped.name}, ${percent(saving.share)} at true tool time: ${size}.`,
    `Each ms that a create costs beyond an append adds ${perTurn(gain)} ms to it` +
      (more > 0 && Number.isFinite(more)
        ? `; with ${whole(Math.ceil(more))} ms more than assumed here it would reach ${percent(materialShare)}.`
        : '.'),
  ].join('\n');
}

/** What came out. */
export function whatIfText(result: WhatIf): string {
  const { rollouts, turns, calls, tool_ms, left_out, partial, factors } = result;
  return [
    `Played: ${amount(rollouts, 'rollout')}, ${amount(turns, 'turn')}, ${amount(calls, 'call')}; waited for tools: ${seconds(tool_ms / rollouts)} s a rollout.` +
      (left_out > 0 ? ` Left out: ${left_out} that did not complete in every design.` : ''),
    designTable(result),
    spreadNote(result),
    verdict(result),
    ...(factors === null
      ? ['Ended before the switches were played.']
      : [
          'Which switch between the shipped design and the prototype gives it (Shapley share; and alone, on the shipped design):',
          switchTable(factors),
          factorSentence(factors),
        ]),
    ...(partial && factors !== null
      ? ['Ended early: the figures are those of the rollouts that were played.']
      : []),
  ].join('\n');
}
