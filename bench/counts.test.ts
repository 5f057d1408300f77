import assert from 'node:assert/strict';
import { test } from 'node:test';

import { builtinScenarios } from '../scenarios/index.js';
import { spokenArms } from './arms.js';
import { print, run } from './counts.js';

/** Twenty-one turns as in `claim-regime`, on a context that is quick to read. */
function small() {
  const claim = builtinScenarios.get('claim-regime');
  assert.ok(claim?.drawn !== undefined);
  return {
    ...claim,
    name: 'small',
    instructions_tokens: 50,
    tools_count: 2,
    tools_bytes: 800,
    drawn: {
      ...claim.drawn,
      context_tokens: 300,
      tool_output_tokens: 40,
      output_tokens: 8,
      arguments_tokens: 15,
    },
  };
}

test('the counts of all designs are equal on every run, and are those that each design claims', async () => {
  const scenario = small();
  const result = await run({ scenario });
  assert.deepEqual(await run({ scenario }), result);
  assert.equal(result.turns, 21);
  assert.deepEqual(
    result.designs.map(({ design }) => design),
    spokenArms.map(({ name }) => name),
  );
  const counted = { '0': 0, '1': 1, n: 21, 'n - 1': 20 };
  for (const [index, { design, ...counts }] of result.designs.entries()) {
    const passages = spokenArms[index]?.design.passages;
    assert.ok(passages);
    const { pre, append, post } = counts;
    const claimed = [counted[passages.pre], counted[passages.append], counted[passages.post]];
    assert.deepEqual([pre, append, post], claimed, design);
    assert.deepEqual([counts.classify, counts.render], [pre + append + post, pre + append], design);
    assert.equal(counts.frames_up, 21, design);
  }
  const bytesUp = (name: string) => result.designs.find(({ design }) => design === name)?.bytes_up ?? 0;
  assert.ok(bytesUp('append-ws') < bytesUp('chain-ws'), 'a chained create brings its tools again');
  assert.ok(bytesUp('chain-ws') < bytesUp('replay-ws'));
  for (const line of print(result).split('\n')) assert.ok(line.length < 170, line);
});
