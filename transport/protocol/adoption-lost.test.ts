/** What a connection took with it: a client that comes back without the end of a turn that it was sent. */
import assert from 'node:assert/strict';

import { call, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, checkStream, ofType } from '../testing/events.js';
import { overEveryWire } from '../testing/wire.js';

const script = [turn(call('ls')), turn(call('cat')), turn(say('done'))];
const unstored = { store: false };

overEveryWire(
  'the end of a turn that was lost with its socket is shown again; on a socket that lives, and after one that was closed, it is sampled again',
  async (wire) => {
    for (const end of ['broken', 'closed', 'alive'] as const) {
      const isLost = end === 'broken';
      await using serving = await wire.serve(script);
      await using first = await serving.connect({ design: 'shim' });
      const [lsId] = callIds(await first.turn(unstored));
      const history = [
        { role: 'user', content: 'hi' },
        { type: 'function_call', call_id: lsId, name: 'ls', arguments: '{}' },
        output(lsId, 'etc'),
      ];
      const sent = await first.turn({ ...unstored, input: history });
      if (end === 'broken') first.drop();
      if (end === 'closed') first.close();
      if (end !== 'alive') await serving.closings.next();
      await using second = await serving.connect({ design: 'shim' });
      const again = await (end === 'alive' ? first : second).turn({ ...unstored, input: history });
      checkStream(again);
      assert.equal(again.at(-1)?.type, 'response.completed');
      const { stageRuns } = serving.lab.engine;
      assert.equal(stageRuns['pre.validate']?.runs, isLost ? 1 : 2);
      assert.equal(callIds(again)[0] === callIds(sent)[0], isLost);
    }
  },
);

overEveryWire(
  'a question that is asked again on a new socket gets an answer of its own, whatever its cache key (B42)',
  async (wire) => {
    await using serving = await wire.serve(() => turn(say('an answer')));
    const ask = { ...unstored, prompt_cache_key: 'the same for all' };
    const ids: (string | undefined)[] = [];
    for (let time = 0; time < 2; time++) {
      await using peer = await serving.connect({ design: 'shim' });
      const events = await peer.turn(ask);
      ids.push(ofType(events, 'response.output_item.done')[0]?.item.id);
      peer.drop();
      await serving.closings.next();
    }
    assert.equal(new Set(ids).size, 2);
    assert.equal(serving.lab.engine.stageRuns['pre.validate']?.runs, 2);
  },
);
