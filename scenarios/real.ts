/** The headline scenarios: rollouts that happened, each carried in whole, so that lengths, tokens and times go together. */
import { codingPreamble, codingRollouts } from './coding.js';
import type { Rollout, Scenario } from './scenario.js';
import { supportPreamble, supportRollouts } from './support.js';
import { terminalPreamble, terminalRollouts } from './terminal.js';

/** Its rollouts are read from the carried numbers when somebody first asks for them. */
function carried(words: Omit<Scenario, 'rollouts'>, read: () => Rollout[]): Scenario {
  let rollouts: Rollout[] | null = null;
  return {
    ...words,
    get rollouts() {
      return (rollouts ??= read());
    },
  };
}

const terminal = carried(
  {
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
  },
  terminalRollouts,
);

const codingReplay = carried(
  {
    name: 'coding-replay',
    question:
      'What does a design gain on real coding rollouts, whose contexts are large and whose pauses are long?',
    source:
      'Real: turns, and context, output and pause of each turn, of 250 coding rollouts with 5 turns or more, sampled from ' +
      'github.com/callanjfox/kv-cache-tester at 94f6046d (Apache-2.0), counted by its own tokenizer. Tool time is the pause before the next request, ' +
      'whole seconds: an upper bound, because it holds the client and people too, and nothing tells how much of it they ' +
      'are. 67 of 4,931 pauses are longer than 600 s, the most the agent lets a command run by default; they count as ' +
      '600 s, which leaves 159,717 of 215,681 s. Assumed: one call a turn, its arguments half of what the turn wrote; ' +
      'instructions of 2,000 tokens and 16 tools of 42 kB, about the smallest that traces of the source have.',
    ...codingPreamble,
  },
  codingRollouts,
);

const support = carried(
  {
    name: 'support',
    question:
      'What does a design gain in real conversations with a customer, where requests are short and tools take no time?',
    source:
      'Real: requests of the user, turns, and tokens of every message, call and tool output of 200 customer-service ' +
      'rollouts of the τ-bench airline domain by gpt-4o, from github.com/sierra-research/tau-bench at 59a200c6 (MIT); ' +
      'length of the system message and of the 14 tools. The user is simulated there, and its thinking is left out. ' +
      'Assumed: 1 ms for each call of a tool, because they read a database in memory and no times are recorded.',
    ...supportPreamble,
  },
  supportRollouts,
);

export const realScenarios: readonly Scenario[] = [terminal, codingReplay, support];
