import assert from 'node:assert/strict';

import { call, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, ofType } from '../testing/events.js';
import { overEveryWire } from '../testing/wire.js';

const script = [turn(say('let me look'), call('ls')), turn(say('done'))];

for (const design of ['chain', 'shim'])
  overEveryWire(
    `${design}: an item_reference stands for the stored item it names, on any socket`,
    async (wire) => {
      await using serving = await wire.serve(script);
      await using peer = await serving.connect({ design });
      const first = await peer.turn();
      const [said] = ofType(first, 'response.output_item.done');
      const [callId] = callIds(first);
      const called = { type: 'function_call', call_id: callId, name: 'ls', arguments: '{}' };
      await using other = await serving.connect({ design });
      const history = [
        { role: 'user', content: 'hi' },
        { type: 'item_reference', id: said?.item.id },
        called,
        output(callId, 'etc'),
      ];
      const second = await other.turn({ input: history });
      assert.equal(second.at(-1)?.type, 'response.completed');
      assert.deepEqual(serving.lab.prompt, [
        'user: hi',
        'assistant: let me look',
        'assistant to=ls: {}',
        'tool: etc',
      ]);
      const runs = serving.lab.engine.stageRuns['pre.validate']?.runs;
      assert.equal(runs, design === 'shim' ? 1 : 2, 'the shim takes up the rollout whose history it is');
    },
  );

overEveryWire(
  'a reference to what was not stored, or is another caller’s, is item_not_found (P43)',
  async (wire) => {
    await using serving = await wire.serve([turn(say('secret'))], { keys: ['a', 'b'] });
    await using peer = await serving.connect({ design: 'chain', key: 'a' });
    const stored = ofType(await peer.turn(), 'response.output_item.done')[0]?.item.id;
    const unstored = ofType(await peer.turn({ store: false }), 'response.output_item.done')[0]?.item.id;
    await using other = await serving.connect({ design: 'chain', key: 'b' });
    const refused = async (from: typeof peer, id: unknown) => {
      const [error] = ofType(await from.turn({ input: [{ type: 'item_reference', id }] }), 'error');
      return [
        error?.status,
        error?.error.code,
        error?.error.param,
        error?.error.message.replace(String(id), 'X'),
      ];
    };
    const expected = [
      404,
      'item_not_found',
      'input[0].id',
      'Item with id "X" not found; send the item itself.',
    ];
    assert.deepEqual(await refused(peer, unstored), expected);
    assert.deepEqual(await refused(other, stored), expected);
    assert.deepEqual(await refused(other, 'msg_nowhere'), expected);
  },
);
