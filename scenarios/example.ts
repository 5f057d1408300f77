/**
 * A scenario of one's own: an agent that reads two files at once, then runs a slow test. Run it with
 * `node dist/scenarios/example.js`.
 */
import { fileURLToPath } from 'node:url';

import { expectedTokens, parseScenario, rolloutOf, rolloutRequest, toolOutputs } from './index.js';

/** The same object could stand in a JSON file, for `loadScenario`. */
const readThenTest = parseScenario({
  name: 'read-then-test',
  question: 'Does a design gain when one turn makes two calls and the next waits long for one?',
  source: 'Made up.',
  instructions_tokens: 200,
  tools_count: 2,
  tools_bytes: 900,
  rollouts: [
    {
      context_tokens: 500,
      turns: [
        {
          output_tokens: 20,
          calls: [
            { arguments_tokens: 15, tool_ms: 5, output_tokens: 400 },
            { arguments_tokens: 15, tool_ms: 9, output_tokens: 900 },
          ],
        },
        { output_tokens: 0, calls: [{ arguments_tokens: 30, tool_ms: 8000, output_tokens: 60 }] },
        { output_tokens: 120 },
      ],
    },
  ],
});

/** The rollout of a seed as lines of text: what the client asks, then each call and its output. */
export function example(seed: number): string {
  const rollout = rolloutOf(readThenTest, seed, 0);
  const request = rolloutRequest(readThenTest, seed, 0);
  const outputFor = toolOutputs(readThenTest, seed, 0);
  const calls = rollout.turns.flatMap((turn, index) =>
    turn.calls.map((_, call) => {
      const { text, toolMs } = outputFor(index + 1, call);
      return `turn ${index + 1}, call ${call}: ${toolMs} ms,${text.slice(0, 40)} …`;
    }),
  );
  const totals = expectedTokens(rollout);
  return [
    `user:${request.input.slice(0, 40)} …`,
    ...calls,
    `${totals.turns} turns, ${totals.calls} calls, ${totals.inputTokens} tokens in, ${totals.outputTokens} out, ` +
      `${totals.toolMs} ms of tools`,
  ].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(example(1));
