/** Scenarios and traces as text for a terminal. */
import {
  builtinScenarios,
  expectedTokens,
  headlineScenarios,
  requestsOf,
  traceFormats,
  type FollowUp,
  type ReadFile,
  type Rollout,
  type Scenario,
} from '../scenarios/index.js';
import { plain } from './table.js';

/** A whole number with its thousands told apart. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export function amount(count: number, noun: string): string {
  return `${whole(count)} ${noun}${count === 1 ? '' : 's'}`;
}

function milliseconds(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 100 ? 1 : 0 });
}

function sourceOf({ rollouts, drawn }: Scenario, headline: boolean): string {
  const kind = rollouts === undefined ? 'drawn' : amount(rollouts.length, 'rollout');
  return [
    ...(headline ? ['headline'] : []),
    kind,
    ...(drawn?.follow_ups !== undefined ||
    rollouts?.some((rollout) => rollout.follow_ups !== undefined) === true
      ? ['several requests of the user']
      : []),
  ].join(', ');
}

/** Every built-in scenario with its question, and what can be imported. */
export function listText(): string {
  return [
    ...Array.from(builtinScenarios.values(), (scenario) => {
      const { name, question } = scenario;
      return `${name} (${sourceOf(scenario, headlineScenarios.includes(name))})\n  ${question}`;
    }),
    '',
    'Headline scenarios are rollouts that happened, each carried in whole.',
    '',
    'Traces that "scenarios import" and "scenarios check" read:',
    ...traceFormats.map(({ name, from }) => `  ${name.padEnd(16)} ${from}`),
  ].join('\n');
}

/** Where a follow-up begins. */
function beginsText({ pause_ms, model_change }: FollowUp): string {
  const pause = pause_ms > 0 ? ` after ${milliseconds(pause_ms / 1000)} s` : '';
  return `user${pause}${model_change ? ', other model' : ''}`;
}

/** A row for each turn. What a turn reads anew is a message of the user, or the outputs of the turn before. */
function turnRows(requests: readonly FollowUp[]): string[][] {
  let read = 0;
  let context = 0;
  let number = 0;
  return requests.flatMap((request) => {
    read += request.context_tokens;
    return request.turns.map(({ output_tokens, calls }, index) => {
      context += read;
      const written = calls.reduce((sum, call) => sum + call.arguments_tokens, output_tokens);
      const row = [
        String(++number),
        whole(read),
        whole(context),
        whole(written),
        String(calls.length),
        calls.length === 0 ? '–' : milliseconds(Math.max(...calls.map(({ tool_ms }) => tool_ms))),
        index === 0 ? beginsText(request) : '',
      ];
      context += written;
      read = calls.reduce((sum, call) => sum + call.output_tokens, 0);
      return row;
    });
  });
}

/** A rollout turn by turn, as if nothing was ever compacted. */
export function rolloutText(rollout: Rollout): string {
  const requests = requestsOf(rollout);
  const head = ['turn', 'tokens in', 'context', 'tokens out', 'calls', 'slowest tool ms'];
  const rows = turnRows(requests);
  const several = requests.length > 1;
  const { turns, calls, inputTokens, outputTokens, toolMs, toolMsSum } = expectedTokens(rollout);
  return [
    several
      ? plain([...head, 'begins'], rows)
      : plain(
          head,
          rows.map((row) => row.slice(0, head.length)),
        ),
    `${several ? `${amount(requests.length, 'request')} of the user, ` : ''}${amount(turns, 'turn')}, ` +
      `${amount(calls, 'call')}; ${whole(inputTokens)} tokens in, ${whole(outputTokens)} out; tools ` +
      `${milliseconds(toolMs)} ms when the calls of a turn run in parallel, ${milliseconds(toolMsSum)} ms one by one.`,
  ].join('\n');
}

/** What a scenario is, above the table of one of its rollouts. */
export function scenarioText(scenario: Scenario, number: number, rollout: Rollout): string {
  const { name, question, source, instructions_tokens, tools_count, tools_bytes, rollouts } = scenario;
  const of = rollouts === undefined ? 'drawn' : `of ${rollouts.length}`;
  const { compact_threshold_tokens } = scenario;
  return [
    `${name}: ${question}`,
    `Source: ${source}`,
    `In every context besides: instructions of ${whole(instructions_tokens)} tokens, ${amount(tools_count, 'tool')} of ` +
      `${whole(tools_bytes)} bytes.`,
    ...(compact_threshold_tokens === undefined
      ? []
      : [
          `Compacted before a turn that would begin above ${whole(compact_threshold_tokens)} tokens; the table is as if not.`,
        ]),
    '',
    `Rollout ${number} (${of})${rollout.label === undefined ? '' : `: ${rollout.label}`}`,
    rolloutText(rollout),
  ].join('\n');
}

function rolloutsOf(file: ReadFile): readonly Rollout[] {
  return file.scenario === undefined
    ? file.sessions.flatMap(({ rollouts }) => rollouts)
    : (file.scenario.rollouts ?? []);
}

/** A line for each file that could be read, and their sums. */
export function filesText(files: readonly ReadFile[]): string {
  const cells = (format: string, rollouts: readonly Rollout[]): string[] => {
    const totals = rollouts.map(expectedTokens);
    const sum = (field: 'turns' | 'calls' | 'inputTokens' | 'outputTokens' | 'toolMsSum'): number =>
      totals.reduce((all, total) => all + total[field], 0);
    return [
      format,
      whole(rollouts.length),
      whole(sum('turns')),
      whole(sum('calls')),
      whole(sum('inputTokens')),
      whole(sum('outputTokens')),
      (sum('toolMsSum') / 1000).toFixed(1),
    ];
  };
  const drawn = (file: ReadFile): boolean => file.scenario?.drawn !== undefined;
  const rows = files.map((file) => [
    file.path,
    ...(drawn(file) ? [file.format, 'drawn', '–', '–', '–', '–', '–'] : cells(file.format, rolloutsOf(file))),
  ]);
  if (files.length > 1) rows.push([`${files.length} files`, ...cells('', files.flatMap(rolloutsOf))]);
  return plain(['file', 'format', 'rollouts', 'turns', 'calls', 'tokens in', 'tokens out', 'tool s'], rows);
}
