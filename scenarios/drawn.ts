/** Scenarios whose rollouts are drawn, field by field, or constant: each puts one question that no recording answers. */
import type { Scenario } from './scenario.js';

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

const long: Scenario = {
  name: 'long',
  question: 'Does a gain per turn hold over 100 turns, and across the compaction of the context at turn 60?',
  source:
    'Constants: 875 tokens appended and 214 written per turn and 0.1 s per tool are published medians of TraceLab ' +
    '(github.com/uw-syfi/TraceLab, CC BY 4.0). Chosen: 100 turns, 20,000 tokens at the start, and a threshold between ' +
    'the contexts of turns 59 and 60. The summary is a digest by rule of at most 8,000 characters. Assumed: 100 of the ' +
    '214 tokens are arguments, instructions of 2,000 tokens, 24 tools of 15.5 kB.',
  instructions_tokens: 2000,
  tools_count: 24,
  tools_bytes: 15_500,
  compact_threshold_tokens: 90_000,
  drawn: {
    turns: 100,
    context_tokens: 20_000,
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

const sweReact: Scenario = {
  name: 'swe-react',
  question:
    'What does a design gain for an agent that thinks little and acts often, in many turns of few tokens?',
  source:
    'Drawn, each field by itself, from our tables of 448 rollouts and 9,514 steps of SWE-agent on Multi-SWE-bench, a ' +
    'source without a licence, so that only its statistics are used: turns, output, tokens appended; first contexts and ' +
    'last outputs from 120 of them. Thought and action are one call. Tool times, which that source does not have, from ' +
    '5,474 turns of github.com/gakonst/nanocodex at 6a9debd2 (MIT or Apache-2.0). Assumed: instructions of 1,000 tokens, ' +
    'one tool of 600 bytes.',
  instructions_tokens: 1000,
  tools_count: 1,
  tools_bytes: 600,
  drawn: {
    turns: { p: [0, 5, 10, 25, 50, 75, 90, 95, 99, 100], v: [1, 6, 7, 11, 16, 28, 46, 53, 59, 60] },
    // First contexts, less instructions and tool.
    context_tokens: {
      p: [0, 10, 25, 50, 75, 90, 95, 99, 100],
      v: [5508, 5607, 5672, 5897, 6225, 6823, 7483, 8778, 9047],
    },
    output_tokens: 0,
    final_output_tokens: { p: [0, 25, 50, 75, 90, 95, 99, 100], v: [5, 5, 52, 118, 149, 222, 713, 1621] },
    calls: 1,
    arguments_tokens: {
      p: [0, 5, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 100],
      v: [5, 30, 36, 47, 70, 116, 202, 298, 611, 830, 1552, 3558],
    },
    tool_ms: {
      p: [0, 5, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 100],
      v: [0, 4.5, 7.6, 20.7, 109, 800.2, 6147.7, 23_852.1, 104_121.8, 120_591.1, 431_332.5, 740_573.3],
    },
    tool_output_tokens: {
      p: [0, 5, 10, 25, 40, 50, 60, 65, 70, 75, 80, 90, 95, 99, 99.5, 99.9, 100],
      v: [0, 0, 6, 18, 30, 46, 170, 273, 431, 651, 885, 1078, 1205, 1794, 3293, 34_587, 255_118],
    },
  },
};

const session: Scenario = {
  name: 'session',
  question:
    'What is left of a gain when the user comes back: several requests on one conversation, some to another model?',
  source:
    'Drawn, each field by itself, from statistics of github.com/callanjfox/kv-cache-tester at 94f6046d (Apache-2.0): ' +
    'turns of 7,362 requests of the user, tokens written by 38,180 turns and brought by the tools of 4,931, and pauses ' +
    'before 6,554 requests. Tool time of 0.1 s is the published median of TraceLab (github.com/uw-syfi/TraceLab, CC BY ' +
    '4.0). Chosen: two to six requests, where sessions of either source have ten in the mean, and 20,000 tokens at the ' +
    'start, a fresh session. Assumed: messages of 60 tokens, one follow-up in four to the other model, half of what a ' +
    'turn writes is arguments, instructions of 2,000 tokens, 24 tools of 15.5 kB.',
  instructions_tokens: 2000,
  tools_count: 24,
  tools_bytes: 15_500,
  drawn: {
    turns: { p: [0, 10, 25, 50, 75, 90, 95, 99], v: [1, 1, 1, 2, 4, 15.9, 31, 68.4] },
    context_tokens: 20_000,
    // Halves of what a turn writes.
    output_tokens: { p: [0, 5, 10, 25, 50, 75, 90, 95, 99], v: [45, 45, 53, 70, 108, 215, 449, 772, 1872] },
    arguments_tokens: {
      p: [0, 5, 10, 25, 50, 75, 90, 95, 99],
      v: [45, 45, 53, 70, 108, 215, 449, 772, 1872],
    },
    final_output_tokens: {
      p: [0, 5, 10, 25, 50, 75, 90, 95, 99],
      v: [89, 89, 106, 139, 215, 429, 898, 1544, 3743],
    },
    calls: 1,
    tool_ms: 100,
    tool_output_tokens: {
      p: [0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 100],
      v: [1, 1, 36, 291, 1012, 2961, 5626, 16_364, 22_594, 49_924, 222_529],
    },
    follow_ups: {
      count: { p: [0, 100], v: [0.5, 5.5] },
      pause_ms: {
        p: [0, 5, 10, 25, 50, 75, 90, 95, 99],
        v: [9000, 9000, 16_000, 40_000, 128_500, 429_750, 1_643_700, 3_128_700, 9_321_500],
      },
      context_tokens: 60,
      model_change_share: 0.25,
    },
  },
};

export const drawnScenarios: readonly Scenario[] = [claimRegime, long, single, sweReact, session];
