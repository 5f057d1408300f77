/** The scenarios that come with the project. */
import type { Scenario } from './scenario.js';
import { terminalPreamble, terminalRollouts } from './terminal.js';

const terminal: Scenario = {
  name: 'terminal',
  question:
    'What does a design gain on real terminal agent rollouts, with their real lengths and real tool times?',
  source:
    'Real: turns, calls, tool times and token totals of 950 Terminal-Bench 2 rollouts over a Responses WebSocket, ' +
    'from github.com/gakonst/nanocodex at 6a9debd2 (MIT or Apache-2.0); all rollouts of its runners harness and ' +
    'harness-v1, whatever their verdict. Drawn: how the token totals of a rollout spread over its turns, the length of ' +
    'the first message, and which of the parallel calls of a turn (25 of 5,474 turns) took the rest of its tool time; ' +
    'weights from the same source and, for tool outputs, from github.com/callanjfox/kv-cache-tester at 94f6046d ' +
    '(Apache-2.0). Assumed: instructions of 800 tokens and 4 tools of about 2 kB.',
  ...terminalPreamble,
  rollouts: terminalRollouts(),
};

const claimRegime: Scenario = {
  name: 'claim-regime',
  question:
    'What does a design gain where a 40 % gain was claimed: many short turns with fast tools on a large context?',
  source:
    'Constants: 875 tokens appended and 214 written per turn and 0.1 s per tool are published medians of TraceLab ' +
    '(github.com/uw-syfi/TraceLab, CC BY 4.0). 21 turns and 60,000 tokens are chosen to reach the regime of the ' +
    'claim; no real rollout is like this. Assumed: 100 of the 214 tokens are arguments, instructions of 2,000 tokens, ' +
    '24 tools of 15.5 kB.',
  instructions_tokens: 2000,
  tools_count: 24,
  tools_bytes: 15_500,
  drawn: {
    turns: 21,
    context_tokens: 60_000,
    output_tokens: 114,
    final_output_tokens: 214,
    calls: 1,
    arguments_tokens: 100,
    tool_ms: 100,
    tool_output_tokens: 875,
  },
};

const single: Scenario = {
  name: 'single',
  question: 'What does a design cost where there is hardly anything to gain: one tool call, or none?',
  source:
    'Constants, chosen: 3,000 tokens of context, 300 appended, 214 written per turn, 0.1 s per tool, one tool of ' +
    '600 bytes, instructions of 400 tokens. One turn or two, drawn with equal chance.',
  instructions_tokens: 400,
  tools_count: 1,
  tools_bytes: 600,
  drawn: {
    // Rounded, half of the draws are 1 and half are 2.
    turns: { p: [0, 100], v: [1, 2] },
    context_tokens: 3000,
    output_tokens: 114,
    final_output_tokens: 214,
    calls: 1,
    arguments_tokens: 100,
    tool_ms: 100,
    tool_output_tokens: 300,
  },
};

/** By name. */
export const builtinScenarios: ReadonlyMap<string, Scenario> = new Map(
  [terminal, claimRegime, single].map((scenario) => [scenario.name, scenario]),
);
