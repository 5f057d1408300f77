/** Scenarios and traces as text for a terminal. */
import {
  builtinScenarios,
  expectedTokens,
  traceFormats,
  type ReadFile,
  type Rollout,
  type Scenario,
} from '../scenarios/index.js';
import { plain } from './table.js';

function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function amount(count: number, noun: string): string {
  return `${whole(count)} ${noun}${count === 1 ? '' : 's'}`;
}

function milliseconds(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 100 ? 1 : 0 });
}

/** Every built-in scenario with its question, and what can be imported. */
export function listText(): string {
  return [
    ...Array.from(builtinScenarios.values(), ({ name, question }) => `${name}\n  ${question}`),
    '',
    'Traces that "scenarios import" and "scenarios check" read:',
    ...traceFormats.map(({ name, from }) => `  ${name.padEnd(16)} ${from}`),
  ].join('\n');
}

/** A rollout turn by turn. What a turn reads anew is the first message, or the outputs of the turn before. */
export function rolloutText(rollout: Rollout): string {
  let read = rollout.context_tokens;
  let context = 0;
  const rows = rollout.turns.map(({ output_tokens, calls }, index) => {
    context += read;
    const written = calls.reduce((sum, call) => sum + call.arguments_tokens, output_tokens);
    const row = [
      String(index + 1),
      whole(read),
      whole(context),
      whole(written),
      String(calls.length),
      calls.length === 0 ? '–' : milliseconds(Math.max(...calls.map(({ tool_ms }) => tool_ms))),
    ];
    context += written;
    read = calls.reduce((sum, call) => sum + call.output_tokens, 0);
    return row;
  });
  const totals = expectedTokens(rollout);
  const { turns, calls, inputTokens, outputTokens, toolMs, toolMsSum } = totals;
  return [
    plain(['turn', 'tokens in', 'context', 'tokens out', 'calls', 'slowest tool ms'], rows),
    `${amount(turns, 'turn')}, ${amount(calls, 'call')}; ${whole(inputTokens)} tokens in, ${whole(outputTokens)} out; tools ` +
      `${milliseconds(toolMs)} ms when the calls of a turn run in parallel, ${milliseconds(toolMsSum)} ms one by one.`,
  ].join('\n');
}

/** What a scenario is, above the table of one of its rollouts. */
export function scenarioText(scenario: Scenario, number: number, rollout: Rollout): string {
  const { name, question, source, instructions_tokens, tools_count, tools_bytes, rollouts } = scenario;
  const of = rollouts === undefined ? 'drawn' : `of ${rollouts.length}`;
  return [
    `${name}: ${question}`,
    `Source: ${source}`,
    `In every context besides: instructions of ${whole(instructions_tokens)} tokens, ${amount(tools_count, 'tool')} of ` +
      `${whole(tools_bytes)} bytes.`,
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
