import assert from 'node:assert/strict';

import { overEveryNetwork, type Wire } from '../transport/testing/wire.js';
import { builtinScenarios, type Scenario } from './index.js';
import { assertEqual, play, spoken, type Played } from './testing/played.js';

const compactionTurn = 60;

function builtinLong(): Scenario {
  const long = builtinScenarios.get('long');
  assert.ok(long);
  return long;
}

/** The same turns with few tokens, so that whole histories are soon read. */
function shorter(): Scenario {
  const { drawn, ...words } = builtinLong();
  assert.ok(drawn);
  return {
    ...words,
    name: 'shorter',
    instructions_tokens: 100,
    tools_count: 1,
    tools_bytes: 400,
    compact_threshold_tokens: 6350,
    drawn: {
      ...drawn,
      context_tokens: 500,
      output_tokens: 20,
      arguments_tokens: 20,
      tool_output_tokens: 40,
    },
  };
}

/** The turns whose items a compaction comes before: one more than the outputs ahead of it. */
function compactionTurns({ report }: Played): number[] {
  let outputs = 0;
  return report.items.flatMap((item) => {
    const type = 'type' in item ? item.type : '';
    if (type === 'function_call_output') outputs++;
    return type === 'compaction' ? [outputs + 1] : [];
  });
}

async function compacted(
  wire: Wire,
  scenario: Scenario,
  designs: readonly string[],
): Promise<Map<string, Played>> {
  const played = new Map<string, Played>();
  for (const design of designs) {
    const one = spoken.get(design);
    assert.ok(one);
    played.set(design, await play(wire, one, scenario, 0));
  }
  assertEqual(played, scenario, 0);
  for (const [design, one] of played)
    assert.deepEqual(compactionTurns(one), [compactionTurn], `${design}: once, at turn ${compactionTurn}`);
  return played;
}

overEveryNetwork(
  'long is compacted once, at turn 60, in every design that keeps its state between turns',
  async (wire) => {
    await compacted(wire, builtinLong(), ['append-ws', 'chain-ws', 'shim-ws']);
  },
);

overEveryNetwork(
  'a client that sends the whole history leaves out what was compacted, and ends where the others do',
  async (wire) => {
    const played = await compacted(wire, shorter(), ['append-ws', 'chain-http', 'replay-ws']);
    const bytesUp = (turn: number): number => played.get('replay-ws')?.report.turns[turn - 1]?.bytesUp ?? 0;
    assert.ok(bytesUp(compactionTurn + 1) < bytesUp(compactionTurn) / 2);
  },
);
