import assert from 'node:assert/strict';

import { call, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, ofType, responseIn } from '../testing/events.js';
import { overEveryWire } from '../testing/wire.js';
import { latestParts } from './design.js';

overEveryWire('a design of one’s own is chosen by its name and differs where it says so', async (wire) => {
  await using serving = await wire.serve([turn(call('ls')), turn(say('done')), turn(say('more'))], {
    server: latestParts,
  });
  await using peer = await serving.connect({ design: 'chain-latest' });
  const first = await peer.turn({ store: false });
  const firstId = responseIn(first.at(-1) ?? assert.fail())?.id;
  const second = await peer.turn({
    store: false,
    previous_response_id: firstId,
    input: [output(callIds(first)[0], 'etc')],
  });
  assert.equal(second.at(-1)?.type, 'response.completed');
  const fork = await peer.turn({
    store: false,
    previous_response_id: firstId,
    input: [output(callIds(first)[0], 'other')],
  });
  assert.equal(ofType(fork, 'error')[0]?.error.code, 'previous_response_not_found');
});
