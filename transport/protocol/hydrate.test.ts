/** What was stored can be gone on from after the engine has let go of it: over any socket of the same key. */
import assert from 'node:assert/strict';

import { call, output, say, turn } from '../../engine/testing/lab.js';
import { callIds } from '../testing/events.js';
import { ask, drop, ending, goOn, idOf, refused } from '../testing/turns.js';
import { overEveryWire } from '../testing/wire.js';

/** Nothing that has ended is held by the engine, and one response at most by the server. */
const forgetful = { endedResponsesMax: 0, storedResponsesMax: 1 };
const script = [turn(say('one')), turn(call('ls')), turn(say('three')), turn(say('four'))];

overEveryWire('a chain of three goes on over another socket, and from its middle (P42)', async (wire) => {
  await using serving = await wire.serve(script, { limits: forgetful, keys: ['alice', 'bob'] });
  const first = await serving.connect({ design: 'chain', key: 'alice' });
  const one = await ask(first, { store: true });
  const two = await ask(first, { store: true, previous_response_id: idOf(one), input: 'list' });
  const three = await goOn(first, two, { store: true });
  await drop(serving, first);
  assert.equal(serving.lab.engine.endedCount, 0);
  for (const design of ['chain', 'append', 'shim']) {
    const bob = await serving.connect({ design, key: 'bob' });
    const alice = await serving.connect({ design, key: 'alice' });
    for (const events of [one, two, three]) {
      const stolen = { previous_response_id: idOf(events), input: 'mine' };
      assert.equal((await refused(bob, stolen)).error.code, 'previous_response_not_found', 'P43');
    }
    for (const [parent, input, blocks] of [
      [one, 'and?', ['user: and?']],
      [two, [output(callIds(two)[0], 'x')], ['user: list', 'assistant to=ls: {}', 'tool: x']],
      [
        three,
        'and?',
        ['user: list', 'assistant to=ls: {}', 'tool: ok call_1', 'assistant: three', 'user: and?'],
      ],
    ] as const) {
      await alice.turn({ previous_response_id: idOf(parent), input, store: false });
      assert.deepEqual(serving.lab.prompt, ['user: hi', 'assistant: one', ...blocks], design);
    }
    for (const peer of [alice, bob]) await drop(serving, peer);
  }
});

overEveryWire(
  'a Response of the append design goes on after it, as itself and as a parent (P42)',
  async (wire) => {
    await using serving = await wire.serve([turn(call('ls')), turn(say('two')), turn(say('three'))], {
      limits: forgetful,
      keys: ['alice', 'bob'],
    });
    const first = await serving.connect({ key: 'alice' });
    const id = await first.create();
    const [callId] = callIds(await first.through('response.done'));
    first.append(id, output(callId, 'x'));
    await first.until('response.completed');
    await drop(serving, first);
    await serving.lab.settle();
    assert.equal(serving.lab.engine.endedCount, 0);
    for (const design of ['append', 'chain', 'shim']) {
      const bob = await serving.connect({ design, key: 'bob' });
      const stolen = await refused(bob, { previous_response_id: id, input: 'mine' });
      assert.equal(stolen.error.code, 'previous_response_not_found', 'P43');
      const peer = await serving.connect({ design, key: 'alice' });
      const events = await ask(peer, { previous_response_id: id, input: 'and?' });
      assert.equal(ending(events), 'completed');
      const before = ['user: hi', 'assistant to=ls: {}', 'tool: x', 'assistant: two'];
      assert.deepEqual(serving.lab.prompt, [...before, 'user: and?']);
      for (const each of [peer, bob]) await drop(serving, each);
    }
  },
);

overEveryWire(
  'what the engine still holds of a socket that is gone is found in the store (P42)',
  async (wire) => {
    await using serving = await wire.serve(script, {
      limits: { endedResponsesMax: 100, storedResponsesMax: 1 },
    });
    const first = await serving.connect({ design: 'chain' });
    const one = await ask(first, { store: true });
    await ask(first, { store: true, input: 'pushes it out' });
    await drop(serving, first);
    await using second = await serving.connect({ design: 'chain' });
    const two = await ask(second, { previous_response_id: idOf(one), input: 'and?', tool_choice: 'none' });
    assert.equal(ending(two), 'completed');
    assert.deepEqual(serving.lab.prompt, ['user: hi', 'assistant: one', 'user: and?']);
  },
);
