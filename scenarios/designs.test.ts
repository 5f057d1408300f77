import assert from 'node:assert/strict';
import { test } from 'node:test';

import { o200kTokenizer, VirtualClock } from '../engine/index.js';
import {
  builtinScenarios,
  parseScenario,
  rolloutOf,
  rolloutRequest,
  toolOutputs,
  type Scenario,
} from './index.js';
import { scenarioScript } from './model.js';
import { Client } from '../transport/client.js';
import type { RolloutReport } from '../transport/client-report.js';
import { builtinDesigns, titleOf, type Transport } from '../transport/designs.js';
import { anonymous } from '../transport/testing/events.js';
import { overEveryNetwork, type Wire } from '../transport/testing/wire.js';

const tokenizer = o200kTokenizer(new VirtualClock());

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

interface Played {
  readonly report: RolloutReport;
  /** What the server holds at the end, item by item. */
  readonly transcript: unknown[];
  readonly contextTokens: number;
  readonly billed: { readonly uncached_input_tokens: number; readonly output_tokens: number };
  readonly stageRuns: Readonly<
    Record<string, { readonly runs: number; readonly items: number; readonly tokens: number }>
  >;
  /** The contexts of all turns, added up. */
  readonly readTokens: number;
}

/** An item without what a Response mints or a client adds. */
function bare(item: object): object {
  return Object.fromEntries(
    Object.entries(item).filter(([field]) => !['id', 'status', 'annotations', 'logprobs'].includes(field)),
  );
}

/** A design over a transport. */
interface Spoken {
  readonly design: string;
  readonly transport: Transport;
}

const spoken = new Map(
  builtinDesigns.flatMap((design) =>
    design.transports.map((transport) => [titleOf(design, transport), { design: design.name, transport }]),
  ),
);

async function play(
  wire: Wire,
  { design, transport }: Spoken,
  scenario: Scenario,
  index: number,
): Promise<Played> {
  await using serving = await wire.serve(scenarioScript(scenarios), {
    session: { policy: 'per-conversation' },
    engine: { tokenizer },
  });
  const outputFor = toolOutputs(scenario, 1, index);
  const { lab } = serving;
  await using client = await Client.connect({ url: serving.url, design, transport, checked: true });
  const report = await client.run({
    request: { ...rolloutRequest(scenario, 1, index), prompt_cache_key: 'conversation' },
    tool: async ({ turn, index: number }) => outputFor(turn, number).text,
  });
  const id = report.responseIds.at(-1) ?? '';
  // In the shim a response stands for a turn of a rollout that has an id of its own.
  const response = serving.response(serving.server.host.turns.get(id, 'open')?.rolloutId ?? id);
  await response.settled;
  const items = response.kept.transcript.items().map((item) => JSON.parse(JSON.stringify(item)) as object);
  return {
    report,
    transcript: anonymous(items.map(withoutParts).map(bare)),
    contextTokens: response.kept.transcript.tokens,
    billed: lab.store.billed,
    stageRuns: lab.engine.stageRuns,
    readTokens: lab.model.stats.heldTokens + lab.model.stats.readTokens,
  };
}

/** A message whose content came as one text part is the same as one that came as a string. */
function withoutParts(item: object): object {
  if (!('content' in item) || !Array.isArray(item.content)) return item;
  return { ...item, content: item.content.map((part: { text: string }) => part.text).join('') };
}

/** The report of a client, without times, ids and what differs by design. */
function itemsOf({ report }: Played): unknown[] {
  return anonymous(report.items.map(bare));
}

async function inEveryDesign(wire: Wire, scenario: Scenario, index: number): Promise<Map<string, Played>> {
  const played = new Map<string, Played>();
  for (const [title, one] of spoken) played.set(title, await play(wire, one, scenario, index));
  return played;
}

function assertEqual(played: ReadonlyMap<string, Played>, scenario: Scenario, index: number): void {
  const append = played.get('append-ws');
  assert.ok(append);
  const turns = rolloutOf(scenario, 1, index).turns.length;
  for (const [design, one] of played) {
    assert.equal(one.report.status, 'completed', design);
    assert.equal(one.report.turns.length, turns, design);
    assert.deepEqual(one.transcript, append.transcript, design);
    assert.deepEqual(itemsOf(one), itemsOf(append), design);
    assert.equal(one.contextTokens, append.contextTokens, design);
    const { uncached_input_tokens, output_tokens } = one.billed;
    assert.deepEqual(
      { uncached_input_tokens, output_tokens },
      {
        uncached_input_tokens: append.billed.uncached_input_tokens,
        output_tokens: append.billed.output_tokens,
      },
      design,
    );
    const uncached = one.report.turns.reduce(
      (sum, { usage }) => sum + (usage?.input_tokens ?? 0) - (usage?.input_tokens_details.cached_tokens ?? 0),
      0,
    );
    assert.equal(uncached, uncached_input_tokens, `${design}: what the client was told is what is billed`);
    assert.equal(
      one.report.turns.reduce((sum, { usage }) => sum + (usage?.output_tokens ?? 0), 0),
      output_tokens,
      design,
    );
  }
}

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
