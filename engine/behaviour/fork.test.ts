/** Forks: several Responses go on from one place, which stays as it was. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { call, callIdsOf, Lab, message, output, say, turn } from '../testing/lab.js';

const script = [turn(call('ls')), turn(call('cat')), turn(say('done'))];

test('every hand-off of a rollout can be gone on from, whatever came after it, without a copy', async () => {
  const lab = new Lab(script);
  const line = await lab.create('hi');
  await lab.append(line, output('call_1', 'x'));
  await lab.append(line, output('call_2', 'x'));
  await line.settled;
  assert.deepEqual(
    line.handOffs.map(({ turn: number, outputItems, kept }) => [number, outputItems, kept.owed]),
    [
      [1, 1, ['call_1']],
      [2, 2, ['call_2']],
    ],
  );
  for (const { kept } of line.handOffs.toReversed()) {
    const input = kept.owed.map((callId) => output(callId, 'other'));
    const fork = await lab.create({ input }, { kept });
    const { transcript } = fork.kept;
    for (let index = 0; index < kept.transcript.length; index++)
      assert.equal(transcript.at(index), line.kept.transcript.at(index));
    assert.deepEqual(lab.prompt.slice(-1), ['tool: other']);
    fork.cancel();
    await fork.settled;
  }
  assert.deepEqual(line.kept.transcript.items().length, 6, 'the line is as it was');
});

test('the newest hand-offs are kept, at least the two that another reader needs', async () => {
  for (const [keptResponsesMax, turns] of [
    [0, [2, 3]],
    [1, [2, 3]],
    [64, [1, 2, 3]],
  ] as const) {
    const lab = new Lab(() => turn(call('ls')), { engine: { limits: { keptResponsesMax } } });
    const response = await lab.create('hi');
    for (const callId of ['call_1', 'call_2']) await lab.append(response, output(callId, 'x'));
    assert.deepEqual(
      response.handOffs.map((point) => point.turn),
      turns,
    );
    response.cancel();
    await response.settled;
  }
});

test('a create that goes on from a warm-up asks for a turn, with or without a message; an append needs one', async () => {
  for (const input of [[], [message('hi')]]) {
    const lab = new Lab(script);
    const response = await lab.create({ generate: false, input: [message('base')] });
    await response.append([]);
    await lab.settle();
    assert.equal(response.suspended, true, 'an append of nothing changes nothing');
    await response.append(input, { whole: true });
    assert.equal(response.suspended, false, 'it waits for nobody from then on');
    await lab.settle();
    assert.deepEqual(callIdsOf(response), ['call_1']);
    response.cancel();
    await response.settled;
  }
});
