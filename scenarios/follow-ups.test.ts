import assert from 'node:assert/strict';

import { overEveryNetwork } from '../transport/testing/wire.js';
import { builtinScenarios, parseScenario, rolloutOf } from './index.js';
import { assertEqual, inEveryDesign, type Played } from './testing/played.js';

const call = { arguments_tokens: 12, tool_ms: 0, output_tokens: 40 };

/** A conversation of three requests, of which the second goes to the other model and the third back to the first. */
const threeRequests = parseScenario({
  name: 'three-requests',
  question: 'Does a conversation go on?',
  source: 'Made up.',
  instructions_tokens: 30,
  tools_count: 1,
  tools_bytes: 400,
  rollouts: [
    {
      context_tokens: 100,
      turns: [{ output_tokens: 5, calls: [call] }, { output_tokens: 20 }],
      follow_ups: [
        {
          pause_ms: 60_000,
          context_tokens: 15,
          context_text: { tokens: 2, text: 'And now?' },
          model_change: true,
          turns: [
            { output_tokens: 0, calls: [call, call] },
            { output_tokens: 0, calls: [call] },
            { output_tokens: 8 },
          ],
        },
        { context_tokens: 10, model_change: true, turns: [{ output_tokens: 6 }] },
      ],
    },
  ],
});

function passages({ stageRuns }: Played): number[] {
  return ['pre.validate', 'append.validate', 'post.bill'].map((stage) => stageRuns[stage]?.runs ?? 0);
}

overEveryNetwork(
  'follow-ups go on from the kept conversation, the same in every design over both transports',
  async (wire) => {
    const played = await inEveryDesign(wire, threeRequests, 0);
    assertEqual(played, threeRequests, 0);
    for (const [design, { report }] of played) {
      assert.deepEqual(
        report.turns.map(({ turn }) => turn),
        [1, 2, 3, 4, 5, 6],
        `${design}: turns are numbered through`,
      );
      const [, , second, , , third] = report.turns.map(
        ({ usage }) => usage?.input_tokens_details.cached_tokens,
      );
      assert.equal(second, 0, `${design}: the other model holds nothing`);
      assert.ok((third ?? 0) > 0, `${design}: the first one holds what it read`);
    }
    for (const transport of ['ws', 'http']) {
      const of = (design: string): number[] => {
        const one = played.get(`${design}-${transport}`);
        assert.ok(one);
        return passages(one);
      };
      assert.deepEqual(of('append'), [3, 3, 3], 'once for each request of the user');
      assert.deepEqual(of('shim'), [3, 3, 3]);
      assert.deepEqual(of('chain'), [6, 0, 6]);
      assert.deepEqual(of('replay'), [6, 0, 6]);
    }
  },
);

overEveryNetwork(
  'a real conversation with a customer is the same in every design over both transports',
  async (wire) => {
    const support = builtinScenarios.get('support');
    assert.ok(support);
    const index = 3;
    assert.ok((rolloutOf(support, 1, index).follow_ups?.length ?? 0) > 2);
    assertEqual(await inEveryDesign(wire, support, index), support, index);
  },
);
