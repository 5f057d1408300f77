import assert from 'node:assert/strict';
import { test } from 'node:test';

import { builtinDesigns, titleOf } from '../transport/designs.js';
import { overEveryNetwork } from '../transport/testing/wire.js';
import { builtinScenarios, parseScenario, rolloutOf } from './index.js';
import { assertEqual, inEveryDesign, spoken, type Played } from './testing/played.js';

/** Twenty-one turns on a small context: the regime of `claim-regime`, without its size. */
const longChain = parseScenario({
  name: 'long-chain',
  question: 'How often does each stage run in a rollout of 21 turns, and over what?',
  source: 'Made up.',
  instructions_tokens: 50,
  tools_count: 1,
  tools_bytes: 400,
  drawn: {
    turns: 21,
    context_tokens: 200,
    output_tokens: 0,
    final_output_tokens: 10,
    calls: 1,
    arguments_tokens: 15,
    tool_ms: 0,
    tool_output_tokens: 30,
  },
});

const scenarios = new Map([...builtinScenarios, [longChain.name, longChain]]);

for (const index of [0, 1])
  overEveryNetwork(
    `rollout ${index} of single ends in the same transcript and bill in every design over both transports`,
    async (wire) => {
      const single = scenarios.get('single');
      assert.ok(single);
      assertEqual(await inEveryDesign(wire, single, index), single, index);
    },
  );

overEveryNetwork(
  'a real rollout with parallel calls ends in the same transcript and bill in every design over both transports',
  async (wire) => {
    const terminal = scenarios.get('terminal');
    assert.ok(terminal);
    const index = 222;
    assert.ok(rolloutOf(terminal, 1, index).turns.some(({ calls }) => calls.length > 1));
    assertEqual(await inEveryDesign(wire, terminal, index), terminal, index);
  },
);

overEveryNetwork(
  'in a rollout of 21 turns each stage runs as often, and over as much, as its design says',
  async (wire) => {
    const played = await inEveryDesign(wire, longChain, 0);
    assertEqual(played, longChain, 0);
    const of = (design: string): Played => {
      const one = played.get(design);
      assert.ok(one);
      return one;
    };
    const runs = (design: string, phase: string): Record<string, number> =>
      Object.fromEntries(
        Object.entries(of(design).stageRuns)
          .filter(([stage]) => stage.startsWith(`${phase}.`))
          .map(([stage, tally]) => [stage.slice(phase.length + 1), tally.runs]),
      );
    const each = (count: number, ...stages: string[]) =>
      Object.fromEntries(stages.map((stage) => [stage, count]));
    const pre = ['validate', 'admit', 'resolve', 'classify', 'render'];
    const append = ['validate', 'admit', 'classify', 'render'];
    const post = ['classify', 'format', 'store', 'bill'];
    const count = { '0': 0, '1': 1, n: 21, 'n - 1': 20 };
    for (const design of builtinDesigns)
      for (const transport of design.transports) {
        const title = titleOf(design, transport);
        const { passages } = design;
        const appends = count[passages.append];
        assert.deepEqual(runs(title, 'pre'), each(count[passages.pre], ...pre), title);
        assert.deepEqual(runs(title, 'append'), appends === 0 ? {} : each(appends, ...append), title);
        assert.deepEqual(runs(title, 'post'), each(count[passages.post], ...post), title);
      }

    const tally = (design: string, stage: string) => of(design).stageRuns[stage] ?? { items: 0, tokens: 0 };
    const rendered = (design: string) =>
      tally(design, 'pre.render').tokens + tally(design, 'append.render').tokens;
    for (const design of ['append-ws', 'append-http', 'shim-ws', 'shim-http']) {
      assert.equal(tally(design, 'append.render').items, 20, 'an append stage sees the new output alone');
      assert.equal(rendered(design), rendered('append-ws'), design);
    }
    for (const design of ['chain-ws', 'chain-http']) {
      assert.equal(tally(design, 'pre.render').items, 21, 'a continuation too');
      assert.equal(rendered(design), rendered('append-ws'), design);
    }
    // One user message, then a call and its output more at each turn.
    const replayed = Array.from({ length: 21 }, (_, turn) => 1 + 2 * turn).reduce(
      (sum, items) => sum + items,
      0,
    );
    for (const design of [...spoken.keys()].filter((name) => name.startsWith('replay'))) {
      assert.equal(tally(design, 'pre.render').items, replayed);
      assert.equal(rendered(design), of(design).readTokens, 'the whole context of every turn');
    }
    assert.ok(rendered('replay-ws') > 10 * rendered('append-ws'));
  },
);

test('every design is played above, over both transports', () => {
  assert.deepEqual(
    [...spoken.keys()],
    [
      'append-ws',
      'append-http',
      'chain-ws',
      'chain-http',
      'shim-ws',
      'shim-http',
      'replay-ws',
      'replay-http',
      'replay-ws + token cache',
      'replay-http + token cache',
    ],
  );
});
